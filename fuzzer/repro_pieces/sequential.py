"""Sequential oracle: calling the passes one by one and by ``Sequential`` must give the same."""

from __future__ import annotations

from typing import Any

import tvm

from fuzzer.repro_pieces.frame import equal, first_line, run_passes


def _in_words(passes: list[Any], module: Any) -> tuple[Any, str]:
    try:
        return run_passes(passes, module), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {first_line(error)}"


def check_sequential(module: Any, passes: list[Any], raises: bool) -> tuple[str, str]:
    """Direct calls first, then ``Sequential`` of the same passes, on the same input object."""
    direct, error = _in_words(passes, module)
    grouped, grouped_error = _in_words([tvm.transform.Sequential(passes)], module)
    if error or grouped_error:
        if bool(error) == bool(grouped_error):
            return "OK", "both ways raise"
        seen = f"direct calls: {error or 'no error'}; Sequential: {grouped_error or 'no error'}"
        return ("BUG" if raises else "DIFFERENT"), seen
    if not equal(direct, grouped):
        return ("DIFFERENT" if raises else "BUG"), "Sequential gave another module than direct calls"
    return "OK", "both ways give equal modules"
