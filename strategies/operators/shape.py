"""Operators that move elements about or change the shape, and leave the values as they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import relax

from strategies.bounds import Bounds, union_of
from strategies.operators.drawing import (
    ANY,
    NUMBERS,
    axis,
    bounds_of,
    flip,
    permutation,
    project,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op

SOME_RANK = (1, 2, 3, 4)


def _keeping(scope: Scope, expr: Any, value: Value) -> Value:
    return scope.emit(expr, bounds_of(value))


def draw_permute_dims(scope: Scope) -> Value | None:
    """``permute_dims`` by a drawn permutation, or by none given: reversed."""
    operand = scope.tensor(dtypes=ANY, ranks=(2, 3, 1, 4))
    order = None if scope.index(4) == 3 else permutation(scope, operand.rank)
    if order is not None and scope.index(4) == 3:
        order = [index - operand.rank for index in order]
    return _keeping(scope, op.permute_dims(operand.expr, order), operand)


def factorings(count: int, limit: int = 12) -> list[tuple[int, ...]]:
    """Static shapes of up to three dimensions with ``count`` elements, the simplest first; ``count`` is at least 1."""
    divisors = [number for number in range(1, min(count, 64) + 1) if count % number == 0]
    found: list[tuple[int, ...]] = [(count,)]
    found += [(first, count // first) for first in divisors]
    found += [(a, b, count // a // b) for a, b in itertools.product(divisors, repeat=2) if count % (a * b) == 0]
    return found[: limit * 2]


def targets(dims: Sequence[int]) -> list[tuple[int, ...]]:
    """Static shapes that a tensor of static ``dims`` can be reshaped to, the simplest first."""
    count = math.prod(dims)
    # In a target, 0 means "as in the operand at this place" (relax.op.reshape), so only a copied 0 keeps its meaning.
    return factorings(count) if count else [(*dims, 1), tuple(dims)]


def draw_reshape(scope: Scope) -> Value | None:
    """``reshape``: to another factoring of a static shape, to the flat or a split form of a symbolic one, or by -1."""
    operand = scope.tensor(dtypes=ANY)
    dims = shape_of(operand)
    way = scope.index(4)
    if operand.is_static:
        target: Sequence[Any] = scope.pick(targets(dims))
        if way == 3 and 0 not in target:
            place = scope.index(len(target))
            target = [-1 if index == place else dim for index, dim in enumerate(target)]
        return _keeping(scope, op.reshape(operand.expr, target), operand)
    if way == 0:
        product = dims[0]
        for dim in dims[1:]:
            product = product * dim
        return _keeping(scope, op.reshape(operand.expr, (product,)), operand)
    place = scope.integer(0, len(dims))
    return _keeping(scope, op.reshape(operand.expr, (*dims[:place], 1, *dims[place:])), operand)


def draw_reshape_by_value(scope: Scope) -> Value | None:
    """``tensor_to_shape``: a shape computed as data, then a ``reshape`` to it, whose result is cast to the truth."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), static=True)
    target = scope.pick(targets(shape_of(operand)))
    data = scope.emit(op.add(relax.const(np.array(target), "int64"), relax.const(0, "int64")), None)
    shape = scope.emit(op.tensor_to_shape(data.expr), None)
    shaped = scope.emit(op.reshape(operand.expr, shape.expr), bounds_of(operand))
    return scope.match_cast(shaped, target)


def draw_shape_of(scope: Scope) -> Value | None:
    """``shape_of``, and the ``full`` tensor of that shape value."""
    operand = scope.tensor(dtypes=ANY)
    return scope.emit(op.shape_of(operand.expr), None)


def draw_shape_to_tensor(scope: Scope) -> Value | None:
    """``shape_to_tensor`` of the shape of a tensor, directly or as a shape value."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK)
    dims = shape_of(operand)
    greatest = max(scope.dim_range(dim)[1] for dim in dims)
    shape = scope.shape_expr(dims) if flip(scope) else scope.emit(op.shape_of(operand.expr), None).expr
    return scope.emit(op.shape_to_tensor(shape), Bounds(0, greatest, True))


def draw_size(scope: Scope) -> Value | None:
    """``size``: the number of elements, an int64 scalar."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK)
    return scope.emit(op.size(operand.expr), Bounds(0, scope.most_elements(shape_of(operand)), True))


