"""Scans, sorts, bucketing, and operators whose result is as long as the data says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from tvm import relax

from strategies.bounds import Bounds, default_bounds, dtype_bounds
from strategies.operators.drawing import (
    NUMBERS,
    WIDE_FLOATS,
    axis,
    bounds_of,
    emit,
    flip,
    keep,
    nonempty,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op

SORTABLE = (*WIDE_FLOATS, "int64", "int32")
"""What the runtime's CPU sort takes ("Unsupported input dtype" for the rest)."""


def _operand(scope: Scope, dtypes: tuple[str, ...], more: tuple[str, ...] = ()) -> Value:
    accepted = dtypes if scope.executable else dtypes + tuple(dtype for dtype in more if dtype not in dtypes)
    return scope.tensor(dtypes=accepted, ranks=(1, 2, 3, 4), where=nonempty(scope))


def _scan_axis(scope: Scope, value: Value) -> int:
    """An axis to scan along: the last one of a tensor with two symbolic dims or more.

    Along another, the kernel's index arithmetic takes the compiler 3 s for (3, n, n) and minutes for (3, n, n, n).
    """
    symbolic = sum(not isinstance(dim, int) for dim in shape_of(value))
    return -1 if symbolic > 1 else axis(scope, value.rank)


def draw_cumsum(scope: Scope) -> Value | None:
    """``cumsum`` along one axis or over the flattened tensor, exclusive or not."""
    operand = _operand(scope, NUMBERS)
    dims = shape_of(operand)
    chosen = _scan_axis(scope, operand) if not operand.is_static or flip(scope) else None
    elements = scope.most_elements(dims if chosen is None else [dims[chosen]])
    limit, domain = dtype_bounds(operand.dtype), default_bounds(operand.dtype)
    if elements * bounds_of(operand).magnitude > limit.hi:
        operand = keep(scope, operand, domain.lo, domain.hi)
    known = bounds_of(operand).up_to(elements)
    if known.hi > limit.hi or known.lo < limit.lo:
        return None
    return emit(scope, op.cumsum(operand.expr, chosen, exclusive=flip(scope)), known, operand.dtype)


def draw_cumprod(scope: Scope) -> Value | None:
    """``cumprod`` of factors of magnitude at most 2 over at most 6 of them."""
    operand = _operand(scope, NUMBERS)
    chosen = _scan_axis(scope, operand)
    elements = scope.most_elements([shape_of(operand)[chosen]])
    bound = 2 if elements <= 6 else 1
    operand = keep(scope, operand, 0 if operand.dtype.startswith("uint") else -bound, bound)
    size = float(bound) ** elements
    known = Bounds(-size if bounds_of(operand).lo < 0 else 0, size)
    return emit(scope, op.cumprod(operand.expr, chosen, exclusive=flip(scope)), known, operand.dtype)


def draw_sort(scope: Scope) -> Value | None:
    """``sort`` along one axis: equal elements cannot be told apart, so its result is determined."""
    operand = _operand(scope, SORTABLE, NUMBERS)
    call = op.sort(operand.expr, axis(scope, operand.rank), flip(scope))
    return scope.emit(call, bounds_of(operand))


def draw_argsort(scope: Scope) -> Value | None:
    """``argsort``: the CPU sort is stable, so equal elements keep their order."""
    operand = _operand(scope, SORTABLE, NUMBERS)
    chosen, dtype = axis(scope, operand.rank), scope.pick(("int32", "int64"))
    known = Bounds(0, scope.most_elements([shape_of(operand)[chosen]]) - 1, True)
    return scope.emit(op.argsort(operand.expr, chosen, flip(scope), dtype), known)


