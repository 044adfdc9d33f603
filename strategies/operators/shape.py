"""Operators that move elements about or change the shape, and leave the values as they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from tvm import relax, tirx

from strategies.operators import intervals
from strategies.operators.drawing import ANY, FEW_RANKS, MATRIX_UP, SOME_RANK, project
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import FLOAT8, Bounds, is_float, union_of
from strategies.scope.features import Feature
from strategies.scope.scope import Scope, Value
from strategies.scope.values import same_dim, same_dims

ROWS = Rows(OperatorFamily.SHAPE)

op = relax.op


def _keeping(scope: Scope, expr: Any, value: Value) -> Value:
    return scope.emit(expr, value.known)


@ROWS.row("permute_dims", bounds=intervals.moved)
def draw_permute_dims(scope: Scope) -> Value | None:
    """Draw ``permute_dims`` by a drawn permutation, or by none given: reversed."""
    operand = scope.tensor(dtypes=ANY)
    order = None if scope.index(4) == 3 else scope.permutation(operand.rank)
    if order is not None and scope.index(4) == 3:
        order = [index - operand.rank * (not scope.aimed or scope.flip()) for index in order]
    return _keeping(scope, op.permute_dims(operand.expr, order), operand)


def factorings(count: int, limit: int = 12) -> list[tuple[int, ...]]:
    """Return static shapes of ``count`` elements, 1 or more, and up to three dims, the simplest first.

    Of 1, 2 and 4 elements there are some of up to six dimensions, too.
    """
    divisors = [number for number in range(1, min(count, 64) + 1) if count % number == 0]
    found: list[tuple[int, ...]] = [(count,)]
    found += [(first, count // first) for first in divisors]
    found += [(a, b, count // a // b) for a, b in itertools.product(divisors, repeat=2) if count % (a * b) == 0]
    found = found[: limit * 2]
    if count in (1, 2, 4):
        found += [(1,) * (rank - 1) + (count,) for rank in (4, 6)]
    return [*found, ()] if count == 1 else found


def targets(dims: Sequence[int]) -> list[tuple[int, ...]]:
    """Return static shapes that a tensor of static ``dims`` can be reshaped to, the simplest first."""
    count = math.prod(dims)
    # In a target, 0 means "as in the operand at this place" (relax.op.reshape), so only a copied 0 keeps its meaning.
    return factorings(count) if count else [(*dims, 1), tuple(dims)]


@ROWS.row("reshape", bounds=intervals.moved)
def draw_reshape(scope: Scope) -> Value | None:
    """Draw ``reshape``: to another factoring of a static shape, to a drawn order, flat, split or merged form of a
    symbolic one; -1 in place of a dim, and 0 where a dim stays as it is."""
    operand = scope.tensor(dtypes=ANY)
    dims = operand.shape
    way = scope.index(6)
    if operand.is_static:
        target: Sequence[Any] = scope.pick(targets(dims))
    elif any(isinstance(dim, int) and dim == 0 for dim in dims):
        target = (*dims, 1)  # a 0 keeps its meaning only where it stands in the operand, too: see targets
    elif way == 0 or not dims:
        target = (reduce(lambda left, right: left * right, dims[1:], dims[0]),)
    elif way == 1 and len(dims) > 1:
        place = scope.index(len(dims) - 1)
        target = (*dims[:place], dims[place] * dims[place + 1], *dims[place + 2 :])
    elif way == 2:
        target = tuple(dims[place] for place in scope.permutation(len(dims)))
    elif way == 3 and any(isinstance(dim, int) and dim in (4, 6, 8, 9) for dim in dims):
        place = scope.pick([at for at, dim in enumerate(dims) if isinstance(dim, int) and dim in (4, 6, 8, 9)])
        factor = 3 if dims[place] % 3 == 0 else 2
        target = (*dims[:place], factor, dims[place] // factor, *dims[place + 1 :])
    else:
        place = scope.integer(0, len(dims))
        target = (*dims[:place], 1, *dims[place:])
    return _keeping(scope, op.reshape(operand.expr, _abbreviated(scope, dims, target)), operand)


def _abbreviated(scope: Scope, dims: tuple[Any, ...], target: Sequence[Any]) -> Sequence[Any]:
    """Return the target, now and then with -1 for one dim, or 0 for one that is the operand's at that place."""
    if not target or any(isinstance(dim, int) and dim == 0 for dim in target):
        return target
    way = scope.index(8)
    if way >= 6:
        place = scope.index(len(target))
        return [-1 if index == place else dim for index, dim in enumerate(target)]
    same = [place for place in range(min(len(dims), len(target))) if same_dim(dims[place], target[place])]
    if way == 5 and same:
        place = scope.pick(same)
        return [0 if index == place else dim for index, dim in enumerate(target)]
    return target


