"""Idioms of matmuls whose operands have any rank, from vectors to batches that broadcast, and any order of dims."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import added, concat, fresh, joined, product, relu, transposed, width
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

op = relax.op

TABLE = IdiomTable()

_RANKS = (2, 1, 3, 2, 4)


def _dim(scope: Scope) -> Dim:
    way = scope.index(8)
    if way == 7 and scope.has(Feature.SYMBOLIC_SHAPES) and scope.can_add_parameter():
        return scope.symbol()
    return 1 if way == 6 else width(scope)


def _batch(scope: Scope, rank: int) -> list[Dim]:
    """Draw leading dims that broadcast with those of any other operand."""
    return [scope.pick((1, 2, 2)) for _ in range(rank - 2)]


def _operand(scope: Scope, matrix: Sequence[Dim], dtype: str = "float32", rank: int = 0) -> Value:
    """Draw a new operand of a shape's last dims behind drawn leading ones; once in three times permuted into it."""
    rank = rank or scope.pick(_RANKS)
    shape = [*_batch(scope, rank), *matrix[-min(rank, 2) :]]
    if scope.index(3) < 2:
        return fresh(scope, shape, dtype)
    order = scope.permutation(rank)
    source: list[Dim] = [0] * rank
    for place, axis in enumerate(order):
        source[axis] = shape[place]
    negative = [axis - rank for axis in order]
    return transposed(scope, fresh(scope, source, dtype), scope.pick((order, negative)))


@TABLE.idiom(also_for=("AdjustMatmulOrder", "FuseTransposeMatmul"))
def chain_of_ranks(scope: Scope) -> Value:
    """Plant ``(x @ y) @ z`` or ``x @ (y @ z)`` with vectors at its ends, batches and permuted operands, and sometimes
    the product of two of them permuted."""
    a, b, c, d = (_dim(scope) for _ in range(4))
    rank = scope.pick(_RANKS)
    x, y = _operand(scope, [a, b]), _operand(scope, [b, c], rank=2 if rank == 1 else scope.pick((2, 3, 2, 4)))
    z = fresh(scope, [c], "float32") if rank == 1 else _operand(scope, [c, d], rank=rank)
    if scope.index(2):
        return product(scope, x, product(scope, y, z))
    left = product(scope, x, y)
    if left.rank == 2 and z.rank == 2 and scope.index(4) == 3:
        return product(scope, transposed(scope, z), transposed(scope, left))
    return product(scope, left, z)


@TABLE.idiom(also_for=("CombineParallelMatmul",))
def parallel_of_ranks(scope: Scope) -> Value:
    """Plant products of one operand, a vector or a batch too, with others of several ranks, some with a bias."""
    inner = _dim(scope)
    x = _operand(scope, [_dim(scope), inner])
    made = []
    for _ in range(2 + scope.index(2)):
        columns = _dim(scope)
        right = _operand(scope, [inner, columns] if scope.index(4) else [inner, 2])
        if right.rank == 1:
            right = fresh(scope, [inner], "float32")
        out = product(scope, x, right)
        way = scope.index(4)
        if way >= 2 and out.rank:
            bias = [out.shape[-1], *out.shape][-scope.integer(1, 2) :] if out.rank == 1 else out.shape[-1:]
            out = added(scope, out, fresh(scope, bias[-1:], "float32"))
        made.append(relu(scope, out) if way == 3 else out)
    return joined(scope, made)


@TABLE.idiom(also_for=("ExpandMatmulOfSum",))
def sum_of_ranks(scope: Scope) -> Value:
    """Plant ``x @ (a + b)`` with summands of several ranks that broadcast."""
    inner, columns = _dim(scope), _dim(scope)
    x = _operand(scope, [_dim(scope), inner])
    full = fresh(scope, [*_batch(scope, scope.pick((2, 3, 2))), inner, columns], "float32")
    part = scope.pick(([inner, columns], [columns], [1, columns], [inner, 1], []))
    other = fresh(scope, part, "float32")
    return product(scope, x, added(scope, *((full, other) if scope.index(2) else (other, full))))


@TABLE.idiom(also_for=("ReorderTakeAfterMatmul",))
def take_of_ranks(scope: Scope) -> Value:
    """Plant ``x @ take(w, i)`` with operands and indices of several ranks, along any axis."""
    inner = width(scope)
    x = _operand(scope, [_dim(scope), inner])
    rank = scope.integer(1, 3)
    axis = scope.index(rank)
    shape: list[Dim] = [*_batch(scope, max(rank, 2)), inner, width(scope)][-rank:] if rank > 1 else [inner]
    taken = list(shape)
    # Along a leading axis as many as broadcast with the batches of the other operand.
    count = inner if axis == max(rank - 2, 0) else 1 + scope.index(3 if axis == rank - 1 else 2)
    shape[axis] = 4
    indices = [[count], [1, count]][scope.index(4) == 3 and rank == 2 and axis == 0]
    taken[axis : axis + 1] = indices
    which = fresh(scope, indices, scope.pick(("int64", "int32")), Bounds(0, 3, True))
    table = fresh(scope, shape, "float32")
    made = scope.emit(op.take(table.expr, which.expr, axis=axis - rank * scope.index(2)), table.bounds)
    return product(scope, x, made)


@TABLE.idiom(also_for=("ReorderPermuteDimsAfterConcat",))
def concat_of_ranks(scope: Scope) -> Value:
    """Plant ``concat`` of permuted tensors of any rank, along any axis, whose orders are the same or not."""
    rank = scope.integer(1, 4)
    shape = [width(scope) for _ in range(rank)]
    order = scope.permutation(rank)
    axis = scope.index(rank)
    parts = []
    for _ in range(2 + scope.index(3)):
        mine = scope.permutation(rank) if scope.index(6) == 5 else order
        wanted = [1 + scope.index(3) if place == axis else dim for place, dim in enumerate(shape)]
        source = [0] * rank
        for place, each in enumerate(mine):
            source[each] = wanted[place]
        named = [each - rank for each in mine] if scope.index(4) == 3 else mine
        parts.append(transposed(scope, fresh(scope, source, "float32"), named))
    return concat(scope, parts, axis - rank * scope.index(2))
