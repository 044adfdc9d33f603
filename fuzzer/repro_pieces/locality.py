"""Locality oracle: an unrelated function, a private name or the order of functions must not matter elsewhere."""

from __future__ import annotations

from typing import Any

from fuzzer.repro_pieces.frame import complaint, expected_error, first_line, run_passes
from oracles.locality_compare import differing


def check_locality(
    module: Any,
    passes: list[Any],
    varied: Any,
    roots: tuple[str, ...],
    fixed: tuple[str, ...],
    made: bool,
    kind: str,
    fragments: list[str],
) -> tuple[str, str]:
    """Run the passes on a module and on one that is varied where it must not matter.

    ``roots`` must come out alike, up to names that are not ``fixed``, and so must new public functions if ``made``.
    ``kind`` is what goes wrong: ``not-local``; ``healed``, an error on the module alone; or the type of an error on the
    varied one alone.
    """
    if complaint(module) or complaint(varied):
        return "ENVIRONMENT", f"the input is ill-formed here: {first_line(complaint(module) or complaint(varied))}"
    before, error = _attempt(passes, module)
    after, varied_error = _attempt(passes, varied)
    if error is not None and varied_error is not None:
        return "OK", "both modules make the passes raise"
    if error is not None:
        outcome = "BUG" if kind == "healed" else "DIFFERENT"
        return outcome, f"only without the change: {type(error).__name__}: {first_line(error)}"
    if varied_error is not None:
        outcome = "BUG" if expected_error(varied_error, kind, fragments) else "DIFFERENT"
        return outcome, f"only with the change: {type(varied_error).__name__}: {first_line(varied_error)}"
    if differing(module, before, after, roots, frozenset(fixed), made) is None:
        return "OK", "the functions that were left alone come out alike"
    return ("BUG" if kind == "not-local" else "DIFFERENT"), "a function that was left alone comes out otherwise"


def _attempt(passes: list[Any], module: Any) -> tuple[Any, Exception | None]:
    try:
        return run_passes(passes, module), None
    except Exception as error:
        return None, error
