"""Special values among the operands of a call, and which of them its wrong result needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oracles.measure.comparison import is_floating
from oracles.semantics.replay import fault_of
from oracles.semantics.single import SingleCall
from relaxkit.interpreter.operands import limits

_Array = np.ndarray[Any, Any]
_KINDS: dict[str, Callable[[_Array, float, float], _Array]] = {
    "NaN": lambda values, most, tiny: np.isnan(values),
    "inf": lambda values, most, tiny: np.isposinf(values),
    "-inf": lambda values, most, tiny: np.isneginf(values),
    "the greatest float": lambda values, most, tiny: np.asarray(values == most),
    "the lowest float": lambda values, most, tiny: np.asarray(values == -most),
    "denormals": lambda values, most, tiny: np.asarray((values != 0) & (np.abs(values) < tiny)),
}


def needed(call: SingleCall) -> list[str]:
    """Name the special values that the result of a call is wrong for: it is right with ones in their place."""
    present = [kind for kind in _KINDS if _without(call, [kind]) is not None]
    if not present or _is_wrong(_without(call, present)):
        return []
    return [kind for kind in present if not _is_wrong(_without(call, [kind]))] or present[:1]


def _is_wrong(call: SingleCall | None) -> bool:
    return call is not None and fault_of(call) is not None


def _without(call: SingleCall, kinds: Sequence[str]) -> SingleCall | None:
    """Put ones in the place of special values; ``None`` where there are none."""
    changed = False

    def plain(value: Any) -> Any:
        nonlocal changed
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if not isinstance(value, np.ndarray) or not is_floating(value.dtype):
            return value
        wide, known = value.astype("float64"), limits(value.dtype)
        marks = np.logical_or.reduce([_KINDS[kind](wide, float(known.max), float(known.tiny)) for kind in kinds])
        changed = changed or bool(marks.any())
        return np.where(marks, np.ones((), value.dtype), value)

    arguments = tuple(map(plain, call.arguments))
    return replace(call, arguments=arguments) if changed else None
