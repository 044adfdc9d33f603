"""Adapters that bring a value to another dtype, as a table to draw from; they emit what they take."""

from __future__ import annotations

import math

from tvm import relax

from strategies.operators.adapt.step import Typer
from strategies.scope.bounds import FLOAT8, LOW_PRECISION, Bounds, dtype_bounds, is_float
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op


def cast(scope: Scope, value: Value, dtype: str) -> Value | None:
    """Bind ``astype``, of a value within the dtype's range."""
    if dtype == "bool":
        return None
    limit = dtype_bounds(dtype)
    if value.dtype != "bool":
        value = scope.keep(value, max(limit.lo, -1.0e4), min(limit.hi, 1.0e4))
    known = value.known
    if value.dtype in FLOAT8 and is_float(dtype) and known.lo <= 0 <= known.hi:
        # TVM defect: a zero of eight bits becomes 2**-7 or 2**-15 in every other float.
        known = Bounds(known.lo, known.hi).union(Bounds(-(2.0**-7), 2.0**-7))
    if is_float(dtype):
        exact = known.integral and (dtype in ("float32", "float64") or known.magnitude <= 2048)
        known = known if exact and dtype not in LOW_PRECISION else known.rounded_as(dtype)
        known = known if exact or not known.integral else known.rounded()
    else:
        known = Bounds(math.trunc(known.lo), math.trunc(known.hi), True)
    return scope.emit(op.astype(value.expr, dtype), known)


def compare(scope: Scope, value: Value, dtype: str) -> Value | None:
    """Draw a comparison with a number, for a boolean."""
    if dtype != "bool" or value.dtype == "bool":
        return None
    call = scope.pick((op.greater, op.less, op.not_equal, op.greater_equal, op.less_equal, op.equal))
    number = scope.pick((0, 1))
    return scope.emit(call(value.expr, relax.const(number, value.dtype)), Bounds(0, 1, True))


def classify(scope: Scope, value: Value, dtype: str) -> Value | None:
    """Bind ``isfinite``, ``isnan`` or ``isinf`` of a float, for a boolean."""
    if dtype != "bool" or value.dtype not in ("float32", "float64"):
        return None
    call = scope.pick((op.isfinite, op.isnan, op.isinf))
    return scope.emit(call(value.expr), Bounds(0, 1, True))


def choose(scope: Scope, value: Value, dtype: str) -> Value | None:
    """Bind ``where`` between two numbers, of a boolean."""
    if dtype == "bool" or value.dtype != "bool" or dtype in LOW_PRECISION:
        return None
    left, right = relax.const(scope.pick((1, 2)), dtype), relax.const(scope.pick((0, 3)), dtype)
    return scope.emit(op.where(value.expr, left, right), Bounds(0, 3, True))


def quantize(scope: Scope, value: Value, dtype: str) -> Value | None:
    """Bind ``quantize`` to 8 bits, which saturates."""
    if dtype not in ("int8", "uint8") or value.dtype != "float32" or value.rank == 0:
        return None
    scale = relax.const(scope.pick((0.5, 0.125, 1.0)), "float32")
    call = op.quantize(value.expr, scale, relax.const(scope.index(3), "int8"), scope.index(value.rank), dtype)
    return scope.emit(call, dtype_bounds(dtype) if dtype == "uint8" else Bounds(-128, 127, True))


def dequantize(scope: Scope, value: Value, dtype: str) -> Value | None:
    """Bind ``dequantize`` from 8 bits."""
    if dtype not in ("float32", "float16") or value.dtype not in ("int8", "uint8") or value.rank == 0:
        return None
    scale = relax.const(scope.pick((0.5, 0.125, 1.0)), dtype)
    call = op.dequantize(value.expr, scale, relax.const(scope.index(3), "int8"), scope.index(value.rank), dtype)
    size = value.known.magnitude + 3.0
    return scope.emit(call, Bounds(-size, size))


TYPERS: tuple[Typer, ...] = (cast, compare, classify, choose, quantize, dequantize)
"""To another dtype."""
