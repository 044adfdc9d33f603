"""Adapters: single operators that bring a value to another rank, shape or dtype, as tables to draw from.

Each is a function that draws its attributes and answers with a :class:`Step`, or with ``None`` where it cannot serve.
Nothing is emitted before the step is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import FLOAT8, LOW_PRECISION, Bounds, dtype_bounds, is_float
from strategies.operators.drawing import bounds_of, keep, shape_of
from strategies.values import Dim, Value, same_dim, same_dims

if TYPE_CHECKING:
    from strategies.scope import Scope

op = relax.op

MOST = 1024
"""Adapters make no tensor of more elements."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operator, not emitted yet.

    Attributes:
        dims: Shape of its result.
        build: Makes the call.
        bounds: What the elements of the result lie in.
    """

    dims: tuple[Dim, ...]
    build: Callable[[], Any]
    bounds: Bounds


Ranker = Callable[["Scope", Value, int], "Step | None"]
"""Brings a value to a rank."""

Shaper = Callable[["Scope", Value, "tuple[Dim, ...]"], "Step | None"]
"""Brings a value to a shape."""

Typer = Callable[["Scope", Value, str], "Value | None"]
"""Brings a value to a dtype: emits what it takes."""


def _keeping(value: Value, dims: Sequence[Dim], build: Callable[[], Any]) -> Step:
    return Step(tuple(dims), build, bounds_of(value))


def _least(scope: Scope, dim: Dim) -> int:
    return scope.dim_range(dim)[0]


def _indices(scope: Scope, least: int, shape: Sequence[int], dtype: str = "int64") -> Any:
    """A constant of indices below the least extent they may meet."""
    return scope.constant(shape, dtype, Bounds(0, least - 1, True)).expr


def _places(scope: Scope, count: int, chosen: int) -> list[int]:
    """Draw ``chosen`` of ``count`` places, in their order."""
    rest = list(range(count))
    while len(rest) > chosen:
        del rest[scope.index(len(rest))]
    return rest


# -- to more dims ------------------------------------------------------------------------------------------------


def expand_dims(scope: Scope, value: Value, rank: int) -> Step | None:
    """``expand_dims`` at drawn places."""
    places = _places(scope, rank, rank - value.rank)
    dims = list(shape_of(value))
    for place in places:
        dims.insert(place, 1)
    named = [place - rank if scope.index(4) == 3 else place for place in places]
    return _keeping(value, dims, lambda: op.expand_dims(value.expr, named))


def split_reshape(scope: Scope, value: Value, rank: int) -> Step | None:
    """``reshape`` that splits static dims, or puts ones in where none can be split."""
    dims = list(shape_of(value))
    for _ in range(rank - value.rank):
        whole = [place for place, dim in enumerate(dims) if isinstance(dim, int) and dim in (4, 6, 8, 9, 12, 16)]
        if whole and scope.index(4):
            place = scope.pick(whole)
            factor = 3 if dims[place] == 9 else 2
            dims[place : place + 1] = [factor, dims[place] // factor]
        else:
            dims.insert(scope.index(len(dims) + 1), 1)
    return _reshape(scope, value, dims)


def _reshape(scope: Scope, value: Value, dims: list[Dim]) -> Step | None:
    # In a target, 0 means "as in the operand at this place".
    if any(isinstance(dim, int) and dim == 0 for dim in dims):
        return None
    return _keeping(value, dims, lambda: op.reshape(value.expr, scope.shape_expr(dims)))


def broadcast(scope: Scope, value: Value, rank: int) -> Step | None:
    """``broadcast_to`` more leading dims."""
    dims = [scope.integer(1, 3) for _ in range(rank - value.rank)] + list(shape_of(value))
    if scope.most_elements(dims) > MOST:
        return None
    return _keeping(value, dims, lambda: op.broadcast_to(value.expr, scope.shape_expr(dims)))


def tile(scope: Scope, value: Value, rank: int) -> Step | None:
    """``tile`` by factors for more dims than there are."""
    if not value.is_static or value.rank == 0:
        return None
    more = rank - value.rank
    factors = [scope.integer(1, 3) for _ in range(more)] + [scope.pick((1, 1, 2)) for _ in range(value.rank)]
    old = [1] * more + list(shape_of(value))
    dims = [factor * dim for factor, dim in zip(factors, old, strict=True)]
    if math.prod(dims) > MOST:
        return None
    return _keeping(value, dims, lambda: op.tile(value.expr, factors))


def stack(scope: Scope, value: Value, rank: int) -> Step | None:
    """``stack`` with itself, or with another of the same shape and dtype."""
    if rank != value.rank + 1:
        return None
    others = [
        other
        for other in scope.values[-8:]
        if other.dtype == value.dtype and other.device is None and same_dims(other.dims, value.dims)
    ]
    items = [value, *(scope.pick(others) for _ in range(scope.index(3)))] if others else [value]
    where = scope.index(rank)
    dims = list(shape_of(value))
    dims.insert(where, len(items))
    if scope.most_elements(dims) > MOST:
        return None
    known = bounds_of(value)
    for item in items:
        known = known.union(bounds_of(item))
    return Step(tuple(dims), lambda: op.stack([item.expr for item in items], where), known)


# -- by indices: to any rank -------------------------------------------------------------------------------------


def take(scope: Scope, value: Value, rank: int) -> Step | None:
    """``take`` by a constant of as many dims as it needs: none drops the axis, several make more."""
    depth = rank - value.rank + 1
    if value.rank == 0 or not 0 <= depth <= 3:
        return None
    where = scope.index(value.rank)
    dims = list(shape_of(value))
    shape = [scope.integer(1, 3) for _ in range(depth)]
    least = _least(scope, dims[where])
    dims[where : where + 1] = shape
    if least < 1 or scope.most_elements(dims) > MOST:
        return None
    return _keeping(value, dims, lambda: op.take(value.expr, _indices(scope, least, shape), where))


def gather_nd(scope: Scope, value: Value, rank: int) -> Step | None:
    """``gather_nd`` by a constant: the leading dims that it addresses become those of the constant."""
    if value.rank == 0 or rank == 0:
        return None
    depth = scope.integer(max(1, value.rank - rank + 1), value.rank)
    dims = shape_of(value)
    lead = [scope.integer(1, 3) for _ in range(rank - value.rank + depth)]
    least = min(_least(scope, dim) for dim in dims[:depth])
    target = [*lead, *dims[depth:]]
    if not lead or least < 1 or scope.most_elements(target) > MOST:
        return None
    return _keeping(value, target, lambda: op.gather_nd(value.expr, _indices(scope, least, [*lead, depth]), 0))


def index_tensor(scope: Scope, value: Value, rank: int) -> Step | None:
    """``index_tensor`` by constants of one shape, one for each leading dim that they address."""
    if value.rank == 0 or rank == 0:
        return None
    depth = scope.integer(max(1, value.rank - rank + 1), value.rank)
    dims = shape_of(value)
    lead = [scope.integer(1, 3) for _ in range(rank - value.rank + depth)]
    least = [_least(scope, dim) for dim in dims[:depth]]
    target = [*lead, *dims[depth:]]
    if not lead or min(least) < 1 or scope.most_elements(target) > MOST:
        return None
    return _keeping(
        value, target, lambda: op.index_tensor(value.expr, [_indices(scope, extent, lead) for extent in least])
    )


# -- to fewer dims -----------------------------------------------------------------------------------------------


def squeeze(scope: Scope, value: Value, rank: int) -> Step | None:
    """``squeeze`` of dims of extent 1."""
    dims = shape_of(value)
    ones = [place for place, dim in enumerate(dims) if isinstance(dim, int) and dim == 1]
    more = value.rank - rank
    if len(ones) < more:
        return None
    gone = [ones[place] for place in _places(scope, len(ones), more)]
    kept = [dim for place, dim in enumerate(dims) if place not in gone]
    return _keeping(value, kept, lambda: op.squeeze(value.expr, gone))


def _product(dims: Sequence[Dim]) -> Dim:
    if any(isinstance(dim, int) and dim == 0 for dim in dims):
        return 0
    total: Dim = 1
    for dim in dims:
        total = dim if isinstance(total, int) and total == 1 else total * dim
    return total


def flatten(scope: Scope, value: Value, rank: int) -> Step | None:
    """``flatten`` to one dim."""
    if rank != 1 or value.rank == 0:
        return None
    return _keeping(value, [_product(shape_of(value))], lambda: op.flatten(value.expr))


def batch_flatten(scope: Scope, value: Value, rank: int) -> Step | None:
    """``nn.batch_flatten``: the first dim stays, the rest become one."""
    if rank != 2 or value.rank < 2:
        return None
    first, *rest = shape_of(value)
    return _keeping(value, [first, _product(rest)], lambda: op.nn.batch_flatten(value.expr))


def merge_reshape(scope: Scope, value: Value, rank: int) -> Step | None:
    """``reshape`` that makes neighbouring dims one."""
    dims = list(shape_of(value))
    if rank == 0:
        return _reshape(scope, value, []) if all(isinstance(dim, int) and dim == 1 for dim in dims) else None
    for _ in range(value.rank - rank):
        place = scope.index(len(dims) - 1)
        dims[place : place + 2] = [_product(dims[place : place + 2])]
    return _reshape(scope, value, dims)


def _reducer(name: str) -> Ranker:
    call = getattr(op, name)

    def reduce(scope: Scope, value: Value, rank: int) -> Step | None:
        if value.dtype == "bool" or value.dtype in LOW_PRECISION or (name == "mean" and not is_float(value.dtype)):
            return None
        dims = shape_of(value)
        more = value.rank - rank
        keepdims = more == 0
        gone = _places(scope, value.rank, more or 1)
        known = bounds_of(value)
        if not gone or any(_least(scope, dims[place]) < 1 for place in gone):
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
        return Step(tuple(kept), lambda: call(value.expr, gone, keepdims=keepdims), known)

    return reduce


# -- with the same rank ------------------------------------------------------------------------------------------


def strided_slice(scope: Scope, value: Value, rank: int) -> Step | None:
    """``strided_slice`` that leaves at most four of each static dim."""
    if rank != value.rank:
        return None
    dims = list(shape_of(value))
    cut = [place for place, dim in enumerate(dims) if isinstance(dim, int) and dim > 1]
    if not cut:
        return None
    begin = [scope.index(2) for _ in cut]
    end = [min(int(dims[place]), first + scope.integer(1, 4)) for place, first in zip(cut, begin, strict=True)]
    for place, first, last in zip(cut, begin, end, strict=True):
        dims[place] = last - first
    return _keeping(value, dims, lambda: op.strided_slice(value.expr, cut, begin, end))


def permute(scope: Scope, value: Value, rank: int) -> Step | None:
    """``permute_dims`` by a rotation or reversed."""
    if rank != value.rank or rank < 2:
        return None
    shift = scope.index(rank)
    order = [(place + shift) % rank for place in range(rank)] if shift else list(reversed(range(rank)))
    dims = shape_of(value)
    return _keeping(value, [dims[place] for place in order], lambda: op.permute_dims(value.expr, order))


def concat(scope: Scope, value: Value, rank: int) -> Step | None:
    """``concat`` with itself along an axis."""
    if rank != value.rank or rank == 0:
        return None
    where = scope.index(rank)
    dims = list(shape_of(value))
    if not isinstance(dims[where], int):
        return None
    dims[where] = dims[where] * 2
    if scope.most_elements(dims) > MOST:
        return None
    return _keeping(value, dims, lambda: op.concat([value.expr, value.expr], where))


def repeat(scope: Scope, value: Value, rank: int) -> Step | None:
    """``repeat`` along an axis."""
    if rank != value.rank or rank == 0:
        return None
    where, times = scope.index(rank), scope.integer(2, 3)
    dims = list(shape_of(value))
    if not isinstance(dims[where], int):
        return None
    dims[where] = dims[where] * times
    if scope.most_elements(dims) > MOST:
        return None
    return _keeping(value, dims, lambda: op.repeat(value.expr, times, where))


def pad(scope: Scope, value: Value, rank: int) -> Step | None:
    """``nn.pad`` by zeros."""
    if rank != value.rank or rank == 0 or not value.is_static or not _pads(value):
        return None
    widths = [scope.index(3) for _ in range(2 * rank)]
    dims = [dim + widths[2 * place] + widths[2 * place + 1] for place, dim in enumerate(shape_of(value))]
    if math.prod(dims) > MOST:
        return None
    return Step(tuple(dims), lambda: op.nn.pad(value.expr, widths), bounds_of(value).including(0.0))


def _pads(value: Value) -> bool:
    return value.dtype != "bool" and value.dtype not in LOW_PRECISION


_MAX, _MIN, _MEAN, _SUM = (_reducer(name) for name in ("max", "min", "mean", "sum"))

GROW: tuple[Ranker, ...] = (
    expand_dims,
    split_reshape,
    broadcast,
    stack,
    take,
    tile,
    gather_nd,
    index_tensor,
)
"""To a greater rank."""

SHRINK: tuple[Ranker, ...] = (
    squeeze,
    flatten,
    batch_flatten,
    merge_reshape,
    take,
    _MAX,
    _MEAN,
    _MIN,
    _SUM,
    gather_nd,
    index_tensor,
)
"""To a smaller rank."""

SAME: tuple[Ranker, ...] = (strided_slice, permute, take, _MAX, _MIN, _MEAN, _SUM, concat, repeat, pad, tile, gather_nd)
"""To other dims of the same rank."""


# -- to a given shape --------------------------------------------------------------------------------------------


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
    return _keeping(value, target, lambda: op.broadcast_to(value.expr, scope.shape_expr(target)))


def reshape_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``reshape`` of as many elements."""
    if not value.is_static or not _static(target) or math.prod(shape_of(value)) != math.prod(target):
        return None
    return _reshape(scope, value, list(target))


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
    return _keeping(value, target, lambda: op.permute_dims(value.expr, order))


