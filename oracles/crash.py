"""Crash oracle: does the pass raise an error that its contract does not document?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oracles.blame import inner_culprit
from oracles.contract import Abi, Refusal
from oracles.contracts import CONTRACTS
from oracles.facts import complaint
from oracles.plan import Step
from oracles.signature import mistyped_call
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import tolerated


def judge(subject: Subject) -> Verdict:
    """``FAIL`` for an undocumented error, ``REJECT`` for a documented one.

    Death of the process, a hang and exhausted memory cannot be seen from inside: the runner reports them.
    """
    skipped = unfit_step(subject)
    step = subject.last_step
    error = subject.output.error
    if error is None:
        if skipped:
            return Verdict(OracleName.CRASH, Outcome.SKIP, step.ref.name, skipped)
        return Verdict(OracleName.CRASH, Outcome.PASS, subject.judged)
    if step.inserted:
        return Verdict(OracleName.CRASH, Outcome.SKIP, step.ref.name, f"prepare failed: {step.ref.name}")
    if skipped:
        return Verdict(OracleName.CRASH, Outcome.SKIP, step.ref.name, skipped)
    refusal = refusal_of(error, step.contract.refusals)
    if refusal is not None:
        return Verdict(OracleName.CRASH, Outcome.REJECT, step.ref.name, refusal.reason)
    index = len(subject.chain) - 1
    entered = subject.input_of(index)
    if index > 0 and _spoilt(entered, subject.plan.steps[:index]):
        return Verdict(OracleName.CRASH, Outcome.SKIP, step.ref.name, "input of the pass is ill-formed")
    culprit = step.ref.name
    if step.contract.composed:
        culprit = inner_culprit(subject.built(index), entered) or culprit
        inner = CONTRACTS.get(culprit)
        if inner is not None and (refusal := refusal_of(error, inner.refusals)) is not None:
            return Verdict(OracleName.CRASH, Outcome.REJECT, step.ref.name, refusal.reason)
    return Verdict(OracleName.CRASH, Outcome.FAIL, culprit, evidence=Evidence(error.kind, error.message, error.frames))


def _spoilt(entered: Any, steps: Sequence[Step]) -> bool:
    """Whether what the steps gave is ill-formed, so that the next pass is not to blame for raising on it.

    A contract may tolerate that of its pass: of types that a caller chose nothing is promised behind it, either, and
    what other passes leave by design is what those behind them are for.
    """
    found = complaint(entered)
    chosen = any(step.contract.abi is Abi.RETYPE_PARAMS for step in steps)
    return mistyped_call(entered) is not None or not tolerated(found, steps) or (found is not None and chosen)


def unfit_step(subject: Subject) -> str:
    """Why a step of a pipeline was not meant for what it got; empty when all were."""
    subject.chain  # noqa: B018  # the passes are asked as they run
    return subject.unfit


def refusal_of(error: Evidence, refusals: tuple[Refusal, ...]) -> Refusal | None:
    """The documented refusal that ``error`` is, if it is one."""
    return next((refusal for refusal in refusals if refusal.matches(error.kind, error.message)), None)


def without_output(oracle: OracleName, subject: Subject) -> Verdict | None:
    """The skip that every later oracle gives when the passes gave no output, or were not meant for the module."""
    if subject.output.error is not None:
        return Verdict(oracle, Outcome.SKIP, subject.judged, "no output")
    if reason := unfit_step(subject):
        return Verdict(oracle, Outcome.SKIP, subject.judged, reason)
    return None
