"""Adapters that bring a value to a given shape, as a table; like those of ``adapt_rank`` they only propose."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tvm import relax

from strategies.operators.adapt.step import Proposal, Shaper, can_pad, index_constant, keeping, reshaped
from strategies.scope.bounds import LOW_PRECISION, Bounds, dtype_bounds, is_float
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value, same_dim, same_dims, stretches

op = relax.op


def broadcast_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``broadcast_to`` the target."""
    if not stretches(value.shape, target):
        return None
    return keeping(value, target, lambda: op.broadcast_to(value.expr, scope.shape_expr(target)))


def reshape_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``reshape`` of as many elements."""
    if not value.is_static or not _static(target) or math.prod(value.shape) != math.prod(target):
        return None
    return reshaped(scope, value, list(target))


def _static(dims: Sequence[Dim]) -> bool:
    return all(isinstance(dim, int) for dim in dims)


def permute_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``permute_dims`` where the target has the same dims in another order."""
    if value.rank != len(target) or value.rank < 2:
        return None
    rest = list(enumerate(value.shape))
    order: list[int] = []
    for wanted in target:
        found = next((place for place, (_, dim) in enumerate(rest) if same_dim(dim, wanted)), None)
        if found is None:
            return None
        order.append(rest.pop(found)[0])
    return keeping(value, target, lambda: op.permute_dims(value.expr, order))


def expand_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``expand_dims`` where only ones lack."""
    places = _missing(value.shape, target)
    if not places or not _ones(target, places):
        return None
    return keeping(value, target, lambda: op.expand_dims(value.expr, places))


def _ones(dims: Sequence[Dim], places: Sequence[int]) -> bool:
    return all(isinstance(dims[place], int) and dims[place] == 1 for place in places)


def _missing(part: Sequence[Dim], whole: Sequence[Dim]) -> list[int] | None:
    """Return the places of ``whole`` that ``part`` lacks, ``None`` when it is no part in order."""
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


def squeeze_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``squeeze`` where only ones are too many."""
    places = _missing(target, value.shape)
    if not places or not _ones(value.shape, places):
        return None
    return keeping(value, target, lambda: op.squeeze(value.expr, places))


def reduce_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``max``, ``min`` or ``mean`` over the dims that are too many."""
    dims = value.shape
    places = _missing(target, dims)
    if not places or value.dtype == "bool" or value.dtype in LOW_PRECISION:
        return None
    if any(scope.least(dims[place]) < 1 for place in places):
        return None
    known = value.known
    if is_float(value.dtype) and scope.index(3) == 2:
        known = Bounds(known.lo, known.hi).rounded_as(value.dtype)
        return Proposal(target, lambda: op.mean(value.expr, places), known)
    call = scope.pick((op.max, op.min))
    return Proposal(target, lambda: call(value.expr, places), known)


def slice_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``strided_slice`` of dims that are too long."""
    dims = value.shape
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


def pad_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``nn.pad`` of dims that are too short, by zeros."""
    dims = value.shape
    if value.rank != len(target) or not value.is_static or not _static(target) or value.rank == 0 or not can_pad(value):
        return None
    if any(wanted < dim or wanted > 4 * dim + 4 for dim, wanted in zip(dims, target, strict=True)):
        return None
    widths: list[int] = []
    for dim, wanted in zip(dims, target, strict=True):
        before = scope.index(wanted - dim + 1)
        widths += [before, wanted - dim - before]
    return Proposal(target, lambda: op.nn.pad(value.expr, widths), value.known.including(0.0))


def tile_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``tile`` where each dim goes into the target's a whole number of times."""
    if not value.is_static or not _static(target) or not 0 < value.rank <= len(target):
        return None
    old = [1] * (len(target) - value.rank) + list(value.shape)
    if any(dim == 0 or wanted % dim or wanted == 0 for dim, wanted in zip(old, target, strict=True)):
        return None
    factors = [wanted // dim for dim, wanted in zip(old, target, strict=True)]
    return keeping(value, target, lambda: op.tile(value.expr, factors))


def take_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``take`` along one axis by a constant: of a vector any shape."""
    where = scope.index(value.rank) if value.rank else 0
    dims = value.shape
    if value.rank == 0 or len(target) < value.rank - 1 or scope.least(dims[where]) < 1:
        return None
    depth = len(target) - value.rank + 1
    shape = target[where : where + depth]
    rest = (*target[:where], *target[where + depth :])
    if not _static(shape) or not same_dims(rest, (*dims[:where], *dims[where + 1 :])):
        return None
    least = scope.least(dims[where])
    return keeping(value, target, lambda: op.take(value.expr, index_constant(scope, least, shape), where))


def gather_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``gather_nd`` or ``index_tensor`` of single elements by constants."""
    if value.rank == 0 or not target or not _static(target):
        return None
    least = [scope.least(dim) for dim in value.shape]
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


def collapse_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Proposal | None:
    """Propose ``collapse_sum_to`` a shape that broadcasts to the value's."""
    if value.dtype == "bool" or value.dtype in LOW_PRECISION or not stretches(target, value.shape):
        return None
    if any(scope.least(dim) < 1 for dim in value.shape):
        return None  # TVM writes no sum over no elements
    known = value.known.up_to(max(scope.most_elements(value.shape), 1)).rounded_as(value.dtype)
    if not dtype_bounds(value.dtype).contains(known):
        return None
    return Proposal(target, lambda: op.collapse_sum_to(value.expr, scope.shape_expr(target)), known)


INTO: tuple[Shaper, ...] = (
    reshape_into, broadcast_into, permute_into, expand_into, squeeze_into, reduce_into, slice_into, pad_into,
    tile_into, take_into, collapse_into,
)  # fmt: skip
"""To a given shape; where none serves, :func:`gather_into` does when it is static."""