def expand_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``expand_dims`` where only ones lack."""
    places = _missing(shape_of(value), target)
    if not places or any(not isinstance(target[place], int) or target[place] != 1 for place in places):
        return None
    return _keeping(value, target, lambda: op.expand_dims(value.expr, places))


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
    return _keeping(value, target, lambda: op.squeeze(value.expr, places))


def reduce_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``max``, ``min`` or ``mean`` over the dims that are too many."""
    dims = shape_of(value)
    places = _missing(target, dims)
    if not places or value.dtype == "bool" or value.dtype in LOW_PRECISION:
        return None
    if any(_least(scope, dims[place]) < 1 for place in places):
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
    return _keeping(value, target, lambda: op.strided_slice(value.expr, cut, begin, end))


def pad_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``nn.pad`` of dims that are too short, by zeros."""
    dims = shape_of(value)
    if value.rank != len(target) or not value.is_static or not _static(target) or value.rank == 0 or not _pads(value):
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
    return _keeping(value, target, lambda: op.tile(value.expr, factors))


def take_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``take`` along one axis by a constant: of a vector any shape."""
    where = scope.index(value.rank) if value.rank else 0
    dims = shape_of(value)
    if value.rank == 0 or len(target) < value.rank - 1 or _least(scope, dims[where]) < 1:
        return None
    depth = len(target) - value.rank + 1
    shape = target[where : where + depth]
    rest = (*target[:where], *target[where + depth :])
    if not _static(shape) or not same_dims(rest, (*dims[:where], *dims[where + 1 :])):
        return None
    least = _least(scope, dims[where])
    return _keeping(value, target, lambda: op.take(value.expr, _indices(scope, least, shape), where))


