"""Operators that make tensors, and casts between dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm import relax, tirx

from strategies.bounds import BFLOAT, Bounds, default_bounds, dtype_bounds, is_float
from strategies.operators.drawing import (
    ANY,
    FEW_RANKS,
    FLOATS,
    INTEGERS,
    MATRIX_UP,
    NUMBERS,
    affordable,
    bounds_of,
    emit,
    keep,
    read_bounds,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op


def _shape(scope: Scope) -> tuple[Any, ...]:
    """A shape at hand (so that the result meets other tensors) or a drawn static one."""
    known = scope.tensors()
    if known and scope.index(4):
        return shape_of(scope.pick(known))
    return tuple(dim for dim in scope.draw_shape(static=True))


def _fill(scope: Scope, dtype: str) -> Value:
    domain = default_bounds(dtype)
    number = scope.integer(int(domain.lo), int(domain.hi))
    return scope.scalar(bool(number) if dtype == "bool" else number, dtype)


def _filler(scope: Scope, dtype: str) -> Value:
    """A scalar to fill with: of the dtype or, now and then, of another one, constant or computed."""
    if scope.index(4) == 3:
        return scope.tensor(dtypes=(dtype,), shape=())
    if dtype == "bool" or scope.index(4) < 3:
        return _fill(scope, dtype)
    # Of another dtype that holds whole numbers of the default domain; none below zero for an unsigned result.
    other = scope.pick_dtype(NUMBERS)
    domain = default_bounds(dtype)
    return scope.scalar(scope.integer(max(0, int(domain.lo)), 2), other)


def draw_full(scope: Scope) -> Value | None:
    """``full`` of a constant or computed scalar, of the dtype asked for or another, or asked for none."""
    dtype = scope.pick_dtype(ANY)
    shape = scope.shape_expr(_shape(scope))
    fill = _filler(scope, dtype)
    asked = None if fill.dtype == dtype and scope.index(4) == 3 else dtype
    return scope.emit(op.full(shape, fill.expr, asked), bounds_of(fill))


def draw_full_like(scope: Scope) -> Value | None:
    """``full_like``, in the dtype of the tensor or another."""
    like = scope.tensor(dtypes=ANY)
    dtype = like.dtype if scope.index(4) else scope.pick_dtype(ANY)
    fill = _filler(scope, dtype)
    return scope.emit(op.full_like(like.expr, fill.expr, None if dtype == like.dtype else dtype), bounds_of(fill))


def _draw_filled(call: Callable[..., Any], number: int) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        return scope.emit(call(scope.shape_expr(_shape(scope)), scope.pick_dtype(ANY)), Bounds(number, number, True))

    return draw


def _draw_filled_like(call: Callable[..., Any], number: int) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        like = scope.tensor(dtypes=ANY)
        dtype = None if scope.index(4) else scope.pick_dtype(ANY)
        return scope.emit(call(like.expr, dtype), Bounds(number, number, True))

    return draw


def draw_eye(scope: Scope) -> Value | None:
    """``eye``: ``n`` rows, ``m`` columns (default ``n``), the diagonal above or below, or outside of it all."""
    rows: Any = scope.integer(1, 5)
    columns, offset = scope.integer(0, 5), scope.integer(-2, 2)
    if scope.frame.symbol_list and scope.index(4) == 3:
        rows = scope.pick(scope.frame.symbol_list)
    if scope.index(8) == 7:
        offset *= 4
    dtype = scope.pick_dtype(ANY)
    return scope.emit(op.eye(rows, columns or None, offset, dtype), Bounds(0, 1, True))


def draw_eye_like(scope: Scope) -> Value | None:
    """``eye_like`` of a matrix; in another dtype only where nothing runs.

    TVM defect: the legalization forgets the dtype and makes one of the operand's.
    """
    like = scope.tensor(dtypes=ANY, ranks=(2,))
    dtype = None if scope.executable or scope.index(4) else scope.pick_dtype(ANY)
    return scope.emit(op.eye_like(like.expr, scope.integer(-2, 2), dtype), Bounds(0, 1, True))


def draw_arange(scope: Scope) -> Value | None:
    """``arange`` of at least one element, whole or fractional, up to a number or a symbolic dim.

    Downwards only where nothing runs (TVM defect: the inferred length is 2 too many).
    """
    dtype = scope.pick_dtype((*FLOATS, *INTEGERS, *BFLOAT))
    lowest = 0 if dtype.startswith("uint") else -3
    start, length = scope.integer(lowest, 3), scope.integer(1, 8)
    way = scope.index(8)
    if way == 7 and scope.frame.symbol_list:
        symbol = scope.pick(scope.frame.symbol_list)
        known = Bounds(scope.integer(lowest, 0), scope.dim_range(symbol)[1], True)
        call = op.arange(int(known.lo), symbol, scope.integer(1, 3), dtype)
        return emit(scope, call, known, dtype)
    if way == 6 and is_float(dtype):
        step_size = scope.pick((0.5, 0.25, 1.5))
        last = start + step_size * length
        return emit(scope, op.arange(float(start), last, step_size, dtype), Bounds(start, last), dtype)
    if way == 5 and start > 0:
        return emit(scope, op.arange(start, dtype=dtype), Bounds(0, start, True), dtype)
    step = scope.pick((1, 2, 3) if scope.executable else (1, 2, 3, -1))
    end = start + step * length - scope.index(abs(step))
    call = op.arange(start, end, step, dtype)
    return emit(scope, call, Bounds(min(start, end), max(start, end), True), dtype)


def draw_hamming_window(scope: Scope) -> Value | None:
    """``hamming_window``, periodic or symmetric; at least 2 elements, for the symmetric one divides by size - 1."""
    size, periodic = scope.integer(2, 8), scope.index(2)
    dtype = scope.pick_dtype(FLOATS + BFLOAT)
    call = op.hamming_window(size, periodic, scope.pick((0.5, 0.54)), scope.pick((0.5, 0.46)), dtype)
    return scope.emit(call, Bounds(-1.0, 2.0))


def _draw_triangle(call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        operand = scope.tensor(dtypes=ANY, ranks=MATRIX_UP)
        return scope.emit(call(operand.expr, scope.integer(-2, 2)), bounds_of(operand).including(0.0))

    return draw


def _one_hot_values(scope: Scope) -> tuple[Any, Any, Bounds]:
    """On and off: Python's numbers, which become int64 and float64, or primitive values of a dtype."""
    way = scope.index(6)
    if way < 3:
        on, off = ((1, 0), (1.0, 0.0), (2, -1))[way]
        return on, off, Bounds(off, on, True)
    dtype = scope.pick_dtype((*FLOATS, *INTEGERS, "bool"))
    make = tirx.FloatImm if is_float(dtype) else tirx.IntImm
    on, off = scope.pick(((1, 0), (0, 1)))
    return make(dtype, on), make(dtype, off), Bounds(0, 1, True)


