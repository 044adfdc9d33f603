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
) -> tuple[str, str]:
    """Run the passes on a module and on one that is varied where it must not matter.

    ``roots`` must come out alike, up to names that are not ``fixed``, and so must new public functions if ``made``.
    """
    before, after, error = both(module, passes, varied)
    if error is not None:
        return ("DIFFERENT" if error[0] == "BUG" else error[0]), error[1]
    if differing(module, before, after, roots, frozenset(fixed), made) is None:
        return "OK", "the functions that were left alone come out alike"
    return "BUG", "a function that was left alone comes out otherwise"


def check_locality_error(
    module: Any, passes: list[Any], varied: Any, kind: str, fragments: list[str]
) -> tuple[str, str]:
    """The passes must not raise because a module is varied where it must not matter.

    ``kind`` is what goes wrong: ``healed``, an error on the module alone, or the type of an error on the varied one.
    """
    _, _, error = both(module, passes, varied, kind, fragments)
    return error or ("OK", "the passes raise neither with nor without the change")


def both(
    module: Any, passes: list[Any], varied: Any, kind: str = "", fragments: list[str] | None = None
) -> tuple[Any, Any, tuple[str, str] | None]:
    """What the passes make of both modules, and what is to be said where they raise."""
    if complaint(module) or complaint(varied):
        said = f"the input is ill-formed here: {first_line(complaint(module) or complaint(varied))}"
        return None, None, ("ENVIRONMENT", said)
    before, error = attempted(passes, module)
    after, varied_error = attempted(passes, varied)
    if error is not None and varied_error is not None:
        return None, None, ("OK", "both modules make the passes raise")
    if error is not None:
        said = f"only without the change: {type(error).__name__}: {first_line(error)}"
        return None, None, ("BUG" if kind == "healed" else "DIFFERENT", said)
    if varied_error is not None:
        said = f"only with the change: {type(varied_error).__name__}: {first_line(varied_error)}"
        fits = expected_error(varied_error, kind, fragments or [])
        return None, None, ("BUG" if fits else "DIFFERENT", said)
    return before, after, None


def attempted(passes: list[Any], module: Any) -> tuple[Any, Exception | None]:
    """What the passes make of a module, or what they raise."""
    try:
        return run_passes(passes, module), None
    except Exception as error:
        return None, error