@ROWS.row("tensor_to_shape", feature=Feature.DATA_DEPENDENT)
def draw_reshape_by_value(scope: Scope) -> Value | None:
    """Draw ``tensor_to_shape`` of a shape computed as data, and a ``reshape`` to it that is cast to the truth."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, static=True)
    target = scope.pick([dims for dims in targets(operand.shape) if dims])
    data = scope.emit(op.add(relax.const(np.array(target), "int64"), relax.const(0, "int64")), None)
    shape = scope.emit(op.tensor_to_shape(data.expr), None)
    shaped = scope.emit(op.reshape(operand.expr, shape.expr), operand.known)
    return scope.match_cast(shaped, target)


@ROWS.row("shape_of")
def draw_shape_of(scope: Scope) -> Value | None:
    """Draw ``shape_of``, and the ``full`` tensor of that shape value."""
    operand = scope.tensor(dtypes=ANY)
    return scope.emit(op.shape_of(operand.expr), None)


@ROWS.row("shape_to_tensor")
def draw_shape_to_tensor(scope: Scope) -> Value | None:
    """Draw ``shape_to_tensor`` of the shape of a tensor, directly or as a shape value."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK)
    dims = operand.shape
    greatest = max(scope.dim_range(dim)[1] for dim in dims)
    shape = scope.shape_expr(dims) if scope.flip() else scope.emit(op.shape_of(operand.expr), None).expr
    return scope.emit(op.shape_to_tensor(shape), Bounds(0, greatest, True))


@ROWS.row("size")
def draw_size(scope: Scope) -> Value | None:
    """Draw ``size``: the number of elements, an int64 scalar."""
    operand = scope.tensor(dtypes=ANY)
    return scope.emit(op.size(operand.expr), Bounds(0, scope.most_elements(operand.shape), True))


@ROWS.row("expand_dims", bounds=intervals.moved)
def draw_expand_dims(scope: Scope) -> Value | None:
    """Draw ``expand_dims`` by one to three axes, counted from either side of the result."""
    operand = scope.tensor(dtypes=ANY, ranks=FEW_RANKS)
    if scope.flip():
        return _keeping(scope, op.expand_dims(operand.expr, scope.axis(operand.rank + 1)), operand)
    rank = operand.rank + (3 if scope.rarely() and operand.rank < 3 else 2)
    places = scope.permutation(rank)[: rank - operand.rank]
    named = [place - rank if scope.index(2) else place for place in places]
    return _keeping(scope, op.expand_dims(operand.expr, named), operand)


@ROWS.row("squeeze", bounds=intervals.moved)
def draw_squeeze(scope: Scope) -> Value | None:
    """Draw ``squeeze`` of some or all static dimensions of extent 1 (made first where there are none)."""
    operand = scope.tensor(dtypes=ANY)
    ones = [index for index, dim in enumerate(operand.shape) if isinstance(dim, int) and dim == 1]
    # TVM defect: without axes, a symbolic dim leaves a result of unknown rank, which nothing lowers.
    if operand.is_static and scope.index(4) == 3:
        return _keeping(scope, op.squeeze(operand.expr), operand)
    if not ones:
        place = scope.integer(0, operand.rank)
        operand = _keeping(scope, op.expand_dims(operand.expr, place), operand)
        ones = [place]
    chosen = scope.subset(ones)
    named = [place - operand.rank if scope.index(3) == 2 else place for place in chosen]
    return _keeping(scope, op.squeeze(operand.expr, named), operand)


def _draw_plain(scope: Scope, call: Callable[..., Any], ranks: tuple[int, ...] | None = None) -> Value:
    operand = scope.tensor(dtypes=ANY, ranks=ranks)
    return _keeping(scope, call(operand.expr), operand)


ROWS.row("flatten", bounds=intervals.moved)(partial(_draw_plain, call=op.flatten))
ROWS.row("nn.batch_flatten", bounds=intervals.moved)(partial(_draw_plain, call=op.nn.batch_flatten, ranks=MATRIX_UP))


