"""All oracles on one subject."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from oracles.core.evidence import evidence_of
from oracles.core.subject import Subject
from oracles.core.verdict import CUT_SHORT, Evidence, Outcome, Verdict, reason_of
from oracles.metamorphic.relations import RELATIONS
from oracles.structural import crash_and_mutation, postcondition, roundtrip, well_formed
from oracles.users_pass import considered
from relaxkit.ir.lowered import is_lowered
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassReferenceError
from relaxkit.passes.plan import out_of_order


@dataclass(frozen=True, slots=True)
class Oracle:
    """One row of the table of oracles.

    Attributes:
        name: Its name; what a script and a maintainer get of it stands in ``fuzzer/repro/checks`` under the same.
        judge: Gives its verdict on a subject, or several.
    """

    name: OracleName
    judge: Callable[[Subject], Verdict | tuple[Verdict, ...]]


def _judge_numeric(subject: Subject) -> Verdict:
    from oracles.numeric.oracle import judge_numeric  # heavy: only when somebody asks for numbers

    return judge_numeric(subject)


# Mutation follows crash at once, so that it sees the input after the first run only.
ORACLES: tuple[Oracle, ...] = (
    Oracle(OracleName.CRASH, crash_and_mutation.crash),
    Oracle(OracleName.MUTATION, crash_and_mutation.mutation),
    Oracle(OracleName.WELL_FORMED, well_formed.judge),
    Oracle(OracleName.DETERMINISM, RELATIONS[OracleName.DETERMINISM].judge),
    Oracle(OracleName.SEQUENTIAL, RELATIONS[OracleName.SEQUENTIAL].judge),
    Oracle(OracleName.IDEMPOTENCE, RELATIONS[OracleName.IDEMPOTENCE].judge),
    Oracle(OracleName.POSTCONDITION, postcondition.judge),
    Oracle(OracleName.ROUNDTRIP, roundtrip.judge),
    Oracle(OracleName.LOCALITY, RELATIONS[OracleName.LOCALITY].judge),
    Oracle(OracleName.ENVIRONMENT, RELATIONS[OracleName.ENVIRONMENT].judge),
    Oracle(OracleName.NUMERIC, _judge_numeric),
)


def judge(
    subject: Subject, oracles: Iterable[OracleName] | None = None, enough: Callable[[Verdict], bool] | None = None
) -> list[Verdict]:
    """Return the verdicts of the chosen oracles (default: all), in a fixed order.

    After a failure of which ``enough`` says so, all other oracles are skipped. Of a user's pass there is more to say:
    ``oracles.users_pass``.

    Never raises for an error of TVM or of a pass: those are verdicts. An error of our own becomes an
    ``INVALID`` verdict with the traceback as evidence.
    """
    verdicts = _verdicts(subject, frozenset(OracleName) if oracles is None else frozenset(oracles), enough)
    try:
        verdicts = considered(subject, verdicts, lambda other, names: _verdicts(other, frozenset(names), None))
    except Exception as error:
        verdicts.append(_invalid(OracleName.CRASH, error, subject))
    if subject.facts is not None:
        seen = any(each.oracle is OracleName.MUTATION and each.outcome is Outcome.FAIL for each in verdicts)
        if seen or subject.facts.modified():
            subject.original_facts.restore()  # the next subject on the same module gets a fresh copy
    return verdicts


def _verdicts(
    subject: Subject, wanted: frozenset[OracleName], enough: Callable[[Verdict], bool] | None
) -> list[Verdict]:
    unsuitable = _guarded(OracleName.CRASH, _unsuitable, subject)
    assert not isinstance(unsuitable, tuple)
    verdicts: list[Verdict] = []
    ended = False
    for oracle in ORACLES:
        name = oracle.name
        if name not in wanted:
            continue
        if ended:
            verdicts.append(Verdict(name, Outcome.SKIP, subject.judged, CUT_SHORT))
        elif isinstance(unsuitable, Verdict):
            verdicts.append(Verdict(name, Outcome.INVALID, subject.judged, unsuitable.reason, unsuitable.evidence))
        elif unsuitable:
            verdicts.append(Verdict(name, Outcome.SKIP, subject.judged, unsuitable))
        else:
            answer = _guarded(name, oracle.judge, subject)
            assert not isinstance(answer, str)
            found = [answer] if isinstance(answer, Verdict) else [*answer]
            verdicts += found
            ended = enough is not None and any(each.outcome is Outcome.FAIL and enough(each) for each in found)
    return verdicts


def _unsuitable(subject: Subject) -> str:
    """Return why no oracle can judge this subject; empty when they can."""
    facts = subject.facts
    if facts is None:
        return subject.unprepared
    if reason := out_of_order(subject.plan, is_lowered(subject.original)):
        return reason
    if facts.complaint is not None:
        return "prepared module is ill-formed" if subject.plan.prepare else "input is ill-formed"
    if facts.unfit and not subject.plan.prepare:
        return facts.unfit
    for precondition in subject.contract.preconditions:
        if (unmet := precondition(facts.module)) is not None:
            return unmet
    return ""


def _guarded(
    name: OracleName, ask: Callable[[Subject], Verdict | tuple[Verdict, ...] | str], subject: Subject
) -> Verdict | tuple[Verdict, ...] | str:
    try:
        return ask(subject)
    except Exception as error:
        return _invalid(name, error, subject)


def _invalid(name: OracleName, error: Exception, subject: Subject) -> Verdict:
    found = evidence_of(error)
    evidence = Evidence(found.kind, found.message, found.frames, observed=traceback.format_exc())
    users = isinstance(error, PassReferenceError)
    said = f"the pass cannot be built: {error}" if users else f"harness error: {found.kind}: {found.message}"
    return Verdict(name, Outcome.INVALID, subject.judged, reason_of(said), evidence)
