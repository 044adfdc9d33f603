"""Guards: bring a value into bounds, so that what follows is defined for every input."""

from __future__ import annotations

import math
from typing import Any

from tvm import relax

from strategies.scope.bounds import LOW_PRECISION, Bounds, dtype_bounds, is_float, representable
from strategies.scope.emitter import BindingEmitter
from strategies.scope.values import Value

op = relax.op


def number_in(bounds: Bounds, dtype: str) -> float:
    """Return a simple number of ``dtype`` within bounds: 1, else 0, else one near the lower end."""
    for number in (1.0, 0.0):
        if bounds.lo <= number <= bounds.hi:
            return number if is_float(dtype) else int(number)
    if not is_float(dtype) or bounds.integral:
        return math.ceil(bounds.lo)
    if dtype in LOW_PRECISION:
        return representable(bounds.lo, bounds.hi, dtype)[0]
    lo, _ = _grid(bounds)
    return lo


def guard(scope: BindingEmitter, value: Value, bounds: Bounds) -> Value:
    """Emit bindings after which the value lies in ``bounds``; see ``Scope.guard``."""
    if value.dtype == "bool":
        return _fixed(scope, value, bounds)
    if not is_float(value.dtype):
        return _guard_integer(scope, value, bounds)
    lo, hi = _grid(bounds)
    low = value.dtype in LOW_PRECISION
    if low:
        lo, hi = representable(bounds.lo, bounds.hi, value.dtype)
    known = value.bounds
    if bounds.integral and not (known and known.integral):
        value = scope.emit(op.floor(value.expr), known.floor() if known else None)
        known = value.bounds
    if known is not None and bounds.contains(known):
        return value
    inside = Bounds(lo, hi, bounds.integral)
    way = scope.index(8)
    if way >= 4 and not low and (squashed := _squash(scope, value, bounds)) is not None:
        return squashed
    if way == 1 and known is not None and known.lo >= lo:
        limit = relax.const(hi, value.dtype)
        return scope.emit(op.minimum(value.expr, limit), Bounds(min(known.lo, hi), hi, bounds.integral))
    if way == 2 and known is not None and known.hi <= hi:
        limit = relax.const(lo, value.dtype)
        return scope.emit(op.maximum(value.expr, limit), Bounds(lo, max(known.hi, lo), bounds.integral))
    if way == 3 and known is not None and not bounds.integral and not low:  # abs has no kernel for float8
        positive = known.absolute()
        if lo >= 0 and positive.hi + lo <= hi * 0.875:  # room for rounding
            shifted = op.add(op.abs(value.expr), relax.const(lo, value.dtype))
            return scope.emit(shifted, Bounds(lo, min(positive.hi * 1.02 + lo * 1.02, hi)))
    return scope.emit(_clip(value, lo, hi), inside)


_UNIT = Bounds(-1.0, 1.0)
_HALF_UNIT = Bounds(0.0, 1.0)
_SQUASHERS: tuple[tuple[Any, Bounds], ...] = (
    (op.tanh, _UNIT),
    (op.sigmoid, _HALF_UNIT),
    (op.erf, _UNIT),
    (op.sin, _UNIT),
    (op.cos, _UNIT),
    (op.sign, Bounds(-1, 1, True)),
)
"""Functions of small range for every argument: they guard as ``clip`` does, and bring other operators together."""


def _squash(scope: BindingEmitter, value: Value, bounds: Bounds) -> Value | None:
    """Return the value through a function that stays within ``bounds``; ``None`` when the drawn one does not."""
    function, result = scope.pick(_SQUASHERS)
    steep = function in (op.sin, op.cos) and (value.bounds is None or value.bounds.magnitude > _GENTLE)
    if steep or not bounds.contains(result):
        return None
    return scope.emit(function(value.expr), result if result.integral else result.rounded().clipped(-1.0, 1.0))


_GENTLE = 8.0
"""The sine of a large number is all rounding error, so that no oracle could say anything of what follows."""


def _guard_integer(scope: BindingEmitter, value: Value, bounds: Bounds) -> Value:
    limits = dtype_bounds(value.dtype)
    lo, hi = math.ceil(max(bounds.lo, limits.lo)), math.floor(min(bounds.hi, limits.hi))
    if lo > hi:
        raise ValueError(f"no integer within {bounds}")
    inside = Bounds(lo, hi, True)
    if lo == 0 and hi + 1 <= limits.hi and scope.index(4) == 3:
        if hi & (hi + 1) == 0 and scope.index(2):  # all ones in binary
            return scope.emit(op.bitwise_and(value.expr, relax.const(hi, value.dtype)), inside)
        return scope.emit(op.floor_mod(value.expr, relax.const(hi + 1, value.dtype)), inside)
    if lo <= -1 and hi >= 1 and scope.index(8) == 7:
        return scope.emit(op.sign(value.expr), Bounds(-1, 1, True))
    if scope.index(4) == 2:
        upper = scope.emit(op.minimum(value.expr, relax.const(hi, value.dtype)), None)
        return scope.emit(op.maximum(upper.expr, relax.const(lo, value.dtype)), inside)
    return scope.emit(_clip(value, lo, hi), inside)


def _fixed(scope: BindingEmitter, value: Value, bounds: Bounds) -> Value:
    """Draw a boolean that must be constant: ``x or true``, ``x and false``."""
    if bounds.lo > 0:
        return scope.emit(op.logical_or(value.expr, relax.const(True, "bool")), Bounds(1, 1, True))
    return scope.emit(op.logical_and(value.expr, relax.const(False, "bool")), Bounds(0, 0, True))


def _clip(value: Value, lo: float, hi: float) -> Any:
    return op.clip(value.expr, lo, hi)


def _grid(bounds: Bounds) -> tuple[float, float]:
    """Return ends of the largest interval inside ``bounds`` that float16 holds exactly, or the ends where none is."""
    for grain in (64.0, 4096.0):
        lo, hi = math.ceil(bounds.lo * grain) / grain, math.floor(bounds.hi * grain) / grain
        if lo <= hi:
            # float16 holds 11 bits: beyond 32, multiples of 1/64 are rounded, so take whole numbers there.
            return (math.ceil(lo) if abs(lo) > 16 else lo), (math.floor(hi) if abs(hi) > 16 else hi)
    return bounds.lo, bounds.hi