@ROWS.row("broadcast_to", bounds=intervals.moved)
def draw_broadcast_to(scope: Scope) -> Value | None:
    """Draw ``broadcast_to``: ones are stretched, also to symbolic dims, and leading dimensions added; or nothing is."""
    operand = scope.tensor(dtypes=ANY)

    def stretched() -> Any:
        symbols = scope.frame.symbol_list
        return scope.pick(symbols) if symbols and scope.index(4) == 3 else scope.small_dim()

    known = operand.shape
    dims = [stretched() if isinstance(dim, int) and dim == 1 else dim for dim in known]
    lead = [stretched() for _ in range(scope.index(3) if len(dims) < 5 else 0)]
    target = [*lead, *dims] if scope.affordable([*lead, *dims]) else list(known)
    return _keeping(scope, op.broadcast_to(operand.expr, target), operand)


@ROWS.row("concat", bounds=intervals.concat)
def draw_concat(scope: Scope) -> Value | None:
    """Draw ``concat`` of one to four tensors of one dtype and shape, or of shapes that differ along the axis."""
    first = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=lambda value: scope.affordable((4, *value.shape)))
    where = scope.axis(first.rank)
    items = [first]
    for _ in range(0 if scope.rarely() else scope.integer(1, 3)):
        items.append(_beside(scope, first, where % first.rank))
    if scope.index(4) == 3:
        items.reverse()
    known = union_of(item.known for item in items)
    return scope.emit(op.concat([item.expr for item in items], where), known)


def _beside(scope: Scope, first: Value, where: int) -> Value:
    """Draw a tensor to put beside another: of the same shape, or of one that differs along the axis."""
    dims = first.shape
    way = scope.index(4)
    if way == 3:  # any value at hand that goes with it

        def fits(value: Value) -> bool:
            return value.rank == first.rank and same_dims(
                [dim for place, dim in enumerate(value.shape) if place != where],
                [dim for place, dim in enumerate(dims) if place != where],
            )

        known = [value for value in reversed(scope.tensors(fits)) if value.dtype == first.dtype]
        known = [value for value in known if value.device is None and scope.affordable((4, *value.shape))]
        if known:
            return known[scope.index(len(known))]
    if way == 2 and isinstance(dims[where], int):
        dims = (*dims[:where], scope.small_dim(), *dims[where + 1 :])
    return scope.tensor(dtypes=(first.dtype,), shape=dims)


@ROWS.row("stack", bounds=intervals.concat)
def draw_stack(scope: Scope) -> Value | None:
    """Draw ``stack`` of one to three tensors of one shape."""
    first = scope.tensor(dtypes=ANY, ranks=FEW_RANKS, where=lambda value: scope.affordable((3, *value.shape)))
    items = [first, *(scope.tensor_like(first) for _ in range(scope.index(3)))]
    known = union_of(item.known for item in items)
    return scope.emit(op.stack([item.expr for item in items], scope.axis(first.rank + 1)), known)


@ROWS.row("split", bounds=intervals.split)
def draw_split(scope: Scope) -> Value | None:
    """Draw ``split`` of a static extent, into sections (the last may be shorter) or at indices; or into one."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=lambda value: any(_splits(dim) for dim in value.shape))
    where = scope.pick([index for index, dim in enumerate(operand.shape) if _splits(dim)])
    extent = int(operand.shape[where])
    if scope.flip():
        # TVM defects: equal indices, or a first one of 0, pass inference and not the kernel ("must be sorted"); one
        # beyond the extent makes a tensor of negative size (bad_alloc).
        cuts: Any = sorted({scope.integer(1, extent - 1) for _ in range(scope.integer(1, 4))})
        parts = len(cuts) + 1
    else:
        cuts = scope.pick([n for n in range(1, min(extent, 8) + 1) if -(-extent // n) * (n - 1) < extent])
        parts = cuts
    call = op.split(operand.expr, cuts, where if scope.flip() else where - operand.rank)
    if parts == 1:  # one section is no tuple but the tensor itself
        return _keeping(scope, call, operand)
    return project(scope, call, [operand.known] * parts)


def _splits(dim: Any) -> bool:
    return isinstance(dim, int) and dim >= 2


@ROWS.row("repeat", bounds=intervals.moved)
def draw_repeat(scope: Scope) -> Value | None:
    """Draw ``repeat`` of each element along an axis, or of the flattened tensor."""
    # TVM defects: of a scalar, and no times, it passes inference and not the kernel.
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=lambda value: scope.affordable((3, *value.shape)))
    where = None if scope.index(4) == 3 else scope.axis(operand.rank)
    return _keeping(scope, op.repeat(operand.expr, scope.integer(1, 3), where), operand)


@ROWS.row("tile", bounds=intervals.moved)
def draw_tile(scope: Scope) -> Value | None:
    """Draw ``tile``, with fewer or more factors than dimensions, rarely none of one."""
    operand = scope.tensor(dtypes=ANY)
    factors = [scope.pick((1, 2, 1, 3)) for _ in range(scope.integer(1, min(operand.rank + 1, 6)))]
    if scope.has(Feature.EMPTY_TENSORS) and scope.rarely():
        factors[0] = 0
    while not scope.affordable((*factors, *operand.shape)) and max(factors) > 1:
        factors[factors.index(max(factors))] = 1
    given: Any = factors[0] if len(factors) == 1 and scope.flip() else factors
    return _keeping(scope, op.tile(operand.expr, given), operand)


@ROWS.row("flip", bounds=intervals.moved)
def draw_flip(scope: Scope) -> Value | None:
    """Draw ``flip`` along an axis."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK)
    return _keeping(scope, op.flip(operand.expr, scope.axis(operand.rank)), operand)


