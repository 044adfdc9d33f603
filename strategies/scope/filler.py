"""Fillers: a drawn operator where any one will do, so that what surrounds an idiom is not always the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax

from strategies.scope.bounds import LOW_PRECISION, Bounds, dtype_bounds, is_float
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op


@dataclass(frozen=True, slots=True)
class Filler:
    """An operator that keeps the type of its operand, whose magnitude is at most ``most``."""

    call: Callable[[Any], Any]
    result: Callable[[Bounds], Bounds]
    most: float = math.inf
    integers: bool = False


def _within(lo: float, hi: float) -> Callable[[Bounds], Bounds]:
    return lambda _: Bounds(lo, hi)


FILLERS = (
    Filler(op.negative, Bounds.__neg__, integers=True),
    Filler(op.abs, Bounds.absolute, integers=True),
    Filler(op.nn.relu, lambda b: b.clipped(0.0, math.ceil(max(0.0, b.hi))), integers=True),
    Filler(op.tanh, _within(-1.0, 1.0)),
    Filler(op.sigmoid, _within(0.0, 1.0)),
    Filler(op.erf, _within(-1.0, 1.0)),
    Filler(op.cos, _within(-1.0, 1.0), most=8.0),
    Filler(op.sin, _within(-1.0, 1.0), most=8.0),
    Filler(op.exp, lambda b: Bounds(0.0, math.exp(b.hi)), most=4.0),
    Filler(op.square, Bounds.square, most=16.0, integers=True),
    Filler(op.nn.leakyrelu, lambda b: b.including(0.0), most=512.0),
    Filler(op.nn.gelu, lambda b: Bounds(min(b.lo, -0.25), max(b.hi, 0.0)), most=8.0),
    Filler(op.nn.silu, lambda b: Bounds(min(b.lo, -0.375), max(b.hi, 0.0)), most=8.0),
    Filler(lambda x: op.clip(x, -2, 2), lambda b: b.clipped(-2.0, 2.0), integers=True),
    Filler(op.sign, lambda b: Bounds(-1, 1, True), integers=True),
)
"""Operators of one operand with kernels for float16, float32 and float64; exponents stay small, so that none of them
makes a rounding error much larger."""


_PLAIN = tuple(filler for filler in FILLERS if filler.integers)

_ELEMENTWISE = (_PLAIN[2], *_PLAIN[:2], *_PLAIN[3:], FILLERS[10])


def filled_with(scope: Scope, value: Value, *, plain: bool = False) -> Value:
    """Bind a drawn operator of ``value``, a tensor; the result has its type.

    Args:
        scope: The scope.
        value: The operand.
        plain: Whether to leave out transcendental functions, which some passes rewrite.

    Shrinks to ``permute_dims`` that leaves every dim where it is, which takes any tensor.
    """
    order = list(range(value.rank))
    signed = is_float(value.dtype) or value.dtype.startswith("int")
    if value.bounds is None or value.dtype in LOW_PRECISION or not signed or not scope.index(4):
        if value.dtype == "bool" and scope.index(4) > 1:
            return scope.emit(op.logical_not(value.expr), Bounds(0, 1, True))
        return scope.emit(op.permute_dims(value.expr, order), value.bounds)
    filler = scope.pick(_PLAIN if plain else FILLERS)
    if value.known.magnitude > filler.most or not (filler.integers or is_float(value.dtype)):
        return scope.emit(op.permute_dims(value.expr, order), value.bounds)
    return scope.emit(filler.call(value.expr), _kept(value.dtype, filler.result(value.known)))


def elementwise(scope: Scope, value: Value) -> Value:
    """Bind a drawn elementwise operator, none that a pass rewrites, of a float tensor; shrinks to ``nn.relu``."""
    filler = scope.pick(_ELEMENTWISE)
    if value.known.magnitude > filler.most:
        filler = _ELEMENTWISE[0]
    return scope.emit(filler.call(value.expr), _kept(value.dtype, filler.result(value.known)))


def joined_with(scope: Scope, left: Value, right: Value, device: int | None = None) -> Value:
    """Bind a drawn operator of two tensors of one type; the result has that type.  Shrinks to ``maximum``."""
    if left.dtype == "bool":
        call = scope.pick((op.logical_or, op.logical_and, op.logical_xor))
        return scope.emit(call(left.expr, right.expr), Bounds(0, 1, True), device=device)
    way = scope.index(6)
    a, b = left.known, right.known
    if left.dtype not in LOW_PRECISION and way >= 2:
        call, bounds = ((op.add, a + b), (op.subtract, a - b), (op.multiply, a * b), (op.minimum, a.minimum(b)))[
            way - 2
        ]
        known = _kept(left.dtype, bounds)
        if dtype_bounds(left.dtype).contains(known):
            return scope.emit(call(left.expr, right.expr), known, device=device)
    if way == 1:
        return scope.emit(op.minimum(left.expr, right.expr), a.minimum(b), device=device)
    return scope.emit(op.maximum(left.expr, right.expr), a.maximum(b), device=device)


def _kept(dtype: str, bounds: Bounds) -> Bounds:
    """Return bounds with room for rounding; integers stay whole."""
    return bounds.rounded() if is_float(dtype) and not bounds.integral else bounds
