"""Crash oracle: the passes must not raise this error."""

from __future__ import annotations

from typing import Any

from fuzzer.repro_pieces.frame import expected_error, first_line, run_passes


def check_crash(module: Any, passes: list[Any], error: str, fragments: list[str]) -> tuple[str, str]:
    """Run the passes; the defect is this error, another one is reported as different."""
    try:
        run_passes(passes, module)
    except Exception as seen:
        outcome = "BUG" if expected_error(seen, error, fragments) else "DIFFERENT"
        return outcome, f"{type(seen).__name__}: {first_line(seen)}"
    return "OK", "no error"
