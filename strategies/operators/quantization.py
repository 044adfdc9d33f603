"""Quantization and its inverse."""

from __future__ import annotations

from typing import Any

from tvm import relax

from strategies.operators.adapt import adapted
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import FLOAT8, Bounds, dtype_bounds
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.QUANTIZE)

op = relax.op

SCALE = Bounds(0.0625, 2.0)
ZERO = Bounds(0, 3, True)
ZERO_DTYPES = ("int8", "int32", "uint8", "int16", "uint16")


def _parameters(scope: Scope, data: Value, dtype: str) -> tuple[Value, Value, int]:
    """Return scale, zero point and axis: one number for all, one in a vector, or one for each element of the axis."""
    place = scope.index(data.rank) if data.rank else 0
    shapes: tuple[tuple[Any, ...], ...] = ((), (1,))
    if data.rank:
        shapes = ((data.shape[place],), (), (1,))
    shape = scope.pick(shapes)
    scale = adapted(scope, dtypes=(dtype,), shape=shape, bounds=SCALE, share=24)
    # The other one may be a number where this one is a vector.
    zero = adapted(scope, dtypes=ZERO_DTYPES, shape=() if scope.rarely() else shape, bounds=ZERO, share=24)
    return scale, zero, place - data.rank if data.rank and scope.flip() else place


@ROWS.row("quantize")
def draw_quantize(scope: Scope) -> Value | None:
    """Draw ``quantize`` to 8 or 16 bits by one scale and zero point, or by one for each element of an axis."""
    data = adapted(scope, dtypes=("float32", "float16"))
    dtypes = ("int8", "uint8", "int16", "uint16", *(dtype for dtype in FLOAT8 if dtype in scope.module.dtypes))
    dtype = scope.pick(dtypes)
    if data.dtype == "float16" and dtype == "uint16" and scope.executable:
        dtype = "uint8"  # TVM defect: the limit is written as a float16, which cannot hold it
    # Within float16 after the division; of 8 bits of float, within what those may hold.
    limit = 4.0 if dtype in FLOAT8 else 1024.0
    data = scope.keep(data, -limit, limit)
    scale, zero, axis = _parameters(scope, data, data.dtype if scope.flip() else "float32")
    size = data.known.magnitude / SCALE.lo + ZERO.hi + 2.0
    # What quantized values are clipped to, and what they may hold in a drawn module.
    known = Bounds(-128, 127, True) if dtype == "int8" else dtype_bounds(dtype)
    known = Bounds(max(known.lo, -size), min(known.hi, size))
    call = op.quantize(data.expr, scale.expr, zero.expr, axis, dtype)
    if dtype in FLOAT8:
        return scope.emit(call, known.rounded_as(dtype))
    return scope.emit(call, Bounds(known.lo // 1, -(-known.hi // 1), True))


@ROWS.row("dequantize")
def draw_dequantize(scope: Scope) -> Value | None:
    """Draw ``dequantize`` from integers or small floats to a float."""
    floats = tuple(dtype for dtype in FLOAT8 if dtype in scope.module.dtypes)
    data = adapted(scope, dtypes=("int8", "uint8", "int16", "uint16", "int32", "float16", "float32", *floats))
    data = scope.keep(data, max(dtype_bounds(data.dtype).lo, -2048), min(dtype_bounds(data.dtype).hi, 2048))
    dtype = scope.pick(("float32", "float16"))
    scale, zero, axis = _parameters(scope, data, dtype)
    size = (data.known.magnitude + ZERO.hi) * SCALE.hi * 1.03125
    return scope.emit(op.dequantize(data.expr, scale.expr, zero.expr, axis, dtype), Bounds(-size, size))
