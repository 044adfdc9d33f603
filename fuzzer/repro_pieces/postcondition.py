"""Postcondition oracle: a pass must have done what it claims, and have left alone what it does not speak of."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import tvm

from fuzzer.repro_pieces.frame import first_line, run_passes
from fuzzer.repro_pieces.user_pass import user_module


def check_postcondition(
    module: Any,
    passes: list[Any],
    violation: Callable[[Any], str],
    built_with: dict[int, dict[str, Any]],
    fragments: list[str],
) -> tuple[str, str]:
    """Ask the claim of each pass that makes it: those at the places in ``built_with``, which holds their arguments.

    ``violation`` takes the modules before and after one pass and says what contradicts the claim.
    """
    other = ""
    for place, item in enumerate(passes):
        before = tvm.ir.load_json(tvm.ir.save_json(module))
        module = run_passes([item], module)
        if place not in built_with:
            continue
        said = violation(SimpleNamespace(before=before, after=module, arguments=built_with[place]))
        if said and all(part in said for part in fragments):
            return "BUG", f"the pass claims otherwise: {first_line(said)}"
        other = other or said
    if other:
        return "DIFFERENT", f"another contradiction: {first_line(other)}"
    return "OK", "the pass has done what it claims"


def user_violation(where: str, factory: str, claim: str) -> Callable[[Any], str]:
    """The postcondition of that claim, from the contract that a user's pass brings."""
    contract = getattr(user_module(where), factory).contract
    found: Callable[[Any], str] = next(item.violation for item in contract.postconditions if item.claim == claim)
    return found
