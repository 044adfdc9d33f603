"""Operators that make tensors, and casts between dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import relax, tirx

from strategies.operators import intervals
from strategies.operators.drawing import ANY, FEW_RANKS, FLOATS, INTEGERS, MATRIX_UP, NUMBERS
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import BFLOAT, Bounds, default_bounds, dtype_bounds, is_float
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.CREATE)

op = relax.op


def _shape(scope: Scope) -> tuple[Any, ...]:
    """Draw a shape at hand (so that the result meets other tensors) or a drawn static one."""
    known = scope.tensors()
    if known and scope.index(4):
        return scope.pick(known).shape
    return tuple(dim for dim in scope.draw_shape(static=True))


def _fill(scope: Scope, dtype: str) -> Value:
    domain = default_bounds(dtype)
    number = scope.integer(int(domain.lo), int(domain.hi))
    return scope.scalar(bool(number) if dtype == "bool" else number, dtype)


def _filler(scope: Scope, dtype: str) -> Value:
    """Draw a scalar to fill with: of the dtype or, now and then, of another one, constant or computed."""
    if scope.index(4) == 3:
        return scope.tensor(dtypes=(dtype,), shape=())
    if dtype == "bool" or scope.index(4) < 3:
        return _fill(scope, dtype)
    # Of another dtype that holds whole numbers of the default domain; none below zero for an unsigned result.
    other = scope.pick_dtype(NUMBERS)
    domain = default_bounds(dtype)
    return scope.scalar(scope.integer(max(0, int(domain.lo)), 2), other)


@ROWS.row("full", bounds=intervals.full)
def draw_full(scope: Scope) -> Value | None:
    """Draw ``full`` of a constant or computed scalar, of the dtype asked for or another, or asked for none."""
    dtype = scope.pick_dtype(ANY)
    shape = scope.shape_expr(_shape(scope))
    fill = _filler(scope, dtype)
    asked = None if fill.dtype == dtype and scope.index(4) == 3 else dtype
    return scope.emit(op.full(shape, fill.expr, asked), fill.known)


@ROWS.row("full_like", bounds=intervals.full)
def draw_full_like(scope: Scope) -> Value | None:
    """Draw ``full_like``, in the dtype of the tensor or another."""
    like = scope.tensor(dtypes=ANY)
    dtype = like.dtype if scope.index(4) else scope.pick_dtype(ANY)
    fill = _filler(scope, dtype)
    return scope.emit(op.full_like(like.expr, fill.expr, None if dtype == like.dtype else dtype), fill.known)


def _draw_filled(scope: Scope, call: Callable[..., Any], number: int) -> Value:
    return scope.emit(call(scope.shape_expr(_shape(scope)), scope.pick_dtype(ANY)), Bounds(number, number, True))


def _draw_filled_like(scope: Scope, call: Callable[..., Any], number: int) -> Value:
    like = scope.tensor(dtypes=ANY)
    dtype = None if scope.index(4) else scope.pick_dtype(ANY)
    return scope.emit(call(like.expr, dtype), Bounds(number, number, True))


for _draw, _suffix in ((_draw_filled, ""), (_draw_filled_like, "_like")):
    for _number, _name in ((1, f"ones{_suffix}"), (0, f"zeros{_suffix}")):
        _bounds = intervals.within(_number, _number, True)
        ROWS.row(_name, bounds=_bounds)(partial(_draw, call=getattr(op, _name), number=_number))


@ROWS.row("eye")
def draw_eye(scope: Scope) -> Value | None:
    """Draw ``eye``: ``n`` rows, ``m`` columns (default ``n``), the diagonal above or below, or outside of it all."""
    rows: Any = scope.integer(1, 5)
    columns, offset = scope.integer(0, 5), scope.integer(-2, 2)
    if scope.frame.symbol_list and scope.index(4) == 3:
        rows = scope.pick(scope.frame.symbol_list)
    if scope.index(8) == 7:
        offset *= 4
    dtype = scope.pick_dtype(ANY)
    return scope.emit(op.eye(rows, columns or None, offset, dtype), Bounds(0, 1, True))


@ROWS.row("eye_like")
def draw_eye_like(scope: Scope) -> Value | None:
    """Draw ``eye_like`` of a matrix; in another dtype only where nothing runs.

    TVM defect: the legalization forgets the dtype and makes one of the operand's.
    """
    like = scope.tensor(dtypes=ANY, ranks=(2,))
    dtype = None if scope.executable or scope.index(4) else scope.pick_dtype(ANY)
    return scope.emit(op.eye_like(like.expr, scope.integer(-2, 2), dtype), Bounds(0, 1, True))


@ROWS.row("arange")
def draw_arange(scope: Scope) -> Value | None:
    """Draw ``arange`` of at least one element, whole or fractional, up to a number or a symbolic dim.

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
        return scope.emit_rounded(call, known, dtype)
    if way == 6 and is_float(dtype):
        step_size = scope.pick((0.5, 0.25, 1.5))
        last = start + step_size * length
        return scope.emit_rounded(op.arange(float(start), last, step_size, dtype), Bounds(start, last), dtype)
    if way == 5 and start > 0:
        return scope.emit_rounded(op.arange(start, dtype=dtype), Bounds(0, start, True), dtype)
    step = scope.pick((1, 2, 3) if scope.executable else (1, 2, 3, -1))
    end = start + step * length - scope.index(abs(step))
    call = op.arange(start, end, step, dtype)
    return scope.emit_rounded(call, Bounds(min(start, end), max(start, end), True), dtype)


