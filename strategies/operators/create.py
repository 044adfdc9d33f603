"""Operators that make tensors, and casts between dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import Bounds, default_bounds, dtype_bounds, is_float
from strategies.operators.drawing import (
    ANY,
    FLOATS,
    NUMBERS,
    bounds_of,
    emit,
    keep,
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
    return tuple(scope.small_dim() for _ in range(scope.integer(0, 3)))


def _fill(scope: Scope, dtype: str) -> Value:
    domain = default_bounds(dtype)
    number = scope.integer(int(domain.lo), int(domain.hi))
    return scope.scalar(bool(number) if dtype == "bool" else number, dtype)


def draw_full(scope: Scope) -> Value | None:
    """``full`` of a constant or computed scalar, rarely of another dtype than asked for."""
    dtype = scope.pick_dtype(ANY)
    shape = _shape(scope)
    fill = scope.tensor(dtypes=(dtype,), shape=()) if scope.index(4) == 3 else _fill(scope, dtype)
    return scope.emit(op.full(scope.shape_expr(shape), fill.expr, dtype), bounds_of(fill))


def draw_full_like(scope: Scope) -> Value | None:
    """``full_like``, in the dtype of the tensor or another."""
    like = scope.tensor(dtypes=ANY)
    dtype = like.dtype if scope.index(4) else scope.pick_dtype(ANY)
    fill = _fill(scope, dtype)
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
    """``eye``: ``n`` rows, ``m`` columns (default ``n``), the diagonal above or below."""
    rows, columns, offset = scope.integer(1, 5), scope.integer(0, 5), scope.integer(-2, 2)
    dtype = scope.pick_dtype(NUMBERS)
    return scope.emit(op.eye(rows, columns or None, offset, dtype), Bounds(0, 1, True))


def draw_eye_like(scope: Scope) -> Value | None:
    """``eye_like`` of a matrix; in another dtype only where nothing runs: the legalization forgets it."""
    like = scope.tensor(dtypes=NUMBERS, ranks=(2,))
    dtype = None if scope.executable or scope.index(4) else scope.pick_dtype(NUMBERS)
    return scope.emit(op.eye_like(like.expr, scope.integer(-2, 2), dtype), Bounds(0, 1, True))


def draw_arange(scope: Scope) -> Value | None:
    """``arange`` of at least one element; downwards only where nothing runs: the inferred length is 2 too many."""
    steps = (1, 2, 3) if scope.executable else (1, 2, 3, -1)
    start, step, length = scope.integer(-3, 3), scope.pick(steps), scope.integer(1, 8)
    end = start + step * length
    dtype = scope.pick_dtype((*FLOATS, "int64", "int32"))
    call = op.arange(start, end, step, dtype)
    return scope.emit(call, Bounds(min(start, end), max(start, end), True))


def draw_hamming_window(scope: Scope) -> Value | None:
    """``hamming_window``, periodic or symmetric; at least 2 elements, for the symmetric one divides by size - 1."""
    size, periodic = scope.integer(2, 8), scope.index(2)
    call = op.hamming_window(size, periodic, scope.pick((0.5, 0.54)), scope.pick((0.5, 0.46)), "float32")
    return scope.emit(call, Bounds(-1.0, 2.0))


def _draw_triangle(call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        operand = scope.tensor(dtypes=NUMBERS, ranks=(2, 3, 4))
        return scope.emit(call(operand.expr, scope.integer(-2, 2)), bounds_of(operand).including(0.0))

    return draw


def draw_one_hot(scope: Scope) -> Value | None:
    """``one_hot`` of indices below the depth; the values are float64 or int64, as Python's numbers become."""
    depth = scope.integer(1, 5)
    indices = scope.tensor(dtypes=("int64", "int32"), ranks=(0, 1, 2), bounds=Bounds(0, depth - 1, True))
    on, off = scope.pick(((1, 0), (1.0, 0.0), (2, -1)))
    where = scope.integer(-1, indices.rank)
    known = Bounds(off, on, True)
    return scope.emit(op.one_hot(indices.expr, on, off, depth, where), known)


def draw_astype(scope: Scope) -> Value | None:
    """``astype`` into a dtype that holds every value: conversions out of range are undefined."""
    operand = scope.tensor(dtypes=ANY)
    dtype = scope.pick_dtype(tuple(name for name in ANY if name != "bool"))
    limit = dtype_bounds(dtype)
    operand = operand if operand.dtype == "bool" else keep(scope, operand, max(limit.lo, -1.0e4), min(limit.hi, 1.0e4))
    known = bounds_of(operand)
    if not is_float(dtype):
        known = Bounds(int(known.lo), int(known.hi), True)  # towards zero
    return emit(scope, op.astype(operand.expr, dtype), known, dtype)


def draw_wrap_param(scope: Scope) -> Value | None:
    """``wrap_param``: nothing lowers it, so only modules that need not run have it."""
    if scope.executable:
        return None
    operand = scope.constant([scope.small_dim() for _ in range(scope.integer(1, 3))], "float32")
    return scope.emit(op.wrap_param(operand.expr, "float32"), bounds_of(operand))


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
