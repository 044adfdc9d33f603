"""Sequential oracle: does it matter whether passes are called one by one or by ``Sequential``?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tvm

from oracles.crash import unfit_step
from oracles.difference import describe, text_difference
from oracles.facts import apply, equal, load
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed


def judge(subject: Subject) -> Verdict:
    """Compare ``p_n(...p_1(m))`` with ``Sequential([p_1, ..., p_n])(m)`` on the same input object.

    ``Sequential`` obeys ``opt_level`` and ``disabled_pass`` of the context, a direct call does not; the
    default context (level 2, nothing disabled) runs all public passes either way.
    """
    if reason := unfit_step(subject):
        return Verdict(OracleName.SEQUENTIAL, Outcome.SKIP, subject.judged, reason)
    if subject.modified:
        return Verdict(OracleName.SEQUENTIAL, Outcome.SKIP, subject.judged, "input was modified")
    if subject.ordered and (len(subject.plan.steps) > 1 or subject.contract.composed):
        return Verdict(OracleName.SEQUENTIAL, Outcome.SKIP, subject.judged, "order follows addresses")
    if subject.output.error is None and subject.agrees and output_is_well_formed(subject):
        return Verdict(OracleName.SEQUENTIAL, Outcome.PASS, subject.judged)
    direct, grouped = subject.output, subject.sequential
    if direct.error is not None or grouped.error is not None:
        return _errors(subject, direct.error, grouped.error)
    if not output_is_well_formed(subject):
        return Verdict(OracleName.SEQUENTIAL, Outcome.SKIP, subject.judged, "output is ill-formed")
    if equal(direct.module, grouped.module):
        return Verdict(OracleName.SEQUENTIAL, Outcome.PASS, subject.judged)
    if subject.incomparable:
        return Verdict(OracleName.SEQUENTIAL, Outcome.SKIP, subject.judged, subject.incomparable)
    evidence = Evidence(
        "not-equal",
        describe(direct.module, grouped.module),
        expected="the module of direct calls",
        observed=f"another module from Sequential\n{text_difference(direct.module, grouped.module)}",
    )
    return _failure(subject, evidence)


def _failure(subject: Subject, evidence: Evidence) -> Verdict:
    """The verdict on a difference, unless a step of a pipeline writes into its input.

    ``Sequential`` hands a module on as the only owner, direct calls keep it: what is written into is then another
    object, so that the difference is that step's, which the mutation oracle judges alone.
    """
    if subject.is_pipeline and any(before != str(tvm.ir.save_json(module)) for module, before in _inputs(subject)):
        return Verdict(OracleName.SEQUENTIAL, Outcome.SKIP, subject.judged, "a step modified its input")
    return Verdict(OracleName.SEQUENTIAL, Outcome.FAIL, _culprit(subject), evidence=evidence)


def _inputs(subject: Subject) -> Iterator[tuple[Any, str]]:
    """The input of each step after it ran, and its JSON from before."""
    module = load(subject.before)
    for index in range(len(subject.plan.steps)):
        if module is None:
            return
        text = str(tvm.ir.save_json(module))
        result = apply(subject.built(index), module)
        yield module, text
        module = result.module


def _errors(subject: Subject, direct: Evidence | None, grouped: Evidence | None) -> Verdict:
    if direct is not None and grouped is not None and same_error(direct, grouped):
        return Verdict(OracleName.SEQUENTIAL, Outcome.SKIP, subject.judged, "both raise the same error")
    error = grouped if grouped is not None else direct
    assert error is not None
    evidence = Evidence(
        error.kind,
        error.message,
        error.frames,
        expected=_said("direct calls", direct),
        observed=_said("Sequential", grouped),
    )
    return _failure(subject, evidence)


def _said(who: str, error: Evidence | None) -> str:
    return f"{who}: no error" if error is None else f"{who}: {error.kind}: {error.message}"


def same_error(left: Evidence, right: Evidence) -> bool:
    """Same type, raised at the same place of TVM or, where no place is known, with the same words.

    What a message quotes of the module may come in another order from run to run: "Cannot find global var" lists the
    functions as a hash map of pointers holds them.
    """
    if left.kind != right.kind:
        return False
    if left.frames or right.frames:  # the outer ones tell who called
        return left.frames[:1] == right.frames[:1]
    return _plain(left) == _plain(right)


def _plain(error: Evidence) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", error.message)


def _culprit(subject: Subject) -> str:
    """Last pass of the shortest prefix of the pipeline that already differs; else the subject's name."""
    for count in range(1, len(subject.plan.steps) + 1):
        grouped = subject.grouped(count)
        direct = subject.chain[min(count, len(subject.chain)) - 1]
        raised = direct.error is not None or grouped.error is not None
        if raised or not equal(direct.module, grouped.module):
            return subject.plan.steps[count - 1].ref.name
    return subject.judged
