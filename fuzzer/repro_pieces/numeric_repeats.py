"""Numeric oracle: further calls, on other inputs, on the first again, and in poisoned memory."""

from __future__ import annotations

from typing import Any

from fuzzer.repro_pieces.frame import first_line
from oracles.abi.compose import call, call_raw
from oracles.comparison import compare
from oracles.execution.poison import PATTERNS, poisoned
from oracles.execution.values import from_tvm


def repeated(program: Any, adapters: tuple[Any, ...], calls: list[Any]) -> tuple[str, str]:
    """What calls on other inputs do to the first one's result, held meanwhile, and to the same call afterwards.

    ``calls`` holds (function, num_input, arguments), the first call first.
    """
    name, num_input, arguments = calls[0]
    held = call_raw(program, adapters, name, num_input, arguments)
    before = from_tvm(held)
    for other, other_input, others in calls[1:]:
        call(program, adapters, other, other_input, others)
    changed = compare(before, from_tvm(held))
    if changed is not None:
        return "output-overwritten", f"output {list(changed.path)}: {changed.expected}, then {changed.observed}"
    changed = compare(before, call(program, adapters, name, num_input, arguments))
    if changed is not None:
        return "later-call-differs", f"output {list(changed.path)}: {changed.expected}, then {changed.observed}"
    return "", ""


def in_poisoned_memory(
    program: Any, adapters: tuple[Any, ...], name: str, num_input: int | None, arguments: tuple[Any, ...]
) -> tuple[str, str]:
    """Whether the result depends on what was in memory before the program wrote into it."""
    values, errors = [], []
    for pattern in PATTERNS:
        try:
            with poisoned(program, pattern):
                values.append(call(program, adapters, name, num_input, arguments))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {first_line(error)}")
    if errors:
        return "uninitialized-read", f"in memory full of {PATTERNS}: {errors[0]}"
    changed = compare(values[0], values[1])
    if changed is None:
        return "", ""
    where = f"output {list(changed.path)}: {changed.expected}, {changed.observed}"
    return "uninitialized-read", f"in memory full of {PATTERNS[0]:#x} and of {PATTERNS[1]:#x}, {where}"
