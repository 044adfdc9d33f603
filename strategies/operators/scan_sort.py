"""Scans, sorts, bucketing, and operators whose result is as long as the data says."""

from __future__ import annotations

import numpy as np
from tvm import relax

from strategies.operators.drawing import ANY_NUMBERS, NUMBERS, SOME_RANK, project
from strategies.operators.reduce import FEW, SORTABLE
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import BFLOAT, LOW_PRECISION, Bounds, default_bounds, dtype_bounds, holds, is_float
from strategies.scope.features import Feature
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.SEARCH)

op = relax.op


def _operand(scope: Scope, dtypes: tuple[str, ...], more: tuple[str, ...] = ()) -> Value:
    accepted = dtypes if scope.executable else dtypes + tuple(dtype for dtype in more if dtype not in dtypes)
    return scope.tensor(dtypes=accepted, ranks=SOME_RANK, where=scope.nonempty)


def _scan_axis(scope: Scope, value: Value) -> int:
    """Draw an axis to scan along: the last one of a tensor with two symbolic dims or more.

    TVM defect: along another, the kernel takes the compiler 3 s for (3, n, n) and minutes for (3, n, n, n).
    """
    symbolic = sum(not isinstance(dim, int) for dim in value.shape)
    return -1 if symbolic > 1 else scope.axis(value.rank)


def _scan_dtype(scope: Scope, dtype: str) -> str | None:
    """Return the dtype to scan in: mostly not given; else one that holds all that the operand's dtype does."""
    if dtype != "bool" and scope.index(3) < 2:
        return None
    if is_float(dtype):
        wider = ("float64", "float32", "float16", "bfloat16")
        return scope.pick_dtype(wider if dtype in LOW_PRECISION else wider[:2])
    return scope.pick_dtype(("int64", "int32", "float32", "float64"))


def _scanned(scope: Scope, operand: Value) -> tuple[int | None, int]:
    """Return the axis to scan along, ``None`` for the flattened tensor, and how many elements are scanned at most."""
    dims = operand.shape
    chosen = None if operand.is_static and scope.index(3) == 2 else _scan_axis(scope, operand)
    return chosen, scope.most_elements(dims if chosen is None else [dims[chosen]])


@ROWS.row("cumsum", OperatorFamily.SCAN)
def draw_cumsum(scope: Scope) -> Value | None:
    """Draw ``cumsum`` along an axis or over the flattened tensor, exclusive or not, in its own dtype or a wider one."""
    operand = _operand(scope, (*ANY_NUMBERS, "bool"))
    dtype = _scan_dtype(scope, operand.dtype)
    chosen, elements = _scanned(scope, operand)
    made = dtype or operand.dtype
    if elements > FEW.get(made, elements):
        return None
    if elements * operand.read_bounds.magnitude > dtype_bounds(made).hi:
        domain = default_bounds(operand.dtype)
        operand = scope.keep(operand, domain.lo, domain.hi)
    known = operand.read_bounds.up_to(elements)
    if not holds(made, known):
        return None
    return scope.emit_rounded(op.cumsum(operand.expr, chosen, dtype, scope.flip()), known, made, steps=elements + 2)


@ROWS.row("cumprod", OperatorFamily.SCAN)
def draw_cumprod(scope: Scope) -> Value | None:
    """Draw ``cumprod`` of factors of magnitude at most 2 over at most 6 of them, else at most 1."""
    operand = _operand(scope, (*ANY_NUMBERS, "bool"))
    dtype = _scan_dtype(scope, operand.dtype)
    chosen, elements = _scanned(scope, operand)
    made = dtype or operand.dtype
    if elements > FEW.get(made, elements):
        return None
    bound = 2 if elements <= 6 else 1
    if operand.dtype != "bool":
        operand = scope.keep(operand, 0 if operand.dtype.startswith("uint") else -bound, bound)
    size = float(bound) ** elements
    known = Bounds(-size if operand.read_bounds.lo < 0 else 0, size, operand.read_bounds.integral)
    return scope.emit_rounded(op.cumprod(operand.expr, chosen, dtype, scope.flip()), known, made, steps=elements + 2)


@ROWS.row("sort")
def draw_sort(scope: Scope) -> Value | None:
    """Draw ``sort`` along one axis: equal elements cannot be told apart, so its result is determined."""
    operand = _operand(scope, SORTABLE, (*NUMBERS, "bool"))
    call = op.sort(operand.expr, scope.axis(operand.rank), scope.flip())
    return scope.emit(call, operand.known)


