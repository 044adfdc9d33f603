"""When an oracle does not apply to a subject, and why: reasons are short phrases that can be counted."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence

import tvm

from oracles.core.function_signatures import mistyped_call
from oracles.core.module_facts import complaint, ill_formed_kernel
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.compat.tables import newest
from relaxkit.passes.contract import Abi, Contract, OracleName, Refusal
from relaxkit.passes.pass_ref import Step

ILL_FORMED_OUTPUT = "output is ill-formed"
Failure = tuple[str, Evidence]
"""The pass to blame, and what was seen."""


class Inapplicable(Exception):
    """Raised by an oracle that cannot judge a subject, or a disagreement that it sees.

    Attributes:
        reason: The phrase that is counted.
        outcome: ``SKIP``, or ``REJECT`` where a pass refused its input with a documented error.
        culprit: The pass under whose name it is counted; by default that of the subject.
    """

    def __init__(self, reason: str, outcome: Outcome = Outcome.SKIP, culprit: str = "") -> None:
        super().__init__(reason)
        self.reason, self.outcome, self.culprit = reason, outcome, culprit

    @classmethod
    def raise_first(cls, reasons: Iterable[str]) -> None:
        """Raise it for the first reason that is not empty, if there is one."""
        for reason in filter(None, reasons):
            raise cls(reason)


def oracle(name: OracleName) -> Callable[[Callable[[Subject], Failure | None]], Callable[[Subject], Verdict]]:
    """Make an oracle of a function that returns a failure or ``None``, and raises :class:`Inapplicable` otherwise."""

    def decorate(examine: Callable[[Subject], Failure | None]) -> Callable[[Subject], Verdict]:
        @functools.wraps(examine)
        def judge(subject: Subject) -> Verdict:
            try:
                failure = examine(subject)
            except Inapplicable as why:
                return Verdict(name, why.outcome, why.culprit or subject.judged, why.reason)
            if failure is None:
                return Verdict(name, Outcome.PASS, subject.judged)
            return Verdict(name, Outcome.FAIL, failure[0], evidence=failure[1])

        return judge

    return decorate


def when(reason: str, holds: Callable[..., object]) -> Callable[..., str]:
    """Make the function that returns a reason where something holds of its arguments, and nothing elsewhere."""
    return lambda *arguments: reason if holds(*arguments) else ""


def unmet(contract: Contract, module: tvm.IRModule) -> str:
    """Return why a pass is not meant for a module; empty when it is."""
    reasons = (precondition(module) for precondition in contract.preconditions)
    return next((reason for reason in reasons if reason is not None), "")


def unmet_step(subject: Subject) -> str:
    """Return why a step of a pipeline was not meant for what it got; empty when all were."""
    subject.chain  # noqa: B018  # the passes are asked as they run
    return subject.unmet


def no_output(subject: Subject) -> str:
    """Return why there is no output to judge: a pass raised, or was not meant for its input."""
    return "no output" if subject.output.error is not None else unmet_step(subject)


def tolerated(found: Evidence | None, steps: Sequence[Step]) -> bool:
    """Return whether there is no complaint, or one that a step's contract says the pass causes by design."""
    if found is None:
        return True
    patterns = [pattern for step in steps for pattern in step.contract.tolerated_ill_formedness]
    return any(re.search(pattern, newest(found.message)) for pattern in patterns)


def refuse_ill_formed_input(subject: Subject, index: int) -> None:
    """Raise :class:`Inapplicable` if earlier steps of a pipeline made a step's input ill-formed: it is not to blame.

    What a contract lets its pass leave ill-formed is no excuse, for later passes are made for it; but behind a pass
    that gives parameters the types that its caller chose, nothing is promised.
    """
    steps = subject.plan.steps[:index]
    if not steps:
        return
    entered = subject.input_of(index)
    found = complaint(entered)
    chosen = any(step.contract.abi is Abi.RETYPE_PARAMS for step in steps)
    wrong = mistyped_call(entered) or ill_formed_kernel(entered) or not tolerated(found, steps)
    if wrong or (found is not None and chosen):
        raise Inapplicable("input of the pass is ill-formed", culprit=subject.plan.steps[index].ref.name)


def refusal_of(error: Evidence | None, refusals: tuple[Refusal, ...]) -> Refusal | None:
    """Return the documented refusal that an error is, if it is one."""
    return next((each for each in refusals if error is not None and each.matches(error.kind, error.message)), None)


ill_formed_output: Callable[[Subject], str] = when(
    ILL_FORMED_OUTPUT,
    lambda subject: subject.output.error is None and not tolerated(subject.output_complaint, subject.plan.steps),
)
modified_input: Callable[[Subject], str] = when("input was modified", lambda subject: subject.facts.modified())
