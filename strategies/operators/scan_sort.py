"""Scans, sorts, bucketing, and operators whose result is as long as the data says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from tvm import relax

from strategies.bounds import BFLOAT, LOW_PRECISION, Bounds, default_bounds, dtype_bounds, is_float
from strategies.features import Feature
from strategies.operators.drawing import (
    ANY_NUMBERS,
    NUMBERS,
    SOME_RANK,
    axis,
    bounds_of,
    emit,
    flip,
    keep,
    nonempty,
    project,
    read_bounds,
    shape_of,
)
from strategies.operators.reduce import FEW, SORTABLE
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op


def _operand(scope: Scope, dtypes: tuple[str, ...], more: tuple[str, ...] = ()) -> Value:
    accepted = dtypes if scope.executable else dtypes + tuple(dtype for dtype in more if dtype not in dtypes)
    return scope.tensor(dtypes=accepted, ranks=SOME_RANK, where=nonempty(scope))


def _scan_axis(scope: Scope, value: Value) -> int:
    """An axis to scan along: the last one of a tensor with two symbolic dims or more.

    TVM defect: along another, the kernel's index arithmetic takes the compiler 3 s for (3, n, n) and minutes for
    (3, n, n, n).
    """
    symbolic = sum(not isinstance(dim, int) for dim in shape_of(value))
    return -1 if symbolic > 1 else axis(scope, value.rank)


def _scan_dtype(scope: Scope, dtype: str) -> str | None:
    """The dtype to scan in: mostly not given; else one that holds all that the operand's dtype does."""
    if dtype != "bool" and scope.index(3) < 2:
        return None
    if is_float(dtype):
        wider = ("float64", "float32", "float16", "bfloat16")
        return scope.pick_dtype(wider if dtype in LOW_PRECISION else wider[:2])
    return scope.pick_dtype(("int64", "int32", "float32", "float64"))


def _scanned(scope: Scope, operand: Value) -> tuple[int | None, int]:
    """The axis to scan along, ``None`` for the flattened tensor, and how many elements are scanned at most."""
    dims = shape_of(operand)
    chosen = None if operand.is_static and scope.index(3) == 2 else _scan_axis(scope, operand)
    return chosen, scope.most_elements(dims if chosen is None else [dims[chosen]])


def draw_cumsum(scope: Scope) -> Value | None:
    """``cumsum`` along one axis or over the flattened tensor, exclusive or not, in its own dtype or a wider one."""
    operand = _operand(scope, (*ANY_NUMBERS, "bool"))
    dtype = _scan_dtype(scope, operand.dtype)
    chosen, elements = _scanned(scope, operand)
    made = dtype or operand.dtype
    limit, domain = dtype_bounds(made), default_bounds(operand.dtype)
    if elements > FEW.get(made, elements):
        return None
    if elements * read_bounds(operand).magnitude > limit.hi:
        operand = keep(scope, operand, domain.lo, domain.hi)
    known = read_bounds(operand).up_to(elements)
    if known.hi > limit.hi or known.lo < limit.lo:
        return None
    return emit(scope, op.cumsum(operand.expr, chosen, dtype, flip(scope)), known, made, steps=elements + 2)


def draw_cumprod(scope: Scope) -> Value | None:
    """``cumprod`` of factors of magnitude at most 2 over at most 6 of them, else at most 1."""
    operand = _operand(scope, (*ANY_NUMBERS, "bool"))
    dtype = _scan_dtype(scope, operand.dtype)
    chosen, elements = _scanned(scope, operand)
    made = dtype or operand.dtype
    if elements > FEW.get(made, elements):
        return None
    bound = 2 if elements <= 6 else 1
    if operand.dtype != "bool":
        operand = keep(scope, operand, 0 if operand.dtype.startswith("uint") else -bound, bound)
    size = float(bound) ** elements
    known = Bounds(-size if read_bounds(operand).lo < 0 else 0, size, read_bounds(operand).integral)
    return emit(scope, op.cumprod(operand.expr, chosen, dtype, flip(scope)), known, made, steps=elements + 2)


