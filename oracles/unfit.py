"""Whether a step of a pipeline is meant for the module that the steps before it gave."""

from __future__ import annotations

from typing import Any

from oracles.given import misfit
from oracles.plan import Step


def unfit(step: Step, module: Any, first: bool) -> str:
    """Why a pass is not meant for a module; empty when it is.

    Asked before the pass runs: where it dies of such a module, nobody could ask afterwards.

    Args:
        step: The step.
        module: What it would be applied to.
        first: Whether it is the first step, whose preconditions were judged when the subject was.
    """
    for precondition in () if first else step.contract.preconditions:
        if (reason := precondition(module)) is not None:
            return reason
    return misfit(step.ref.name, step.ref.expression, module)