def gather_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``gather_nd`` or ``index_tensor`` of single elements by constants."""
    if value.rank == 0 or not target or not _static(target):
        return None
    least = [_least(scope, dim) for dim in shape_of(value)]
    if min(least) < 1:
        return None
    if scope.index(2):
        return _keeping(
            value, target, lambda: op.index_tensor(value.expr, [_indices(scope, extent, target) for extent in least])
        )
    shape = [*target, value.rank]
    return _keeping(value, target, lambda: op.gather_nd(value.expr, _indices(scope, min(least), shape), 0))


def collapse_into(scope: Scope, value: Value, target: tuple[Dim, ...]) -> Step | None:
    """``collapse_sum_to`` a shape that broadcasts to the value's."""
    if value.dtype == "bool" or value.dtype in LOW_PRECISION or not _stretches(target, shape_of(value)):
        return None
    if any(_least(scope, dim) < 1 for dim in shape_of(value)):
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


# -- to another dtype --------------------------------------------------------------------------------------------


def cast(scope: Scope, value: Value, dtype: str) -> Value | None:
    """``astype``, of a value within the dtype's range."""
    if dtype == "bool":
        return None
    limit = dtype_bounds(dtype)
    if value.dtype != "bool":
        value = keep(scope, value, max(limit.lo, -1.0e4), min(limit.hi, 1.0e4))
    known = bounds_of(value)
    if value.dtype in FLOAT8 and is_float(dtype) and known.lo <= 0 <= known.hi:
        # TVM defect: a zero of eight bits becomes 2**-7 or 2**-15 in every other float.
        known = Bounds(known.lo, known.hi).union(Bounds(-(2.0**-7), 2.0**-7))
    if is_float(dtype):
        exact = known.integral and (dtype in ("float32", "float64") or known.magnitude <= 2048)
        known = known if exact and dtype not in LOW_PRECISION else known.rounded_as(dtype)
        known = known if exact or not known.integral else known.rounded()
    else:
        known = Bounds(math.trunc(known.lo), math.trunc(known.hi), True)
    return scope.emit(op.astype(value.expr, dtype), known)


