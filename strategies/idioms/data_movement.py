"""Idioms of data movement: reshapes, layout transforms, transposes under a concatenation."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx

from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import concat, floats, fresh, joined, matrix, operand, relu, shaped, small, transposed
from strategies.scope.bounds import Bounds
from strategies.scope.scope import Scope
from strategies.scope.values import Value, elements

op = relax.op

ANY = ("float32", "float64", "int32", "float16", "int8")

TABLE = IdiomTable()


@TABLE.idiom("RemoveRedundantReshape")
def reshape_to_itself(scope: Scope) -> Value:
    """Plant reshape to the shape that it has."""
    value = _any(scope)
    return shaped(scope, value, value.shape)


def _any(scope: Scope, ranks: tuple[int, ...] = (1, 2, 3)) -> Value:
    return scope.tensor(dtypes=ANY, ranks=ranks, where=lambda v: small(scope, v))


@TABLE.idiom("RemoveRedundantReshape")
def reshape_twice(scope: Scope) -> Value:
    """Plant reshape of a reshape, there and back or on to a third shape."""
    value = _any(scope)
    flat = shaped(scope, value, [elements(value)])
    if scope.index(2):
        return shaped(scope, flat, value.shape)
    return shaped(scope, flat, [1, elements(value), 1])


@TABLE.near_miss("once")
def reshape_once(scope: Scope) -> Value:
    """Plant reshape to another shape of as many elements."""
    value = _any(scope)
    return shaped(scope, value, [1, elements(value), 1, 1])


@TABLE.near_miss("something_between")
def reshape_around(scope: Scope) -> Value:
    """Plant a reshape, something else, and the reshape back."""
    value = floats(scope, ranks=(2, 3))
    flat = shaped(scope, value, [elements(value)])
    return shaped(scope, relu(scope, flat), value.shape)


@TABLE.near_miss("transpose_between")
def reshape_of_transpose(scope: Scope) -> Value:
    """Plant a transpose between two reshapes: as many elements, in another order."""
    value = scope.tensor(dtypes=ANY, shape=(2, 3))
    flipped = transposed(scope, shaped(scope, value, [3, 2]))
    return shaped(scope, flipped, [elements(value)])


def _laid(scope: Scope, value: Value, function: Any) -> Value:
    return scope.emit(
        op.layout_transform(value.expr, index_map=(tirx.IndexMap.from_func(function, index_dtype="int64"))),
        value.bounds,
    )


def _layout_operand(scope: Scope, square: bool = False) -> Value:
    if square:
        side = 2 + scope.index(2)
        return scope.tensor(dtypes=("float32", "int32"), shape=(side, side))
    return scope.tensor(ranks=(2,), dtypes=("float32", "int32"), static=True, where=lambda v: small(scope, v))


@TABLE.idiom("OptimizeLayoutTransform")
def layout_pair(scope: Scope) -> Value:
    """Plant ``layout_transform`` and its inverse: a transposition, or blocks of one."""
    value = _layout_operand(scope)
    if scope.index(2):
        split = _laid(scope, value, lambda i, j: (i, j // 1, j % 1))
        return _laid(scope, split, lambda i, j, k: (i, j + k))
    return _laid(scope, _laid(scope, value, lambda i, j: (j, i)), lambda i, j: (j, i))


@TABLE.near_miss("not_inverse", defect="compares the shapes and not the maps: drops both")
def layout_not_inverse(scope: Scope) -> Value:
    """Plant two transforms of a square matrix of which the second does not undo the first: the shape is the same."""
    turned_once = _laid(scope, _layout_operand(scope, square=True), lambda i, j: (j, i))
    return _laid(scope, turned_once, lambda i, j: (i, j))


@TABLE.near_miss("something_between")
def layout_around(scope: Scope) -> Value:
    """Plant a transposition, an activation, and the transposition back."""
    value = scope.tensor(ranks=(2,), dtypes=("float32",), static=True, where=lambda v: small(scope, v))
    return _laid(scope, relu(scope, _laid(scope, value, lambda i, j: (j, i))), lambda i, j: (j, i))


@TABLE.near_miss("once")
def layout_once(scope: Scope) -> Value:
    """Plant one transform."""
    return _laid(scope, _layout_operand(scope), lambda i, j: (j, i))


@TABLE.idiom("ReorderPermuteDimsAfterConcat")
def concat_of_permutes(scope: Scope) -> Value:
    """Plant ``concat`` of two or three transposed tensors."""
    a = matrix(scope, ranks=(2, 2, 3))
    count = 2 + scope.index(2)
    axes = [1, 0] if a.rank == 2 else scope.pick(([0, 2, 1], [2, 0, 1], [1, 2, 0]))
    parts = [a] + [operand(scope, a.shape, a) for _ in range(count - 1)]
    spelled = a.rank == 3 or scope.index(2) == 1
    made = [transposed(scope, part, axes if spelled else None) for part in parts]
    return concat(scope, made, scope.index(a.rank))


@TABLE.near_miss("unlike_axes")
def permutes_of_unlike_axes(scope: Scope) -> Value:
    """Plant ``concat`` of a transposed and a permuted-to-itself square matrix."""
    a = scope.tensor(dtypes=("float32",), shape=(3, 3), bounds=Bounds(-64.0, 64.0))
    return concat(
        scope, [transposed(scope, a, [1, 0]), transposed(scope, operand(scope, (3, 3), a), [0, 1])], scope.index(2)
    )


@TABLE.near_miss("one_plain")
def one_plain(scope: Scope) -> Value:
    """Plant ``concat`` of a transposed matrix and one that is not."""
    a = matrix(scope)
    return concat(scope, [transposed(scope, a), fresh(scope, [a.shape[1], a.shape[0]], a.dtype)], 0)


@TABLE.near_miss("no_concat")
def permutes_apart(scope: Scope) -> Value:
    """Plant two transposed matrices that meet in a tuple, not in a concatenation."""
    a = matrix(scope)
    return joined(scope, [transposed(scope, a), transposed(scope, operand(scope, a.shape, a))])


@TABLE.idiom("RewriteDataflowReshape")
def reshaping_operators(scope: Scope) -> Value:
    """Plant operators that legalize to kernels which move nothing: ``reshape``, ``expand_dims``, ``flatten``."""
    value = _any(scope)
    way = scope.index(3)
    if way == 0:
        made = shaped(scope, value, [elements(value)])
    elif way == 1:
        made = scope.emit(op.expand_dims(value.expr, [0, 1 + scope.index(value.rank)]), value.bounds)
    else:
        made = scope.emit(op.flatten(value.expr), value.bounds)
    return scope.emit(op.maximum(made.expr, made.expr), value.bounds)


@TABLE.near_miss("transpose")
def transposing_operator(scope: Scope) -> Value:
    """Plant a kernel of as many elements that moves them."""
    value = scope.tensor(dtypes=ANY, shape=(2, 3))
    made = transposed(scope, value)
    return scope.emit(op.maximum(made.expr, made.expr), value.bounds)