def draw_one_hot(scope: Scope) -> Value | None:
    """``one_hot`` of indices below the depth, or beyond it: those are off everywhere."""
    depth = scope.integer(1, 5)
    indices = scope.tensor(
        dtypes=INTEGERS, ranks=FEW_RANKS, where=lambda value: affordable(scope, (*shape_of(value), depth))
    )
    on, off, known = _one_hot_values(scope)
    # TVM defect: negative axes other than -1 pass inference, not the kernel ("Index out of bounds").
    where = scope.integer(-1, indices.rank)
    return scope.emit(op.one_hot(indices.expr, on, off, depth, where), known)


def draw_astype(scope: Scope) -> Value | None:
    """``astype`` into a dtype that holds every value: conversions out of range are undefined; into bool any."""
    operand = scope.tensor(dtypes=ANY)
    dtype = scope.pick_dtype(ANY)
    if dtype == "bool":
        return scope.emit(op.astype(operand.expr, dtype), Bounds(0, 1, True))
    limit = dtype_bounds(dtype)
    operand = operand if operand.dtype == "bool" else keep(scope, operand, max(limit.lo, -1.0e4), min(limit.hi, 1.0e4))
    known = read_bounds(operand)
    if not is_float(dtype):
        known = Bounds(math.trunc(known.lo), math.trunc(known.hi), True)
    return emit(scope, op.astype(operand.expr, dtype), known, dtype)


def draw_wrap_param(scope: Scope) -> Value | None:
    """``wrap_param``: nothing lowers it, so only modules that need not run have it."""
    if scope.executable:
        return None
    operand = scope.constant([scope.small_dim() for _ in range(scope.integer(1, 3))], "float32")
    dtype = scope.pick_dtype(FLOATS + BFLOAT)
    return scope.emit(op.wrap_param(operand.expr, dtype), bounds_of(operand).rounded_as(dtype))


def _row(name: str, draw: Callable[[Scope], Value | None], family: Family = Family.CREATE) -> OperatorRow:
    return OperatorRow(f"relax.{name}", family, draw)


ROWS = (
    _row("full", draw_full),
    _row("full_like", draw_full_like),
    _row("ones", _draw_filled(op.ones, 1)),
    _row("zeros", _draw_filled(op.zeros, 0)),
    _row("ones_like", _draw_filled_like(op.ones_like, 1)),
    _row("zeros_like", _draw_filled_like(op.zeros_like, 0)),
    _row("eye", draw_eye),
    _row("eye_like", draw_eye_like),
    _row("arange", draw_arange),
    _row("hamming_window", draw_hamming_window),
    _row("tril", _draw_triangle(op.tril)),
    _row("triu", _draw_triangle(op.triu)),
    _row("one_hot", draw_one_hot),
    _row("astype", draw_astype, Family.DATATYPE),
    OperatorRow("relax.wrap_param", Family.DATATYPE, draw_wrap_param, executable=False),
)
