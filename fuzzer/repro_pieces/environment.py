"""Environment oracle: what is around a run of a pass must not change what it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzzer.repro_pieces.frame import equal, expected_error, first_line, run_passes
from oracles.environment_runs import other_module_after, run_under


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
        plain, raised = _tried(_plainly, passes[index], module)
        if how:
            again, raised_again = _tried(_around, how, passes, index, rebuild, prepare, module)
            seen = raised or raised_again
            if (raised is None) != (raised_again is None):
                outcome = "BUG" if error and expected_error(seen, error, fragments) else "DIFFERENT"
                return outcome, f"{'the plain run' if raised else how}: {type(seen).__name__}: {first_line(seen)}"
            if raised is None and not equal(plain, again):
                return ("DIFFERENT" if error else "BUG"), f"another module {how}"
        if raised is not None:
            return "OK", "both runs raise"
        module = plain
    return "OK", "equal modules under all circumstances"


def _plainly(built: Any, module: Any) -> Any:
    return run_passes([built], module)


def _around(how: str, passes: list[Any], index: int, rebuild: Any, prepare: Any, module: Any) -> Any:
    def again() -> Any:
        return rebuild()[index]

    def other() -> Any:
        return other_module_after(prepare() + passes[:index])

    return run_under(how, passes[index], again, other, module)


def _tried(run: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    try:
        return run(*arguments), None
    except Exception as error:
        return None, error
