"""Adapters that bring a value to another rank, or to other dims of the same rank, as tables to draw from.

Each draws its attributes and answers with a :class:`Proposal`, or with ``None`` where it cannot serve.  Nothing is
emitted before a proposal is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import relax

from strategies.operators.adapt.step import (
    MOST,
    Proposal,
    Ranker,
    can_pad,
    drawn_places,
    index_constant,
    keeping,
    product,
    replaced,
    reshaped,
)
from strategies.scope.bounds import LOW_PRECISION, Bounds, dtype_bounds, is_float, union_of
from strategies.scope.scope import Scope
from strategies.scope.values import Value, same_dims

op = relax.op


def expand_dims(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``expand_dims`` at drawn places."""
    places = drawn_places(scope, rank, rank - value.rank)
    dims = list(value.shape)
    for place in places:
        dims.insert(place, 1)
    named = [place - rank if scope.index(4) == 3 else place for place in places]
    return keeping(value, dims, lambda: op.expand_dims(value.expr, named))


def split_reshape(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``reshape`` that splits static dims, or puts ones in where none can be split."""
    dims = list(value.shape)
    for _ in range(rank - value.rank):
        whole = [place for place, dim in enumerate(dims) if isinstance(dim, int) and dim in (4, 6, 8, 9, 12, 16)]
        if whole and scope.index(4):
            place = scope.pick(whole)
            factor = 3 if dims[place] == 9 else 2
            dims[place : place + 1] = [factor, dims[place] // factor]
        else:
            dims.insert(scope.index(len(dims) + 1), 1)
    return reshaped(scope, value, dims)


def broadcast(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``broadcast_to`` more leading dims."""
    dims = [scope.integer(1, 3) for _ in range(rank - value.rank)] + list(value.shape)
    if scope.most_elements(dims) > MOST:
        return None
    return keeping(value, dims, lambda: op.broadcast_to(value.expr, scope.shape_expr(dims)))


def tile(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``tile`` by factors for more dims than there are."""
    if not value.is_static or value.rank == 0:
        return None
    more = rank - value.rank
    factors = [scope.integer(1, 3) for _ in range(more)] + [scope.pick((1, 1, 2)) for _ in range(value.rank)]
    old = [1] * more + list(value.shape)
    dims = [factor * dim for factor, dim in zip(factors, old, strict=True)]
    if math.prod(dims) > MOST:
        return None
    return keeping(value, dims, lambda: op.tile(value.expr, factors))


def stack(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``stack`` with itself, or with another of the same shape and dtype."""
    if rank != value.rank + 1:
        return None
    alike = [v for v in scope.values[-8:] if v.dtype == value.dtype and same_dims(v.dims, value.dims)]
    others = [v for v in alike if v.device is None]
    items = [value, *(scope.pick(others) for _ in range(scope.index(3)))] if others else [value]
    where = scope.index(rank)
    dims = list(value.shape)
    dims.insert(where, len(items))
    if scope.most_elements(dims) > MOST:
        return None
    known = union_of(item.known for item in items)
    return Proposal(tuple(dims), lambda: op.stack([item.expr for item in items], where), known)


def take(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``take`` by a constant of as many dims as it needs: none drops the axis, several make more."""
    depth = rank - value.rank + 1
    if value.rank == 0 or not 0 <= depth <= 3:
        return None
    where = scope.index(value.rank)
    shape = [scope.integer(1, 3) for _ in range(depth)]
    least = scope.least(value.shape[where])
    dims = replaced(value.shape, where, *shape)
    if least < 1 or scope.most_elements(dims) > MOST:
        return None
    return keeping(value, dims, lambda: op.take(value.expr, index_constant(scope, least, shape), where))


def _gathered(
    scope: Scope, value: Value, rank: int, build: Callable[[Scope, Value, list[int], list[int]], Any]
) -> Proposal | None:
    """Propose a gather by indices: the leading dims that they address become those of the indices."""
    if value.rank == 0 or rank == 0:
        return None
    depth = scope.integer(max(1, value.rank - rank + 1), value.rank)
    lead = [scope.integer(1, 3) for _ in range(rank - value.rank + depth)]
    least = [scope.least(dim) for dim in value.shape[:depth]]
    target = [*lead, *value.shape[depth:]]
    if not lead or min(least) < 1 or scope.most_elements(target) > MOST:
        return None
    return keeping(value, target, lambda: build(scope, value, lead, least))


gather_nd = partial(
    _gathered,
    build=lambda scope, value, lead, least: op.gather_nd(
        value.expr, index_constant(scope, min(least), [*lead, len(least)]), 0
    ),
)
index_tensor = partial(
    _gathered,
    build=lambda scope, value, lead, least: op.index_tensor(
        value.expr, [index_constant(scope, extent, lead) for extent in least]
    ),
)


def squeeze(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``squeeze`` of dims of extent 1."""
    dims = value.shape
    ones = [place for place, dim in enumerate(dims) if isinstance(dim, int) and dim == 1]
    more = value.rank - rank
    if len(ones) < more:
        return None
    gone = [ones[place] for place in drawn_places(scope, len(ones), more)]
    kept = [dim for place, dim in enumerate(dims) if place not in gone]
    return keeping(value, kept, lambda: op.squeeze(value.expr, gone))


def flatten(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``flatten`` to one dim."""
    if rank != 1:
        return None
    return keeping(value, [product(value.shape)], lambda: op.flatten(value.expr))


def batch_flatten(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``nn.batch_flatten``: the first dim stays, the rest become one."""
    if rank != 2:
        return None
    first, *rest = value.shape
    return keeping(value, [first, product(rest)], lambda: op.nn.batch_flatten(value.expr))


def merge_reshape(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``reshape`` that makes neighbouring dims one."""
    dims = list(value.shape)
    if rank == 0:
        return reshaped(scope, value, []) if all(isinstance(dim, int) and dim == 1 for dim in dims) else None
    for _ in range(value.rank - rank):
        place = scope.index(len(dims) - 1)
        dims[place : place + 2] = [product(dims[place : place + 2])]
    return reshaped(scope, value, dims)


def _reduced(scope: Scope, value: Value, rank: int, name: str) -> Proposal | None:
    if value.dtype == "bool" or value.dtype in LOW_PRECISION or (name == "mean" and not is_float(value.dtype)):
        return None
    dims = value.shape
    more = value.rank - rank
    keepdims = more == 0
    gone = drawn_places(scope, value.rank, more or 1)
    known = value.known
    if not gone or any(scope.least(dims[place]) < 1 for place in gone):
        return None
    if name == "sum":
        known = known.summed(1).union(known.summed(max(scope.most_elements([dims[place] for place in gone]), 1)))
        if not dtype_bounds(value.dtype).contains(known):
            return None
    if name == "mean":
        known = Bounds(known.lo, known.hi)  # of whole numbers no whole number
    if name in ("mean", "sum"):
        known = known.rounded_as(value.dtype)
    kept = [1 if place in gone else dim for place, dim in enumerate(dims) if keepdims or place not in gone]
    return Proposal(tuple(kept), lambda: getattr(op, name)(value.expr, gone, keepdims=keepdims), known)


def strided_slice(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``strided_slice`` that leaves at most four of each static dim."""
    dims = list(value.shape)
    cut = [place for place, dim in enumerate(dims) if isinstance(dim, int) and dim > 1]
    if not cut:
        return None
    begin = [scope.index(2) for _ in cut]
    end = [min(int(dims[place]), first + scope.integer(1, 4)) for place, first in zip(cut, begin, strict=True)]
    for place, first, last in zip(cut, begin, end, strict=True):
        dims[place] = last - first
    return keeping(value, dims, lambda: op.strided_slice(value.expr, cut, begin, end))


def permute(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``permute_dims`` by a rotation or reversed."""
    if rank < 2:
        return None
    shift = scope.index(rank)
    order = [(place + shift) % rank for place in range(rank)] if shift else list(reversed(range(rank)))
    return keeping(value, [value.shape[place] for place in order], lambda: op.permute_dims(value.expr, order))


def concat(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``concat`` with itself along an axis."""
    where = scope.index(rank)
    return _lengthened(scope, value, where, 2, lambda: op.concat([value.expr, value.expr], where))


def repeat(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``repeat`` along an axis."""
    where, times = scope.index(rank), scope.integer(2, 3) if rank else 2
    return _lengthened(scope, value, where, times, lambda: op.repeat(value.expr, times, where))


def _lengthened(scope: Scope, value: Value, where: int, times: int, build: Callable[[], Any]) -> Proposal | None:
    """Propose a step that makes a static dim a few times as long."""
    if value.rank == 0 or not isinstance(value.shape[where], int):
        return None
    dims = replaced(value.shape, where, value.shape[where] * times)
    return None if scope.most_elements(dims) > MOST else keeping(value, dims, build)


def pad(scope: Scope, value: Value, rank: int) -> Proposal | None:
    """Propose ``nn.pad`` by zeros."""
    if rank == 0 or not value.is_static or not can_pad(value):
        return None
    widths = [scope.index(3) for _ in range(2 * rank)]
    dims = [dim + widths[2 * place] + widths[2 * place + 1] for place, dim in enumerate(value.shape)]
    if math.prod(dims) > MOST:
        return None
    return Proposal(tuple(dims), lambda: op.nn.pad(value.expr, widths), value.known.including(0.0))


_MAX, _MIN, _MEAN, _SUM = (partial(_reduced, name=name) for name in ("max", "min", "mean", "sum"))


GROW: tuple[Ranker, ...] = (expand_dims, split_reshape, broadcast, stack, take, tile, gather_nd, index_tensor)
"""To a greater rank."""


SHRINK: tuple[Ranker, ...] = (
    squeeze, flatten, batch_flatten, merge_reshape, take, _MAX, _MEAN, _MIN, _SUM, gather_nd, index_tensor,
)  # fmt: skip
"""To a smaller rank."""


SAME: tuple[Ranker, ...] = (strided_slice, permute, take, _MAX, _MIN, _MEAN, _SUM, concat, repeat, pad, tile, gather_nd)
"""To other dims of the same rank."""