def draw_sort(scope: Scope) -> Value | None:
    """``sort`` along one axis: equal elements cannot be told apart, so its result is determined."""
    operand = _operand(scope, SORTABLE, (*NUMBERS, "bool"))
    call = op.sort(operand.expr, axis(scope, operand.rank), flip(scope))
    return scope.emit(call, bounds_of(operand))


def draw_argsort(scope: Scope) -> Value | None:
    """``argsort``: the CPU sort is stable, so equal elements keep their order."""
    operand = _operand(scope, SORTABLE, (*NUMBERS, "bool"))
    chosen, dtype = axis(scope, operand.rank), scope.pick(("int32", "int64"))
    known = Bounds(0, scope.most_elements([shape_of(operand)[chosen]]) - 1, True)
    return scope.emit(op.argsort(operand.expr, chosen, flip(scope), dtype), known)


def draw_topk(scope: Scope) -> Value | None:
    """``topk`` of at most the least extent of an axis, or of all (0 and -1 say so): values, indices or both."""
    operand = _operand(scope, SORTABLE, (*NUMBERS, "bool"))
    chosen = axis(scope, operand.rank)
    low, high = scope.dim_range(shape_of(operand)[chosen])
    kind, dtype = scope.pick(("both", "values", "indices")), scope.pick(("int32", "int64"))
    count = scope.integer(-1, 0) if low == high and scope.index(6) == 5 else scope.integer(1, min(low, 64))
    call = op.topk(operand.expr, count, chosen, kind, flip(scope), dtype)
    indices = Bounds(0, high - 1, True)
    if kind != "both":
        return scope.emit(call, bounds_of(operand) if kind == "values" else indices)
    return project(scope, call, [bounds_of(operand), indices])


def draw_bucketize(scope: Scope) -> Value | None:
    """``bucketize`` into ascending constant boundaries."""
    # TVM defect: the search of no elements divides by an extent of zero.
    operand = scope.tensor(dtypes=ANY_NUMBERS, where=nonempty(scope))
    size = scope.integer(1, 4)
    least = 0 if operand.dtype.startswith("uint") else -(size // 2)
    edges = [least + index for index in range(size)]
    boundaries = relax.const(np.array(edges).astype(operand.dtype), operand.dtype)
    narrow = flip(scope)
    call = op.bucketize(operand.expr, boundaries, out_int32=narrow, right=flip(scope))
    return scope.emit(call, Bounds(0, size, True))


def draw_nonzero(scope: Scope) -> Value | None:
    """``nonzero``: indices of the elements that are not zero, one row per dimension, as many columns as there are."""
    operand = scope.tensor(dtypes=(*NUMBERS, "bool", *BFLOAT), where=nonempty(scope))
    extent = max((scope.dim_range(dim)[1] for dim in shape_of(operand)), default=1)
    return scope.emit(op.nonzero(operand.expr), Bounds(0, max(extent - 1, 0), True))


def draw_unique(scope: Scope) -> Value | None:
    """``unique`` of the flattened tensor or along an axis, sorted or not: values, or also index, inverse, counts."""
    operand = scope.tensor(dtypes=(*NUMBERS, "bool"), where=nonempty(scope))
    where = axis(scope, operand.rank) if operand.rank and scope.index(3) == 2 else None
    flags = [bool(operand.rank) and scope.index(6) == 5 for _ in range(3)]
    if scope.executable and where is None and operand.rank > 1:
        # TVM defect: NumPy 2 gives the inverse of the flattened tensor in the tensor's shape, declared is a vector.
        flags[1] = False
    call = op.unique(operand.expr, scope.index(4) < 3, *flags, axis=where)
    if not any(flags):
        return scope.emit(call, bounds_of(operand))
    extent = scope.most_elements(shape_of(operand))
    indices = [Bounds(0, extent - 1, True), Bounds(0, extent - 1, True), Bounds(1, extent, True)]
    parts = [bounds_of(operand), *(known for known, flag in zip(indices, flags, strict=True) if flag)]
    return project(scope, call, parts)


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
    OperatorRow("relax.nonzero", Family.SEARCH, draw_nonzero, feature=Feature.DATA_DEPENDENT),
    OperatorRow("relax.unique", Family.SEARCH, draw_unique, feature=Feature.DATA_DEPENDENT),
    _row("multinomial_from_uniform", Family.SEARCH, draw_multinomial),
)
