"""The environment oracle in a script: under which circumstance each pass is run once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm

from fuzzer.repro.checks.check import Check, FailingCase, error_words
from fuzzer.repro.pieces.frame import attempted, equal, error_seen, run_passes
from oracles.metamorphic.circumstances import other_module_after, run_under
from oracles.metamorphic.environment import circumstance
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.plan import plan_of

ENVIRONMENT_PIECES = ("oracles/metamorphic/circumstances.py", "fuzzer/repro/checks/environment.py")


def build_environment(failure: FailingCase) -> Check:
    """Make the check of passes that are run under circumstances."""
    case, evidence = failure.case, failure.evidence
    plan = plan_of(case.passes, tuple(contract_for(ref) for ref in case.passes), failure.module)
    drawn = [circumstance(case.input_seed, step.ref, step.contract) for step in plan.steps]
    circumstances = ["" if how is None else how.value for how in drawn]
    words = error_words(evidence, tvm.__version__, evidence.details.error) if failure.error else "[]"
    how = f"judged_passes, preparing_passes, {circumstances!r}, {failure.error!r}, {words}"
    return Check(f"check_environment(module, passes, {how})", ENVIRONMENT_PIECES)


def check_environment(
    module: Any,
    passes: list[Any],
    rebuild: Callable[[], list[Any]],
    prepare: Callable[[], list[Any]],
    circumstances: list[str],
    error: str,
    fragments: list[str],
) -> tuple[str, str]:
    """Each pass twice on the same module: plainly, and under its circumstance (empty for none).

    Args:
        module: What the first pass is applied to.
        passes: The passes.
        rebuild: Builds the passes once more.
        prepare: Builds the passes that brought the module to its stage.
        circumstances: One for each pass.
        error: Type of the exception that is expected from one of the two runs; empty for another module.
        fragments: Words of its message.
    """
    for index, how in enumerate(circumstances):
        plain, raised = attempted(run_passes, [passes[index]], module)
        if how:
            again, raised_again = attempted(_around, how, passes, index, rebuild, prepare, module)
            seen: Any = raised or raised_again
            if (raised is None) != (raised_again is None):
                return error_seen(seen, error, fragments, f"{'the plain run' if raised else how}: ")
            if raised is None and not equal(plain, again):
                return ("DIFFERENT" if error else "BUG"), f"a different module {how}"
        if raised is not None:
            return "OK", "both runs raise"
        module = plain
    return "OK", "equal modules under all circumstances"


def _around(how: str, passes: list[Any], index: int, rebuild: Any, prepare: Any, module: Any) -> Any:
    def again() -> Any:
        return rebuild()[index]

    def other() -> Any:
        return other_module_after(prepare() + passes[:index])

    return run_under(how, passes[index], again, other, module)
