"""The environment oracle's part of a repro script: under which circumstance each pass is run once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oracles.contracts import contract_for
from oracles.environment import circumstance
from oracles.plan import plan_of

if TYPE_CHECKING:
    from fuzzer.cases import Case

ENVIRONMENT_PIECES = ("oracles/environment_runs.py", "fuzzer/repro_pieces/environment.py")


def environment_call(case: Case, module: Any, error: str, words: str) -> str:
    """The expression that checks.

    Args:
        case: The case.
        module: Its module.
        error: Type of the exception that is expected; empty for another module.
        words: Source of the list of words of its message.
    """
    plan = plan_of(case.passes, tuple(contract_for(ref) for ref in case.passes), module)
    drawn = [circumstance(case.input_seed, step.ref, step.contract) for step in plan.steps]
    circumstances = ["" if how is None else how.value for how in drawn]
    return (
        f"check_environment(module, passes, judged_passes, preparing_passes, {circumstances!r}, {error!r}, "
        f"{words if error else '[]'})"
    )