def draw_topk(scope: Scope) -> Value | None:
    """``topk`` of at most the static extent of an axis: values, indices or both."""
    operand = scope.tensor(
        dtypes=SORTABLE if scope.executable else NUMBERS, ranks=(1, 2, 3), static=True, where=nonempty(scope)
    )
    chosen = axis(scope, operand.rank)
    extent = int(shape_of(operand)[chosen])
    kind, dtype = scope.pick(("both", "values", "indices")), scope.pick(("int32", "int64"))
    call = op.topk(operand.expr, scope.integer(1, extent), chosen, kind, flip(scope), dtype)
    indices = Bounds(0, extent - 1, True)
    if kind != "both":
        return scope.emit(call, bounds_of(operand) if kind == "values" else indices)
    whole = scope.emit(call, None)
    field = scope.index(2)
    return scope.emit(relax.TupleGetItem(whole.expr, field), indices if field else bounds_of(operand))


def draw_bucketize(scope: Scope) -> Value | None:
    """``bucketize`` into ascending constant boundaries."""
    operand = scope.tensor(dtypes=(*WIDE_FLOATS, "int64", "int32"))
    size = scope.integer(1, 4)
    edges = [index - size // 2 for index in range(size)]
    boundaries = relax.const(np.array(edges, operand.dtype), operand.dtype)
    narrow = flip(scope)
    call = op.bucketize(operand.expr, boundaries, out_int32=narrow, right=flip(scope))
    return scope.emit(call, Bounds(0, size, True))


def draw_nonzero(scope: Scope) -> Value | None:
    """``nonzero``: indices of the elements that are not zero, one row per dimension, as many columns as there are."""
    operand = scope.tensor(dtypes=("bool", "int64", "int32", "float32"), ranks=(1, 2, 3), where=nonempty(scope))
    extent = max(scope.dim_range(dim)[1] for dim in shape_of(operand))
    return scope.emit(op.nonzero(operand.expr), Bounds(0, max(extent - 1, 0), True))


def draw_unique(scope: Scope) -> Value | None:
    """``unique``, sorted, of the flattened tensor: its values, or also the index, inverse and counts."""
    operand = scope.tensor(dtypes=("int64", "int32", "float32"), ranks=(1, 2), where=nonempty(scope))
    flags = [flip(scope) if scope.index(4) == 3 else False for _ in range(3)]
    call = op.unique(operand.expr, True, *flags)
    if not any(flags):
        return scope.emit(call, bounds_of(operand))
    whole = scope.emit(call, None)
    return scope.emit(relax.TupleGetItem(whole.expr, 0), bounds_of(operand))


def draw_multinomial(scope: Scope) -> Value | None:
    """``multinomial_from_uniform``: each draw names a category of the row of probabilities that its index names."""
    categories, batch = scope.integer(1, 4), scope.integer(1, 3)
    row = [1.0 / categories] * categories
    probability = relax.const(np.array([row] * batch, "float32"), "float32")
    samples = scope.integer(1, 4)
    uniform = scope.tensor(dtypes=("float32",), shape=(samples, 1), bounds=Bounds(0.0, 0.9375))
    index = scope.tensor(dtypes=("int64",), shape=(samples, 1), bounds=Bounds(0, batch - 1, True))
    dtype = scope.pick(("int64", "int32"))
    call = op.multinomial_from_uniform(probability, uniform.expr, index.expr, dtype)
    return scope.emit(call, Bounds(0, categories - 1, True))


def _row(name: str, family: Family, draw: Callable[[Scope], Value | None]) -> OperatorRow:
    return OperatorRow(f"relax.{name}", family, draw)


ROWS = (
    _row("cumsum", Family.SCAN, draw_cumsum),
    _row("cumprod", Family.SCAN, draw_cumprod),
    _row("sort", Family.SEARCH, draw_sort),
    _row("argsort", Family.SEARCH, draw_argsort),
    _row("topk", Family.SEARCH, draw_topk),
    _row("bucketize", Family.SEARCH, draw_bucketize),
    _row("nonzero", Family.SEARCH, draw_nonzero),
    _row("unique", Family.SEARCH, draw_unique),
    _row("multinomial_from_uniform", Family.SEARCH, draw_multinomial),
)
