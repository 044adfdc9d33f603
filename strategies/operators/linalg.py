"""Matrix products, einsum, outer product and sums that undo a broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import Bounds, default_bounds, dtype_bounds
from strategies.operators.drawing import (
    FLOATS,
    NUMBERS,
    SIGNED,
    bounds_of,
    emit,
    keep,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op


def product_sum(scope: Scope, left: Value, right: Value, terms: int, dtype: str) -> tuple[Value, Value, Bounds] | None:
    """Guard two operands so that a sum of ``terms`` products stays within ``dtype``; ``None`` when it cannot."""
    limit = dtype_bounds(dtype)
    for attempt in range(2):
        known = (bounds_of(left) * bounds_of(right)).up_to(max(terms, 1))
        if limit.lo <= known.lo and known.hi <= limit.hi:
            return left, right, known
        if attempt == 0:
            domain = default_bounds(left.dtype)
            left = keep(scope, left, domain.lo, domain.hi)
            right = keep(scope, right, domain.lo, domain.hi)
    return None


def draw_matmul(scope: Scope) -> Value | None:
    """``matmul`` of vectors, matrices and batches, with broadcast batches, in a wider or the same output dtype."""
    left = scope.tensor(dtypes=(*FLOATS, *SIGNED), ranks=(2, 3, 1, 4))
    dims = shape_of(left)
    inner = dims[-1]
    way = scope.index(8)
    if way == 7:
        shape: tuple[Any, ...] = (inner,)
    elif way >= 5 and left.rank > 2:
        shape = (*dims[:-2], inner, scope.small_dim())
    elif way == 4:
        shape = (scope.integer(1, 2) if left.rank == 2 else 1, inner, scope.small_dim())
    elif way == 3 and left.rank >= 2 and len(dims) == 2 and dims[0] is dims[1]:
        shape = dims
    else:
        shape = (inner, scope.small_dim())
    right = scope.tensor(dtypes=(left.dtype,), shape=shape)
    out = left.dtype
    if scope.index(4) == 3:
        out = {"float16": "float32", "int8": "int32", "int16": "int32"}.get(out, out)
    guarded = product_sum(scope, left, right, scope.most_elements([inner]), out)
    if guarded is None:
        return None
    left, right, known = guarded
    call = op.matmul(left.expr, right.expr, None if out == left.dtype else out)
    return emit(scope, call, known, out)


def draw_linear_chain(scope: Scope) -> Value | None:
    """``x @ permute_dims(w)``, as ``nn.linear`` writes it."""
    left = scope.tensor(dtypes=FLOATS, ranks=(2, 3))
    inner = shape_of(left)[-1]
    weight = scope.tensor(dtypes=(left.dtype,), shape=(scope.small_dim(), inner))
    guarded = product_sum(scope, left, weight, scope.most_elements([inner]), left.dtype)
    if guarded is None:
        return None
    left, weight, known = guarded
    turned = scope.emit(op.permute_dims(weight.expr), bounds_of(weight))
    return emit(scope, op.matmul(left.expr, turned.expr), known, left.dtype)


EINSUMS = (
    ("ij,jk->ik", 2, "jk"),
    ("ij,kj->ik", 2, "kj"),
    ("ij,ij->ij", 2, "ij"),
    ("ij,ij->", 2, "ij"),
    ("ij->ji", 2, None),
    ("ij->i", 2, None),
    ("bij,bjk->bik", 3, "bjk"),
    ("i,j->ij", 1, "j"),
    ("i,i->", 1, "i"),
)
"""Subscripts, rank of the first operand, letters of the second (``None``: there is no second)."""


def draw_einsum(scope: Scope) -> Value | None:
    """``einsum`` over static shapes, which is what the inference computes."""
    subscripts, rank, letters = scope.pick(EINSUMS)
    left = scope.tensor(dtypes=NUMBERS, ranks=(rank,), static=True, where=lambda value: 0 not in shape_of(value))
    sizes = dict(zip(subscripts, shape_of(left), strict=False))
    if letters is None:
        terms = int(sizes["j"])
        domain = default_bounds(left.dtype)
        if terms * bounds_of(left).magnitude > dtype_bounds(left.dtype).hi:
            left = keep(scope, left, domain.lo, domain.hi)
        return emit(scope, op.einsum([left.expr], subscripts), bounds_of(left).up_to(terms), left.dtype)
    for letter in letters:
        sizes.setdefault(letter, scope.integer(1, 4))
    right = scope.tensor(dtypes=(left.dtype,), shape=tuple(sizes[letter] for letter in letters))
    terms = 1
    result = subscripts.partition("->")[2]
    for letter, size in sizes.items():
        if letter not in result:
            terms *= int(size)
    guarded = product_sum(scope, left, right, terms, left.dtype)
    if guarded is None:
        return None
    left, right, known = guarded
    return emit(scope, op.einsum([left.expr, right.expr], subscripts), known, left.dtype)


def draw_outer(scope: Scope) -> Value | None:
    """``outer`` product of two vectors."""
    left = scope.tensor(dtypes=NUMBERS, ranks=(1,))
    right = scope.tensor(dtypes=(left.dtype,), ranks=(1,))
    guarded = product_sum(scope, left, right, 1, left.dtype)
    if guarded is None:
        return None
    left, right, known = guarded
    return emit(scope, op.outer(left.expr, right.expr), known, left.dtype)


def _collapsed(scope: Scope, operand: Value) -> tuple[tuple[Any, ...], int]:
    """A shape that broadcasts to the operand's, and how many elements are summed into one."""
    dims = list(shape_of(operand))
    drop = scope.index(len(dims))
    kept = [1 if scope.index(2) else dim for dim in dims[drop:]]
    summed = dims[:drop] + [dim for dim, left in zip(dims[drop:], kept, strict=True) if dim is not left]
    return tuple(kept), max(scope.most_elements(summed), 1)


def _draw_collapse(by_shape: bool) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        operand = scope.tensor(dtypes=NUMBERS, ranks=(1, 2, 3))
        shape, elements = _collapsed(scope, operand)
        limit, domain = dtype_bounds(operand.dtype), default_bounds(operand.dtype)
        if elements * bounds_of(operand).magnitude > limit.hi:
            operand = keep(scope, operand, domain.lo, domain.hi)
        known = bounds_of(operand).up_to(elements)
        if known.hi > limit.hi or known.lo < limit.lo:
            return None
        if by_shape:
            return emit(scope, op.collapse_sum_to(operand.expr, scope.shape_expr(shape)), known, operand.dtype)
        like = scope.tensor(dtypes=(operand.dtype,), shape=shape)
        return emit(scope, op.collapse_sum_like(operand.expr, like.expr), known, operand.dtype)

    return draw


def _matmul(scope: Scope) -> Value | None:
    return draw_linear_chain(scope) if scope.index(4) == 3 else draw_matmul(scope)


ROWS = (
    OperatorRow("relax.matmul", Family.LINALG, _matmul),
    OperatorRow("relax.einsum", Family.LINALG, draw_einsum),
    OperatorRow("relax.outer", Family.LINALG, draw_outer),
    OperatorRow("relax.collapse_sum_to", Family.LINALG, _draw_collapse(True)),
    OperatorRow("relax.collapse_sum_like", Family.LINALG, _draw_collapse(False)),
)