@ROWS.row("argsort")
def draw_argsort(scope: Scope) -> Value | None:
    """Draw ``argsort``: the CPU sort is stable, so equal elements keep their order."""
    operand = _operand(scope, SORTABLE, (*NUMBERS, "bool"))
    chosen, dtype = scope.axis(operand.rank), scope.pick(("int32", "int64"))
    known = Bounds(0, scope.most_elements([operand.shape[chosen]]) - 1, True)
    return scope.emit(op.argsort(operand.expr, chosen, scope.flip(), dtype), known)


@ROWS.row("topk")
def draw_topk(scope: Scope) -> Value | None:
    """Draw ``topk`` of at most the least extent of an axis, or of all (0 and -1 say so): values, indices or both."""
    operand = _operand(scope, SORTABLE, (*NUMBERS, "bool"))
    chosen = scope.axis(operand.rank)
    low, high = scope.dim_range(operand.shape[chosen])
    kind, dtype = scope.pick(("both", "values", "indices")), scope.pick(("int32", "int64"))
    count = scope.integer(-1, 0) if low == high and scope.index(6) == 5 else scope.integer(1, min(low, 64))
    call = op.topk(operand.expr, count, chosen, kind, scope.flip(), dtype)
    indices = Bounds(0, high - 1, True)
    if kind != "both":
        return scope.emit(call, operand.known if kind == "values" else indices)
    return project(scope, call, [operand.known, indices])


@ROWS.row("bucketize")
def draw_bucketize(scope: Scope) -> Value | None:
    """Draw ``bucketize`` into ascending constant boundaries."""
    # TVM defect: the search of no elements divides by an extent of zero.
    operand = scope.tensor(dtypes=ANY_NUMBERS, where=scope.nonempty)
    size = scope.integer(1, 4)
    least = 0 if operand.dtype.startswith("uint") else -(size // 2)
    edges = [least + index for index in range(size)]
    boundaries = relax.const(np.array(edges).astype(operand.dtype), operand.dtype)
    narrow = scope.flip()
    call = op.bucketize(operand.expr, boundaries, out_int32=narrow, right=scope.flip())
    return scope.emit(call, Bounds(0, size, True))


@ROWS.row("nonzero", feature=Feature.DATA_DEPENDENT)
def draw_nonzero(scope: Scope) -> Value | None:
    """Draw ``nonzero``: indices of the elements that are not zero, a row for each dim, a column for each of them."""
    operand = scope.tensor(dtypes=(*NUMBERS, "bool", *BFLOAT), where=scope.nonempty)
    extent = max((scope.dim_range(dim)[1] for dim in operand.shape), default=1)
    return scope.emit(op.nonzero(operand.expr), Bounds(0, max(extent - 1, 0), True))


@ROWS.row("unique", feature=Feature.DATA_DEPENDENT)
def draw_unique(scope: Scope) -> Value | None:
    """Draw ``unique`` of the flattened tensor or along an axis: values, or also index, inverse, counts."""
    operand = scope.tensor(dtypes=(*NUMBERS, "bool"), where=scope.nonempty)
    where = scope.axis(operand.rank) if operand.rank and scope.index(3) == 2 else None
    flags = [bool(operand.rank) and scope.index(6) == 5 for _ in range(3)]
    if scope.executable and where is None and operand.rank > 1:
        # TVM defect: NumPy 2 gives the inverse of the flattened tensor in the tensor's shape, declared is a vector.
        flags[1] = False
    call = op.unique(operand.expr, scope.index(4) < 3, *flags, axis=where)
    if not any(flags):
        return scope.emit(call, operand.known)
    extent = scope.most_elements(operand.shape)
    indices = [Bounds(0, extent - 1, True), Bounds(0, extent - 1, True), Bounds(1, extent, True)]
    parts = [operand.known, *(known for known, flag in zip(indices, flags, strict=True) if flag)]
    return project(scope, call, parts)


@ROWS.row("multinomial_from_uniform")
def draw_multinomial(scope: Scope) -> Value | None:
    """Draw ``multinomial_from_uniform``: each draw names a category of the row of probabilities that it indexes."""
    categories, batch = scope.integer(1, 4), scope.integer(1, 3)
    row = [1.0 / categories] * categories
    probability = relax.const(np.array([row] * batch, "float32"), "float32")
    samples = scope.integer(1, 4)
    uniform = scope.tensor(dtypes=("float32",), shape=(samples, 1), bounds=Bounds(0.0, 0.9375))
    index = scope.tensor(dtypes=("int64",), shape=(samples, 1), bounds=Bounds(0, batch - 1, True))
    dtype = scope.pick(("int64", "int32"))
    call = op.multinomial_from_uniform(probability, uniform.expr, index.expr, dtype)
    return scope.emit(call, Bounds(0, categories - 1, True))