@ROWS.row("layout_transform")
def draw_layout_transform(scope: Scope) -> Value | None:
    """Draw ``layout_transform`` by a permutation, a merge or a split of a static dim, padded where it must be."""
    # TVM defect: the legalization pads booleans and float8 with a float ("ScheduleError"), padding or not.
    dtypes = tuple(d for d in ANY if d not in (*FLOAT8, "bool")) if scope.executable else ANY
    operand = scope.tensor(dtypes=dtypes, ranks=SOME_RANK, static=True, where=lambda v: 0 not in v.shape)
    dims = [int(dim) for dim in operand.shape]
    way = scope.index(3)
    if way == 1 and operand.rank < 6:
        place, factor = scope.index(operand.rank), scope.integer(2, 4)
        inner_last = scope.flip()
        padded = dims[place] % factor != 0

        def split(*i: Any) -> list[Any]:
            outer, inner = i[place] // factor, i[place] % factor
            rest = [*i[:place], outer, *i[place + 1 :]]
            return [*rest, inner] if inner_last else [*rest[: place + 1], inner, *rest[place + 1 :]]

        fill = scope.pick((None, 1, 0)) if padded and operand.dtype not in (*FLOAT8, "bool") else None
        pad = float(fill) if fill is not None and is_float(operand.dtype) else fill
        call = op.layout_transform(operand.expr, _of_rank(operand.rank, split), pad)
        return scope.emit(call, operand.known.including(float(fill or 0)) if padded else operand.known)
    if way == 2 and operand.rank > 1:
        place = scope.index(operand.rank - 1)

        def merge(*i: Any) -> list[Any]:
            return [*i[:place], i[place] * dims[place + 1] + i[place + 1], *i[place + 2 :]]

        return _keeping(scope, op.layout_transform(operand.expr, _of_rank(operand.rank, merge)), operand)
    order = scope.permutation(operand.rank)

    def permuted(*i: Any) -> list[Any]:
        return [i[place] for place in order]

    return _keeping(scope, op.layout_transform(operand.expr, _of_rank(operand.rank, permuted)), operand)


def _of_rank(rank: int, function: Callable[..., list[Any]]) -> Any:
    """Return an index map from a function of any number of indices: TVM reads that number off its signature."""
    return tirx.IndexMap.from_func(function, rank)


@ROWS.row("meshgrid")
def draw_meshgrid(scope: Scope) -> Value | None:
    """Draw ``meshgrid`` of two to four vectors of one dtype."""
    # TVM defect: of one vector, what is inferred is a tuple and what is computed is none.
    first = scope.tensor(dtypes=ANY, ranks=(1,))
    items = [first, *(scope.tensor(dtypes=(first.dtype,), ranks=(1,)) for _ in range(scope.pick((1, 2, 1, 3))))]
    while not scope.affordable([dim for item in items for dim in item.shape]) and len(items) > 2:
        items.pop()
    # TVM defect: with "xy" the inferred shape is that of "ij": drawn only where nothing runs.
    indexing = "ij" if scope.executable or scope.flip() else "xy"
    return project(scope, op.meshgrid([item.expr for item in items], indexing), [item.known for item in items])