def draw_expand_dims(scope: Scope) -> Value | None:
    """``expand_dims`` by one or two axes."""
    operand = scope.tensor(dtypes=ANY, ranks=(0, 1, 2, 3))
    if flip(scope):
        return _keeping(scope, op.expand_dims(operand.expr, axis(scope, operand.rank + 1)), operand)
    rank = operand.rank + 2
    first, gap = scope.index(rank), scope.integer(1, rank - 1)
    second = (first + gap) % rank
    return _keeping(scope, op.expand_dims(operand.expr, [first, second - rank]), operand)


def draw_squeeze(scope: Scope) -> Value | None:
    """``squeeze`` of some or all static dimensions of extent 1 (made first where there are none)."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK)
    ones = [index for index, dim in enumerate(shape_of(operand)) if isinstance(dim, int) and dim == 1]
    if not ones:
        place = scope.integer(0, operand.rank)
        operand = _keeping(scope, op.expand_dims(operand.expr, place), operand)
        ones = [place]
    if all(isinstance(dim, int) for dim in shape_of(operand)) and scope.index(4) == 3:
        return _keeping(scope, op.squeeze(operand.expr), operand)
    chosen = ones if flip(scope) else [scope.pick(ones)]
    return _keeping(scope, op.squeeze(operand.expr, chosen), operand)


def draw_broadcast_to(scope: Scope) -> Value | None:
    """``broadcast_to``: ones are stretched and leading dimensions added."""
    operand = scope.tensor(dtypes=ANY, ranks=(0, 1, 2, 3))
    dims = [scope.small_dim() if isinstance(dim, int) and dim == 1 else dim for dim in shape_of(operand)]
    lead = [scope.small_dim() for _ in range(scope.index(3))]
    return _keeping(scope, op.broadcast_to(operand.expr, [*lead, *dims]), operand)


def draw_concat(scope: Scope) -> Value | None:
    """``concat`` of two to four tensors of one dtype and shape, or of shapes that differ along the axis."""
    first = scope.tensor(dtypes=ANY, ranks=SOME_RANK)
    where = axis(scope, first.rank)
    items = [first]
    for _ in range(scope.integer(1, 3)):
        dims = list(shape_of(first))
        if isinstance(dims[where], int) and scope.index(3) == 2:
            dims[where] = scope.small_dim()
        items.append(scope.tensor(dtypes=(first.dtype,), shape=dims))
    known = union_of(bounds_of(item) for item in items)
    return scope.emit(op.concat([item.expr for item in items], where), known)


def draw_stack(scope: Scope) -> Value | None:
    """``stack`` of one to three tensors of one shape."""
    first = scope.tensor(dtypes=ANY, ranks=(0, 1, 2, 3))
    items = [first, *(scope.tensor_like(first) for _ in range(scope.index(3)))]
    known = union_of(bounds_of(item) for item in items)
    return scope.emit(op.stack([item.expr for item in items], axis(scope, first.rank + 1)), known)


def draw_split(scope: Scope) -> Value | None:
    """``split`` of a static extent, into sections (the last may be shorter) or at indices."""
    operand = scope.tensor(
        dtypes=ANY, ranks=SOME_RANK, where=lambda value: any(_splits(dim) for dim in shape_of(value))
    )
    where = scope.pick([index for index, dim in enumerate(shape_of(operand)) if _splits(dim)])
    extent = int(shape_of(operand)[where])
    if flip(scope):
        cuts: Any = sorted({scope.integer(1, extent - 1) for _ in range(2)})
        parts = len(cuts) + 1
    else:
        cuts = scope.pick([n for n in range(1, extent + 1) if -(-extent // n) * (n - 1) < extent])
        parts = cuts
    call = op.split(operand.expr, cuts, where if flip(scope) else where - operand.rank)
    if parts == 1:  # one section is no tuple but the tensor itself
        return _keeping(scope, call, operand)
    return project(scope, call, [bounds_of(operand)] * parts)


def _splits(dim: Any) -> bool:
    return isinstance(dim, int) and dim >= 2


def draw_repeat(scope: Scope) -> Value | None:
    """``repeat`` of each element along an axis, or of the flattened tensor."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3))
    where = None if scope.index(4) == 3 else axis(scope, operand.rank)
    return _keeping(scope, op.repeat(operand.expr, scope.integer(1, 3), where), operand)


