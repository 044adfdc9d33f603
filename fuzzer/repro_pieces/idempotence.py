"""Idempotence oracle: a further run must be safe, and change nothing where that is promised."""

from __future__ import annotations

from typing import Any

from fuzzer.repro_pieces.frame import complaint, equal, expected_error, first_line, run_passes


def check_idempotence(module: Any, passes: list[Any], kind: str, fragments: list[str], runs: int) -> tuple[str, str]:
    """Run the pass on its own output; after ``runs`` runs another one must not change anything.

    ``kind`` is what goes wrong: ``not-equal``, ``ill-formed``, or the type of the exception of the further run.
    """
    previous = run_passes(passes, module)
    for number in range(2, runs + 2):
        try:
            current = run_passes(passes, previous)
        except Exception as error:
            outcome = "BUG" if expected_error(error, kind, fragments) else "DIFFERENT"
            return outcome, f"run {number} raised {type(error).__name__}: {first_line(error)}"
        said = complaint(current)
        if said:
            fits = kind == "ill-formed" and all(item in said for item in fragments)
            return ("BUG" if fits else "DIFFERENT"), f"run {number} gave an ill-formed module: {first_line(said)}"
        if equal(previous, current):
            return "OK", f"run {number} changed nothing"
        previous = current
    if kind != "not-equal":
        return "OK", "the further runs are safe"
    return "BUG", f"run {runs + 1} on the pass's own output still changed the module"
