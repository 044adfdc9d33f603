"""Idempotence oracle: is a second run safe, and does it do what the contract promises?"""

from __future__ import annotations

from oracles.contract import Idempotence
from oracles.crash import refusal_of, without_output
from oracles.difference import describe, text_difference
from oracles.facts import Result, complaint, equal
from oracles.preconditions import joinable_blocks
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed, tolerated


def judge(subject: Subject) -> Verdict:
    """Compare ``P(P(m))`` with ``P(m)`` as the contract says.

    Whatever the contract says, the second run must not raise (but for documented refusals) nor yield an
    ill-formed module from a well-formed one.
    """
    if subject.is_pipeline or subject.contract.composed:
        return _skip(subject, "pipelines promise no idempotence")
    if (skip := without_output(OracleName.IDEMPOTENCE, subject)) is not None:
        return skip
    if not output_is_well_formed(subject):
        return _skip(subject, "output is ill-formed")
    contract = subject.contract
    for precondition in contract.preconditions:
        if (reason := precondition(subject.output.module)) is not None:
            return _skip(subject, f"second run: {reason}")
    if (verdict := _unsafe(subject, subject.twice)) is not None:
        return verdict
    if contract.idempotence in (Idempotence.NEVER, Idempotence.UNKNOWN, Idempotence.REFUSES):
        return Verdict(OracleName.IDEMPOTENCE, Outcome.PASS, subject.judged)
    return _converges(subject)


def _converges(subject: Subject) -> Verdict:
    contract = subject.contract
    runs = 1
    if contract.idempotence is Idempotence.FIXPOINT:
        runs = contract.fixpoint_runs
        if contract.fixpoint_extra is not None:
            runs += contract.fixpoint_extra(subject.module)
    runs += joinable_blocks(subject.module)
    previous, current = subject.output.module, subject.twice.module
    for _ in range(runs - 1):
        if equal(previous, current):
            return Verdict(OracleName.IDEMPOTENCE, Outcome.PASS, subject.judged)
        subject.stage("idempotence")
        result = subject.run(current)
        if (verdict := _unsafe(subject, result)) is not None:
            return verdict
        previous, current = current, result.module
    if equal(previous, current):
        return Verdict(OracleName.IDEMPOTENCE, Outcome.PASS, subject.judged)
    if subject.incomparable:
        return _skip(subject, subject.incomparable)
    evidence = Evidence(
        "not-equal",
        describe(previous, current),
        expected=f"no change after {runs} run{'s' * (runs > 1)}",
        observed=text_difference(previous, current),
    )
    return Verdict(OracleName.IDEMPOTENCE, Outcome.FAIL, subject.judged, evidence=evidence)


def _unsafe(subject: Subject, result: Result) -> Verdict | None:
    """The verdict on a repeated run that raised or gave an ill-formed module; ``None`` when it was safe."""
    contract = subject.contract
    error = result.error
    if error is not None:
        refusal = refusal_of(error, contract.second_run_refusals + contract.refusals)
        if refusal is not None:
            return Verdict(OracleName.IDEMPOTENCE, Outcome.REJECT, subject.judged, f"second run: {refusal.reason}")
        evidence = Evidence(error.kind, error.message, error.frames, "a safe second run", "an error")
        return Verdict(OracleName.IDEMPOTENCE, Outcome.FAIL, subject.judged, evidence=evidence)
    found = complaint(result.module)
    if tolerated(found, subject.plan.steps):
        return None
    if subject.output_complaint is not None:
        # The checker names the first thing that it objects to: what the contract tolerates of the first output may have
        # hidden this complaint, so that the second run need not be its cause (UpdateParamType beside a kernel).
        return _skip(subject, "output is ill-formed by design")
    assert found is not None
    evidence = Evidence(
        found.kind,
        found.message,
        expected="a well-formed module from a second run on a well-formed module",
        observed=text_difference(subject.output.module, result.module),
    )
    return Verdict(OracleName.IDEMPOTENCE, Outcome.FAIL, subject.judged, evidence=evidence)


def _skip(subject: Subject, reason: str) -> Verdict:
    return Verdict(OracleName.IDEMPOTENCE, Outcome.SKIP, subject.judged, reason)