def draw_tile(scope: Scope) -> Value | None:
    """``tile``, with fewer or more factors than dimensions."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3))
    factors = [scope.pick((1, 2, 1, 3)) for _ in range(scope.integer(1, operand.rank + 1))]
    return _keeping(scope, op.tile(operand.expr, factors), operand)


def draw_flip(scope: Scope) -> Value | None:
    """``flip`` along an axis."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK)
    return _keeping(scope, op.flip(operand.expr, axis(scope, operand.rank)), operand)


def draw_layout_transform(scope: Scope) -> Value | None:
    """``layout_transform`` by a permutation, or by a split of a static dimension with padding where it must."""
    # The legalization pads booleans with a float ("ScheduleError"), padding or not.
    dtypes = NUMBERS if scope.executable else ANY
    operand = scope.tensor(dtypes=dtypes, ranks=(2, 3), static=True, where=lambda value: 0 not in shape_of(value))
    if operand.rank == 2 and flip(scope):
        factor = scope.integer(2, 3)
        padded = shape_of(operand)[0] % factor != 0
        call = op.layout_transform(operand.expr, lambda i, j: (i // factor, j, i % factor))
        return scope.emit(call, bounds_of(operand).including(0.0) if padded else bounds_of(operand))
    order = permutation(scope, operand.rank)
    if operand.rank == 2:
        return _keeping(scope, op.layout_transform(operand.expr, lambda i, j: [(i, j)[n] for n in order]), operand)
    return _keeping(scope, op.layout_transform(operand.expr, lambda i, j, k: [(i, j, k)[n] for n in order]), operand)


def draw_meshgrid(scope: Scope) -> Value | None:
    """``meshgrid`` of one to three vectors of one dtype."""
    first = scope.tensor(dtypes=ANY, ranks=(1,))
    items = [first, *(scope.tensor(dtypes=(first.dtype,), ranks=(1,)) for _ in range(scope.integer(1, 2)))]
    # With "xy" the inferred shape is that of "ij": drawn only where nothing runs.
    indexing = "ij" if scope.executable or flip(scope) else "xy"
    return project(scope, op.meshgrid([item.expr for item in items], indexing), [bounds_of(item) for item in items])


def _draw_plain(call: Callable[..., Any], ranks: tuple[int, ...]) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        operand = scope.tensor(dtypes=ANY, ranks=ranks)
        return _keeping(scope, call(operand.expr), operand)

    return draw


def _row(name: str, draw: Callable[[Scope], Value | None], family: Family = Family.SHAPE) -> OperatorRow:
    return OperatorRow(f"relax.{name}", family, draw)


ROWS = (
    _row("permute_dims", draw_permute_dims),
    _row("reshape", draw_reshape),
    _row("tensor_to_shape", draw_reshape_by_value),
    _row("shape_of", draw_shape_of),
    _row("shape_to_tensor", draw_shape_to_tensor),
    _row("size", draw_size),
    _row("expand_dims", draw_expand_dims),
    _row("squeeze", draw_squeeze),
    _row("flatten", _draw_plain(op.flatten, (2, 3, 1, 0))),
    _row("nn.batch_flatten", _draw_plain(op.nn.batch_flatten, (3, 2, 4))),
    _row("broadcast_to", draw_broadcast_to),
    _row("concat", draw_concat),
    _row("stack", draw_stack),
    _row("split", draw_split),
    _row("repeat", draw_repeat),
    _row("tile", draw_tile),
    _row("flip", draw_flip),
    _row("layout_transform", draw_layout_transform),
    _row("meshgrid", draw_meshgrid),
)