@ROWS.row("hamming_window")
def draw_hamming_window(scope: Scope) -> Value | None:
    """Draw ``hamming_window``, periodic or symmetric, of 2 elements or more: the symmetric one divides by one less."""
    size, periodic = scope.integer(2, 8), scope.index(2)
    dtype = scope.pick_dtype(FLOATS + BFLOAT)
    call = op.hamming_window(size, periodic, scope.pick((0.5, 0.54)), scope.pick((0.5, 0.46)), dtype)
    return scope.emit(call, Bounds(-1.0, 2.0))


def _draw_triangle(scope: Scope, call: Callable[..., Any]) -> Value:
    operand = scope.tensor(dtypes=ANY, ranks=MATRIX_UP)
    return scope.emit(call(operand.expr, scope.integer(-2, 2)), operand.known.including(0.0))


ROWS.row("tril")(partial(_draw_triangle, call=op.tril))
ROWS.row("triu")(partial(_draw_triangle, call=op.triu))


def _one_hot_values(scope: Scope) -> tuple[Any, Any, Bounds]:
    """Draw values for on and off: Python's numbers, which become int64 and float64, or primitive values of a dtype."""
    way = scope.index(6)
    if way < 3:
        on, off = ((1, 0), (1.0, 0.0), (2, -1))[way]
        return on, off, Bounds(off, on, True)
    dtype = scope.pick_dtype((*FLOATS, *INTEGERS, "bool"))
    make = tirx.FloatImm if is_float(dtype) else tirx.IntImm
    on, off = scope.pick(((1, 0), (0, 1)))
    return make(dtype, on), make(dtype, off), Bounds(0, 1, True)


@ROWS.row("one_hot")
def draw_one_hot(scope: Scope) -> Value | None:
    """Draw ``one_hot`` of indices below the depth, or beyond it: those are off everywhere."""
    depth = scope.integer(1, 5)
    indices = scope.tensor(
        dtypes=INTEGERS, ranks=FEW_RANKS, where=lambda value: scope.affordable((*value.shape, depth))
    )
    on, off, known = _one_hot_values(scope)
    # TVM defect: negative axes other than -1 pass inference, not the kernel ("Index out of bounds").
    where = scope.integer(-1, indices.rank)
    return scope.emit(op.one_hot(indices.expr, on, off, depth, where), known)


@ROWS.row("astype", OperatorFamily.DATATYPE, bounds=intervals.astype)
def draw_astype(scope: Scope) -> Value | None:
    """Draw ``astype`` into a dtype that holds every value: conversions out of range are undefined; into bool any."""
    operand = scope.tensor(dtypes=ANY)
    dtype = scope.pick_dtype(ANY)
    if dtype == "bool":
        return scope.emit(op.astype(operand.expr, dtype), Bounds(0, 1, True))
    limit = dtype_bounds(dtype)
    operand = operand if operand.dtype == "bool" else scope.keep(operand, max(limit.lo, -1.0e4), min(limit.hi, 1.0e4))
    known = operand.read_bounds
    if not is_float(dtype):
        known = Bounds(math.trunc(known.lo), math.trunc(known.hi), True)
    return scope.emit_rounded(op.astype(operand.expr, dtype), known, dtype)


@ROWS.row("wrap_param", OperatorFamily.DATATYPE, executable=False)
def draw_wrap_param(scope: Scope) -> Value | None:
    """Draw ``wrap_param``: nothing lowers it, so only modules that need not run have it."""
    if scope.executable:
        return None
    operand = scope.constant([scope.small_dim() for _ in range(scope.integer(1, 3))], "float32")
    dtype = scope.pick_dtype(FLOATS + BFLOAT)
    return scope.emit(op.wrap_param(operand.expr, dtype), operand.known.rounded_as(dtype))
