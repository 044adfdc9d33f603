"""All oracles on one subject."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable

from oracles import (
    crash,
    determinism,
    environment,
    idempotence,
    locality,
    mutation,
    postcondition,
    roundtrip,
    sequential,
    well_formed,
)
from oracles.capture import evidence_of
from oracles.plan import out_of_order
from oracles.preconditions import is_lowered
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict

Oracle = Callable[[Subject], Verdict | tuple[Verdict, ...]]

# Mutation follows crash at once, so that it sees the input after the first run only.
ORDER: tuple[tuple[OracleName, Oracle], ...] = (
    (OracleName.CRASH, crash.judge),
    (OracleName.MUTATION, mutation.judge),
    (OracleName.WELL_FORMED, well_formed.judge),
    (OracleName.DETERMINISM, determinism.judge),
    (OracleName.SEQUENTIAL, sequential.judge),
    (OracleName.IDEMPOTENCE, idempotence.judge),
    (OracleName.POSTCONDITION, postcondition.judge),
    (OracleName.ROUNDTRIP, roundtrip.judge),
    (OracleName.LOCALITY, locality.judge),
    (OracleName.ENVIRONMENT, environment.judge),
)


CUT_SHORT = "cut short: a known finding"
"""The reason of oracles that are not asked any more."""


def judge(
    subject: Subject,
    oracles: Iterable[OracleName] | None = None,
    enough: Callable[[Verdict], bool] | None = None,
) -> list[Verdict]:
    """Verdicts of the chosen oracles (default: all), in a fixed order.

    After a failure of which ``enough`` says so, all other oracles are skipped.

    Never raises for an error of TVM or of a pass: those are verdicts. An error of our own becomes an
    ``INVALID`` verdict with the traceback as evidence.
    """
    wanted = frozenset(OracleName) if oracles is None else frozenset(oracles)
    table = (*ORDER, (OracleName.NUMERIC, _numeric))
    unfit = _guarded(OracleName.CRASH, _unfit, subject)
    assert not isinstance(unfit, tuple)
    verdicts: list[Verdict] = []
    ended = False
    for name, oracle in table:
        if name not in wanted:
            continue
        if ended:
            verdicts.append(Verdict(name, Outcome.SKIP, subject.judged, CUT_SHORT))
            continue
        if isinstance(unfit, Verdict):
            verdicts.append(Verdict(name, Outcome.INVALID, subject.judged, unfit.reason, unfit.evidence))
        elif unfit:
            verdicts.append(Verdict(name, Outcome.SKIP, subject.judged, unfit))
        else:
            said = _guarded(name, oracle, subject)
            assert not isinstance(said, str)
            given = [said] if isinstance(said, Verdict) else [*said]
            verdicts += given
            ended = enough is not None and any(each.outcome is Outcome.FAIL and enough(each) for each in given)
    if not isinstance(unfit, Verdict):
        _protect(subject, verdicts)
    return verdicts


def _unfit(subject: Subject) -> str:
    """Why no oracle can judge this subject; empty when they can."""
    facts = subject.facts
    if facts is None:
        return subject.unprepared
    if reason := out_of_order(subject.plan, is_lowered(subject.original)):
        return reason
    if facts.complaint is not None:
        return "prepared module is ill-formed" if subject.plan.prepare else "input is ill-formed"
    for precondition in subject.contract.preconditions:
        if (unmet := precondition(facts.module)) is not None:
            return unmet
    return ""


def _protect(subject: Subject, verdicts: list[Verdict]) -> None:
    """Give the next subject on the same module a fresh copy when this one's passes modified it."""
    seen = any(each.oracle is OracleName.MUTATION and each.outcome is Outcome.FAIL for each in verdicts)
    facts = subject.facts
    if seen or (facts is not None and facts.modified()):
        subject.given_facts.restore()


def _numeric(subject: Subject) -> Verdict:
    from oracles.numeric import judge_numeric  # heavy: only when somebody asks for numbers

    return judge_numeric(subject)


def _guarded(
    name: OracleName, oracle: Callable[[Subject], Verdict | tuple[Verdict, ...] | str], subject: Subject
) -> Verdict | tuple[Verdict, ...] | str:
    try:
        return oracle(subject)
    except Exception as error:
        found = evidence_of(error)
        evidence = Evidence(found.kind, found.message, found.frames, observed=traceback.format_exc())
        return Verdict(name, Outcome.INVALID, subject.judged, f"harness error: {found.kind}", evidence)
