"""Idioms of data movement: reshapes, layout transforms, transposes under a concatenation."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx

from strategies.bounds import Bounds
from strategies.idioms.idiom import Idiom, NearMiss
from strategies.idioms.parts import dims, elements, floats, fresh, joined, matrix, operand, relu, shaped, small, turned
from strategies.scope import Scope
from strategies.values import Value

op = relax.op

ANY = ("float32", "float64", "int32", "float16", "int8")


def _any(scope: Scope, ranks: tuple[int, ...] = (1, 2, 3)) -> Value:
    return scope.tensor(dtypes=ANY, ranks=ranks, where=lambda v: small(scope, v))


# -- reshape --------------------------------------------------------------------------------------------------------


def reshape_twice(scope: Scope) -> Value:
    """Reshape of a reshape, there and back or on to a third shape."""
    value = _any(scope)
    flat = shaped(scope, value, [elements(value)])
    if scope.index(2):
        return shaped(scope, flat, dims(value))
    return shaped(scope, flat, [1, elements(value), 1])


def reshape_to_itself(scope: Scope) -> Value:
    """Reshape to the shape that it has."""
    value = _any(scope)
    return shaped(scope, value, dims(value))


def reshape_once(scope: Scope) -> Value:
    """Reshape to another shape of as many elements."""
    value = _any(scope)
    return shaped(scope, value, [1, elements(value), 1, 1])


def reshape_around(scope: Scope) -> Value:
    """There, something else, and back."""
    value = floats(scope, ranks=(2, 3))
    flat = shaped(scope, value, [elements(value)])
    return shaped(scope, relu(scope, flat), dims(value))


def reshape_of_transpose(scope: Scope) -> Value:
    """A transpose between two reshapes: as many elements, in another order."""
    value = scope.tensor(dtypes=ANY, shape=(2, 3))
    flipped = turned(scope, shaped(scope, value, [3, 2]))
    return shaped(scope, flipped, [elements(value)])


# -- layouts --------------------------------------------------------------------------------------------------------


def _map(function: Any) -> Any:
    return tirx.IndexMap.from_func(function, index_dtype="int64")


def _laid(scope: Scope, value: Value, function: Any) -> Value:
    return scope.emit(op.layout_transform(value.expr, index_map=_map(function)), value.bounds)


def _layout_food(scope: Scope, square: bool = False) -> Value:
    def fits(value: Value) -> bool:
        return small(scope, value) and (not square or len(set(value.dims or ())) == 1)

    if square:
        side = 2 + scope.index(2)
        return scope.tensor(dtypes=("float32", "int32"), shape=(side, side))
    return scope.tensor(ranks=(2,), dtypes=("float32", "int32"), static=True, where=fits)


def layout_pair(scope: Scope) -> Value:
    """``layout_transform`` and its inverse: a transposition, or blocks of one."""
    value = _layout_food(scope)
    if scope.index(2):
        split = _laid(scope, value, lambda i, j: (i, j // 1, j % 1))
        return _laid(scope, split, lambda i, j, k: (i, j + k))
    return _laid(scope, _laid(scope, value, lambda i, j: (j, i)), lambda i, j: (j, i))


def layout_not_inverse(scope: Scope) -> Value:
    """Two transforms of a square matrix of which the second does not undo the first: the shape is the same."""
    turned_once = _laid(scope, _layout_food(scope, square=True), lambda i, j: (j, i))
    return _laid(scope, turned_once, lambda i, j: (i, j))


def layout_around(scope: Scope) -> Value:
    """A transposition, an activation, and the transposition back."""
    value = scope.tensor(ranks=(2,), dtypes=("float32",), static=True, where=lambda v: small(scope, v))
    return _laid(scope, relu(scope, _laid(scope, value, lambda i, j: (j, i))), lambda i, j: (j, i))


def layout_once(scope: Scope) -> Value:
    """One transform."""
    return _laid(scope, _layout_food(scope), lambda i, j: (j, i))


# -- concatenation --------------------------------------------------------------------------------------------------


def _concat(scope: Scope, values: list[Value], axis: int) -> Value:
    bounds = values[0].known
    for value in values[1:]:
        bounds = bounds.union(value.known)
    return scope.emit(op.concat([value.expr for value in values], axis=axis), bounds)


def concat_of_permutes(scope: Scope) -> Value:
    """``concat`` of two or three transposed tensors."""
    a = matrix(scope, ranks=(2, 2, 3))
    count = 2 + scope.index(2)
    axes = [1, 0] if a.rank == 2 else scope.pick(([0, 2, 1], [2, 0, 1], [1, 2, 0]))
    parts = [a] + [operand(scope, dims(a), a) for _ in range(count - 1)]
    spelled = a.rank == 3 or scope.index(2) == 1
    made = [turned(scope, part, axes if spelled else None) for part in parts]
    return _concat(scope, made, scope.index(a.rank))


def permutes_of_unlike_axes(scope: Scope) -> Value:
    """``concat`` of a transposed and a permuted-to-itself square matrix."""
    a = scope.tensor(dtypes=("float32",), shape=(3, 3), bounds=Bounds(-64.0, 64.0))
    return _concat(scope, [turned(scope, a, [1, 0]), turned(scope, operand(scope, (3, 3), a), [0, 1])], scope.index(2))


def one_plain(scope: Scope) -> Value:
    """``concat`` of a transposed matrix and one that is not."""
    a = matrix(scope)
    return _concat(scope, [turned(scope, a), fresh(scope, [dims(a)[1], dims(a)[0]], a.dtype)], 0)


def permutes_apart(scope: Scope) -> Value:
    """Two transposed matrices that meet in a tuple, not in a concatenation."""
    a = matrix(scope)
    return joined(scope, [turned(scope, a), turned(scope, operand(scope, dims(a), a))])


# -- kernels that are reshapes --------------------------------------------------------------------------------------


def reshaping_operators(scope: Scope) -> Value:
    """Operators that legalize to kernels which move nothing: ``reshape``, ``expand_dims``, ``squeeze``, ``flatten``."""
    value = _any(scope)
    way = scope.index(3)
    if way == 0:
        made = shaped(scope, value, [elements(value)])
    elif way == 1:
        made = scope.emit(op.expand_dims(value.expr, [0, 1 + scope.index(value.rank)]), value.bounds)
    else:
        made = scope.emit(op.flatten(value.expr), value.bounds)
    return scope.emit(op.maximum(made.expr, made.expr), value.bounds)


def transposing_operator(scope: Scope) -> Value:
    """A kernel of as many elements that moves them."""
    value = scope.tensor(dtypes=ANY, shape=(2, 3))
    made = turned(scope, value)
    return scope.emit(op.maximum(made.expr, made.expr), value.bounds)


ROWS = (
    Idiom("reshape_to_itself", reshape_to_itself, ("RemoveRedundantReshape",)),
    Idiom(
        "reshape_twice",
        reshape_twice,
        ("RemoveRedundantReshape",),
        (
            NearMiss("once", reshape_once),
            NearMiss("something_between", reshape_around),
            NearMiss("transpose_between", reshape_of_transpose),
        ),
    ),
    Idiom(
        "layout_pair",
        layout_pair,
        ("OptimizeLayoutTransform",),
        (
            NearMiss("not_inverse", layout_not_inverse, defect="compares the shapes and not the maps: drops both"),
            NearMiss("something_between", layout_around),
            NearMiss("once", layout_once),
        ),
    ),
    Idiom(
        "concat_of_permutes",
        concat_of_permutes,
        ("ReorderPermuteDimsAfterConcat",),
        (
            NearMiss("unlike_axes", permutes_of_unlike_axes),
            NearMiss("one_plain", one_plain),
            NearMiss("no_concat", permutes_apart),
        ),
    ),
    Idiom(
        "reshaping_operators",
        reshaping_operators,
        ("RewriteDataflowReshape",),
        (NearMiss("transpose", transposing_operator),),
    ),
)
