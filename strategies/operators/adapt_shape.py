"""Adapters that bring a value to a given shape, as a table; like those of ``adapt_rank`` they only propose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm import relax

from strategies.bounds import LOW_PRECISION, Bounds, dtype_bounds, is_float
from strategies.operators.adapt_step import (
    Shaper,
    Step,
    can_pad,
    index_constant,
    keeping,
    least_extent,
    reshaped,
)
from strategies.operators.drawing import bounds_of, shape_of
from strategies.values import Dim, Value, same_dim, same_dims

if TYPE_CHECKING:
    from strategies.scope import Scope

op = relax.op


def _stretches(dims: Sequence[Dim], target: Sequence[Dim]) -> bool:
    """Whether dims broadcast to a target."""
    tail = target[len(target) - len(dims) :]
    return len(dims) <= len(target) and all(
        (isinstance(dim, int) and dim == 1) or same_dim(dim, wanted) for dim, wanted in zip(dims, tail, strict=True)
    )


def broadcast_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``broadcast_to`` the target."""
    if not _stretches(shape_of(value), target):
        return None
    return keeping(value, target, lambda: op.broadcast_to(value.expr, scope.shape_expr(target)))


def reshape_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``reshape`` of as many elements."""
    if not value.is_static or not _static(target) or math.prod(shape_of(value)) != math.prod(target):
        return None
    return reshaped(scope, value, list(target))


def _static(dims: Sequence[Dim]) -> bool:
    return all(isinstance(dim, int) for dim in dims)


def permute_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``permute_dims`` where the target has the same dims in another order."""
    if value.rank != len(target) or value.rank < 2:
        return None
    rest = list(enumerate(shape_of(value)))
    order: list[int] = []
    for wanted in target:
        found = next((place for place, (_, dim) in enumerate(rest) if same_dim(dim, wanted)), None)
        if found is None:
            return None
        order.append(rest.pop(found)[0])
    return keeping(value, target, lambda: op.permute_dims(value.expr, order))


def expand_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``expand_dims`` where only ones lack."""
    places = _missing(shape_of(value), target)
    if not places or any(not isinstance(target[place], int) or target[place] != 1 for place in places):
        return None
    return keeping(value, target, lambda: op.expand_dims(value.expr, places))


def _missing(part: Sequence[Dim], whole: Sequence[Dim]) -> list[int] | None:
    """The places of ``whole`` that ``part`` lacks, ``None`` when it is no part in order."""
    if len(part) >= len(whole):
        return None
    places: list[int] = []
    at = 0
    for place, dim in enumerate(whole):
        if at < len(part) and same_dim(part[at], dim):
            at += 1
        else:
            places.append(place)
    return places if at == len(part) else None


def squeeze_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``squeeze`` where only ones are too many."""
    dims = shape_of(value)
    places = _missing(target, dims)
    if not places or any(not isinstance(dims[place], int) or dims[place] != 1 for place in places):
        return None
    return keeping(value, target, lambda: op.squeeze(value.expr, places))


def reduce_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``max``, ``min`` or ``mean`` over the dims that are too many."""
    dims = shape_of(value)
    places = _missing(target, dims)
    if not places or value.dtype == "bool" or value.dtype in LOW_PRECISION:
        return None
    if any(least_extent(scope, dims[place]) < 1 for place in places):
        return None
    known = bounds_of(value)
    if is_float(value.dtype) and scope.index(3) == 2:
        known = Bounds(known.lo, known.hi).rounded_as(value.dtype)
        return Step(target, lambda: op.mean(value.expr, places), known)
    call = scope.pick((op.max, op.min))
    return Step(target, lambda: call(value.expr, places), known)


def slice_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``strided_slice`` of dims that are too long."""
    dims = shape_of(value)
    if value.rank != len(target) or value.rank == 0:
        return None
    cut = [place for place, dim in enumerate(dims) if not same_dim(dim, target[place])]
    if not cut or any(
        not isinstance(dims[place], int) or not isinstance(target[place], int) or target[place] > dims[place]
        for place in cut
    ):
        return None
    begin = [scope.index(int(dims[place]) - int(target[place]) + 1) for place in cut]
    end = [first + int(target[place]) for place, first in zip(cut, begin, strict=True)]
    return keeping(value, target, lambda: op.strided_slice(value.expr, cut, begin, end))


def pad_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``nn.pad`` of dims that are too short, by zeros."""
    dims = shape_of(value)
    if value.rank != len(target) or not value.is_static or not _static(target) or value.rank == 0 or not can_pad(value):
        return None
    if any(wanted < dim or wanted > 4 * dim + 4 for dim, wanted in zip(dims, target, strict=True)):
        return None
    widths: list[int] = []
    for dim, wanted in zip(dims, target, strict=True):
        before = scope.index(wanted - dim + 1)
        widths += [before, wanted - dim - before]
    return Step(target, lambda: op.nn.pad(value.expr, widths), bounds_of(value).including(0.0))


def tile_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``tile`` where each dim goes into the target's a whole number of times."""
    if not value.is_static or not _static(target) or not 0 < value.rank <= len(target):
        return None
    old = [1] * (len(target) - value.rank) + list(shape_of(value))
    if any(dim == 0 or wanted % dim or wanted == 0 for dim, wanted in zip(old, target, strict=True)):
        return None
    factors = [wanted // dim for dim, wanted in zip(old, target, strict=True)]
    return keeping(value, target, lambda: op.tile(value.expr, factors))


def take_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``take`` along one axis by a constant: of a vector any shape."""
    where = scope.index(value.rank) if value.rank else 0
    dims = shape_of(value)
    if value.rank == 0 or len(target) < value.rank - 1 or least_extent(scope, dims[where]) < 1:
        return None
    depth = len(target) - value.rank + 1
    shape = target[where : where + depth]
    rest = (*target[:where], *target[where + depth :])
    if not _static(shape) or not same_dims(rest, (*dims[:where], *dims[where + 1 :])):
        return None
    least = least_extent(scope, dims[where])
    return keeping(value, target, lambda: op.take(value.expr, index_constant(scope, least, shape), where))


def gather_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``gather_nd`` or ``index_tensor`` of single elements by constants."""
    if value.rank == 0 or not target or not _static(target):
        return None
    least = [least_extent(scope, dim) for dim in shape_of(value)]
    if min(least) < 1:
        return None
    if scope.index(2):
        return keeping(
            value,
            target,
            lambda: op.index_tensor(value.expr, [index_constant(scope, extent, target) for extent in least]),
        )
    shape = [*target, value.rank]
    return keeping(value, target, lambda: op.gather_nd(value.expr, index_constant(scope, min(least), shape), 0))


def collapse_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``collapse_sum_to`` a shape that broadcasts to the value's."""
    if value.dtype == "bool" or value.dtype in LOW_PRECISION or not _stretches(target, shape_of(value)):
        return None
    if any(least_extent(scope, dim) < 1 for dim in shape_of(value)):
        return None  # TVM writes no sum over no elements
    known = bounds_of(value).up_to(max(scope.most_elements(shape_of(value)), 1)).rounded_as(value.dtype)
    if not dtype_bounds(value.dtype).contains(known):
        return None
    return Step(target, lambda: op.collapse_sum_to(value.expr, scope.shape_expr(target)), known)


INTO: tuple[Shaper, ...] = (
    reshape_into,
    broadcast_into,
    permute_into,
    expand_into,
    squeeze_into,
    reduce_into,
    slice_into,
    pad_into,
    tile_into,
    take_into,
    collapse_into,
)
"""To a given shape; where none serves, :func:`gather_into` does when it is static."""
