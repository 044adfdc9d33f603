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
from relaxkit.runtime.values import arrays_in

_Array = np.ndarray[Any, Any]
_KINDS: dict[str, Callable[[_Array, float, float], _Array]] = {
    "NaN": lambda values, most, tiny: np.isnan(values),
    "inf": lambda values, most, tiny: np.isposinf(values),
    "-inf": lambda values, most, tiny: np.isneginf(values),
    "the greatest float": lambda values, most, tiny: np.asarray(values == most),
    "the lowest float": lambda values, most, tiny: np.asarray(values == -most),
    "denormals": lambda values, most, tiny: np.asarray((values != 0) & (np.abs(values) < tiny)),
}
_INTEGERS: dict[str, Callable[[_Array], _Array]] = {
    "zeros": lambda values: np.asarray(values == 0),
    "negative numbers": lambda values: np.asarray(values < 0),
}


def needed(call: SingleCall) -> list[str]:
    """Name the special values that the result of a call is wrong for: it is right with ones in their place."""
    dtypes = {str(each.dtype) for each in arrays_in(call.arguments) if each.dtype.kind in "iu"}
    kinds = [*_KINDS, *(f"{dtype} {kind}" for dtype in sorted(dtypes) for kind in _INTEGERS)]
    present = [kind for kind in kinds if _without(call, [kind]) is not None]
    # In the place of a negative index, a one may be right by chance.
    present = [kind for kind in present if not ("negative" in kind and _is_wrong(_without(call, [kind], 0)))]
    if not present or _is_wrong(_without(call, present)):
        return []
    return [kind for kind in present if not _is_wrong(_without(call, [kind]))] or present[:1]


def _is_wrong(call: SingleCall | None) -> bool:
    return call is not None and fault_of(call) is not None


def _without(call: SingleCall, kinds: Sequence[str], other: int = 1) -> SingleCall | None:
    """Put another number in the place of special values; ``None`` where there are none."""
    changed = False

    def plain(value: Any) -> Any:
        nonlocal changed
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        found = [] if not isinstance(value, np.ndarray) else _marks(value, kinds)
        if not found:
            return value
        marks = np.logical_or.reduce(found)
        changed = changed or bool(marks.any())
        return np.where(marks, np.full((), other, value.dtype), value)

    arguments = tuple(map(plain, call.arguments))
    return replace(call, arguments=arguments) if changed else None


def _marks(values: _Array, kinds: Sequence[str]) -> list[_Array]:
    """Return which elements are of each kind that these values may be of."""
    if not is_floating(values.dtype):
        own = {f"{values.dtype} {kind}": marks for kind, marks in _INTEGERS.items()}
        return [own[kind](values) for kind in kinds if kind in own]
    wide, known = values.astype("float64"), limits(values.dtype)
    return [_KINDS[kind](wide, float(known.max), float(known.tiny)) for kind in kinds if kind in _KINDS]
