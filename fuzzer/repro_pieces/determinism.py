"""Determinism oracle: the same input must give the same output."""

from __future__ import annotations

from typing import Any

import tvm

from fuzzer.repro_pieces.frame import equal, expected_error, first_line, run_passes


def check_determinism(
    module: Any, passes: list[Any], error: str, fragments: list[str], repeats: int
) -> tuple[str, str]:
    """Run the passes again, on the same object and on copies; random differences need several tries."""
    text = str(tvm.ir.save_json(module))
    first = run_passes(passes, module)
    for number in range(repeats):
        again = module if number % 2 else tvm.ir.load_json(text)
        try:
            output = run_passes(passes, again)
        except Exception as seen:
            outcome = "BUG" if expected_error(seen, error, fragments) else "DIFFERENT"
            return outcome, f"run {number + 2} raised {type(seen).__name__}: {first_line(seen)}"
        if not equal(first, output):
            return ("DIFFERENT" if error else "BUG"), f"run {number + 2} gave another module than the first run"
    return "OK", f"{repeats + 1} runs gave equal modules"