def compare(scope: Scope, value: Value, dtype: str) -> Value | None:
    """A comparison with a number, for a boolean."""
    if dtype != "bool" or value.dtype == "bool":
        return None
    call = scope.pick((op.greater, op.less, op.not_equal, op.greater_equal, op.less_equal, op.equal))
    number = scope.pick((0, 1))
    return scope.emit(call(value.expr, relax.const(number, value.dtype)), Bounds(0, 1, True))


def classify(scope: Scope, value: Value, dtype: str) -> Value | None:
    """``isfinite``, ``isnan`` or ``isinf`` of a float, for a boolean."""
    if dtype != "bool" or value.dtype not in ("float32", "float64"):
        return None
    call = scope.pick((op.isfinite, op.isnan, op.isinf))
    return scope.emit(call(value.expr), Bounds(0, 1, True))


def choose(scope: Scope, value: Value, dtype: str) -> Value | None:
    """``where`` between two numbers, of a boolean."""
    if dtype == "bool" or value.dtype != "bool" or dtype in LOW_PRECISION:
        return None
    left, right = relax.const(scope.pick((1, 2)), dtype), relax.const(scope.pick((0, 3)), dtype)
    return scope.emit(op.where(value.expr, left, right), Bounds(0, 3, True))


def quantize(scope: Scope, value: Value, dtype: str) -> Value | None:
    """``quantize`` to 8 bits, which saturates."""
    if dtype not in ("int8", "uint8") or value.dtype != "float32" or value.rank == 0:
        return None
    scale = relax.const(scope.pick((0.5, 0.125, 1.0)), "float32")
    call = op.quantize(value.expr, scale, relax.const(scope.index(3), "int8"), scope.index(value.rank), dtype)
    return scope.emit(call, dtype_bounds(dtype) if dtype == "uint8" else Bounds(-128, 127, True))


def dequantize(scope: Scope, value: Value, dtype: str) -> Value | None:
    """``dequantize`` from 8 bits."""
    if dtype not in ("float32", "float16") or value.dtype not in ("int8", "uint8") or value.rank == 0:
        return None
    scale = relax.const(scope.pick((0.5, 0.125, 1.0)), dtype)
    call = op.dequantize(value.expr, scale, relax.const(scope.index(3), "int8"), scope.index(value.rank), dtype)
    size = bounds_of(value).magnitude + 3.0
    return scope.emit(call, Bounds(-size, size))


TYPERS: tuple[Typer, ...] = (cast, compare, classify, choose, quantize, dequantize)
"""To another dtype."""
