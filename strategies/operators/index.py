"""Operators that read or write at indices: gathers, slices and scatters.

Indices are data, and out of range they are undefined behaviour (the fast mode of ``take`` reads whatever is there), so
they are drawn with bounds below the extent. A scatter that overwrites one element twice depends on the order: its
indices are constants without repetition, unless the reduction does not care about the order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tvm import relax

from strategies.operators import intervals
from strategies.operators.drawing import ANY, INTEGERS, MATRIX_UP, SIGNED, SOME_RANK
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import Bounds, default_bounds, holds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.INDEX)

op = relax.op

INDEX_DTYPES = ("int64", "int32")


def indices_below(scope: Scope, extent: Any, shape: tuple[Any, ...], dtypes: tuple[str, ...] = INDEX_DTYPES) -> Value:
    """Draw a tensor of indices in ``[0, least value of extent)``, of a shape."""
    return scope.tensor(dtypes=dtypes, shape=shape, bounds=_below(scope, extent))


def _below(scope: Scope, extent: Any) -> Bounds:
    # What is guarded may be of eight bits, where a greater bound would wrap round.
    return Bounds(0, min(max(scope.dim_range(extent)[0] - 1, 0), 127), True)


def _small_shape(scope: Scope, ranks: tuple[int, int]) -> tuple[int, ...]:
    return tuple(scope.integer(1, 4) for _ in range(scope.integer(*ranks)))


def _filled(value: Value) -> bool:
    """Say whether no dim of a static shape is 0."""
    return 0 not in value.shape


@ROWS.row("take", bounds=intervals.take)
def draw_take(scope: Scope) -> Value | None:
    """Draw ``take`` along an axis with an index tensor of any rank, in each of its modes.

    Only the fast mode reads what is there: the others clip an index out of range or wrap it round, so any will do.
    """
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=scope.nonempty)
    dims = operand.shape
    where = scope.axis(operand.rank)
    mode = scope.pick(("fast", "clip", "wrap"))

    def fits(value: Value) -> bool:
        rest = [dim for place, dim in enumerate(dims) if place != where % len(dims)]
        return value.rank + len(rest) <= 6 and scope.affordable((*rest, *value.shape))

    ranks = (1, 0, 2, 1, 3)
    bounds = _below(scope, dims[where]) if mode == "fast" or scope.flip() else None
    indices = scope.tensor(dtypes=INTEGERS, ranks=ranks, bounds=bounds, where=fits)
    if operand.rank == 1 and scope.index(4) == 3:
        return scope.emit(op.take(operand.expr, indices.expr, mode=mode), operand.known)
    return scope.emit(op.take(operand.expr, indices.expr, where, mode), operand.known)


@ROWS.row("gather_elements")
def draw_gather_elements(scope: Scope) -> Value | None:
    """Draw ``gather_elements`` with indices of the same rank, no longer than the data off the axis."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=scope.nonempty)
    where = scope.axis(operand.rank)
    known = operand.shape

    def fits(value: Value) -> bool:
        return value.rank == operand.rank and all(
            place == where % operand.rank or scope.dim_range(dim)[1] <= scope.dim_range(known[place])[0]
            for place, dim in enumerate(value.shape)
        )

    hand = [value for value in reversed(scope.tensors(fits)) if value.dtype in SIGNED and value.device is None]
    if hand and scope.flip():
        indices = scope.guard(hand[scope.index(len(hand))], _below(scope, known[where]))
    else:
        dims = [
            scope.integer(1, dim) if isinstance(dim, int) and dim <= 8 and not scope.index(4) else dim for dim in known
        ]
        dims[where] = scope.integer(1, 4)
        indices = indices_below(scope, known[where], tuple(dims), SIGNED)
    return scope.emit(op.gather_elements(operand.expr, indices.expr, where), operand.known)


@ROWS.row("gather_nd")
def draw_gather_nd(scope: Scope) -> Value | None:
    """Draw ``gather_nd``: the last dim of the indices says how many dims they address, after those that are batched."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=scope.nonempty)
    dims = operand.shape
    batched = scope.index(min(operand.rank, 3)) if scope.index(3) == 2 else 0
    depth = scope.integer(1, min(operand.rank - batched, 4))
    least = min(scope.dim_range(dim)[0] for dim in dims[batched : batched + depth])
    middle = _small_shape(scope, (0, 2))
    if not scope.affordable((*dims, *middle)):
        middle = ()
    indices = indices_below(scope, least, (*dims[:batched], *middle, depth), ("int64",))
    return scope.emit(op.gather_nd(operand.expr, indices.expr, batched), operand.known)


@ROWS.row("index_tensor")
def draw_index_tensor(scope: Scope) -> Value | None:
    """Draw ``index_tensor`` with one to three index tensors that broadcast."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=scope.nonempty)
    dims = operand.shape
    shape = _small_shape(scope, (1, 2 if operand.rank < 5 else 1))
    if not scope.affordable((*dims, *shape)):
        shape = (1,)
    indices = []
    for place in range(scope.integer(1, min(3, operand.rank))):
        own = (
            shape
            if scope.index(3) < 2
            else tuple(1 if scope.flip() else dim for dim in shape)[scope.index(len(shape)) :]
        )
        indices.append(indices_below(scope, dims[place], own, SIGNED))
    return scope.emit(op.index_tensor(operand.expr, [index.expr for index in indices]), operand.known)


@ROWS.row("strided_slice", bounds=intervals.moved)
def draw_strided_slice(scope: Scope) -> Value | None:
    """Draw ``strided_slice``: forwards or backwards, large strides, ends counted from either side or far outside."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=lambda v: any(_long(scope, dim) for dim in v.shape))
    dims = operand.shape
    places = [index for index, dim in enumerate(dims) if _long(scope, dim)]
    chosen = scope.subset(places)
    inbound = not scope.index(4)
    begin, end, strides = [], [], []
    for place in chosen:
        dim = dims[place]
        if isinstance(dim, int):
            first, last, stride = _slice(scope, dim, inbound)
        else:  # the first element is there whatever the dim is
            inbound = True
            first, last, stride = 0, 1, 1
        begin.append(first)
        end.append(last)
        strides.append(stride)
    # TVM defect: where a dim is symbolic, a negative axis passes inference, not the kernel ("axis < src_tensor_dim").
    negative = scope.flip() and (operand.is_static or not scope.executable)
    named = [place - operand.rank if negative else place for place in chosen]
    if inbound and not all(first >= 0 and last >= 0 for first, last in zip(begin, end, strict=True)):
        inbound = False
    given = None if all(stride == 1 for stride in strides) and scope.flip() else strides
    call = op.strided_slice(operand.expr, named, begin, end, given, assume_inbound=inbound)
    return scope.emit(call, operand.known)


def _slice(scope: Scope, extent: int, inbound: bool) -> tuple[int, int, int]:
    """Begin, end and stride within a static extent of at least 1."""
    first, way = scope.integer(0, extent - 1), scope.index(8)
    if inbound or way < 3:
        return first, scope.integer(first + 1, extent), scope.pick((1, 2, 3))
    if way == 3:  # both counted from the end
        last = scope.integer(first + 1, extent)
        return first - extent, (last - extent if last < extent else extent), scope.pick((1, 2))
    if way == 4:  # beyond both ends: cut off
        return -extent - 9, scope.pick((extent + 7, 2**31 - 1, 2**63 - 1)), scope.pick((1, 2, 100))
    if way == 5 and scope.has(Feature.EMPTY_TENSORS):
        # TVM defect: an end before the begin makes a negative dim, so only an equal one makes an empty slice.
        return first, first, 1
    if way == 6:  # all of it backwards
        return -1, -extent - 1, scope.pick((-1, -2, -3))
    if first > 0:
        return first, scope.integer(0, first - 1), scope.pick((-1, -2, -3))
    return 0, extent, 1


def _long(scope: Scope, dim: Any) -> bool:
    return scope.dim_range(dim)[0] >= 1


@ROWS.row("dynamic_strided_slice", feature=Feature.DATA_DEPENDENT)
def draw_dynamic_strided_slice(scope: Scope) -> Value | None:
    """Draw ``dynamic_strided_slice`` with constant ends; its inferred shape is unknown, so the true one is cast to."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, static=True, where=_filled)
    begin, end, stride, dims = [], [], [], []
    for dim in operand.shape:
        extent = int(dim)
        first = scope.integer(0, extent - 1)
        way = scope.index(4)
        if way == 3 and first > 0:  # backwards
            last, step = scope.integer(0, first - 1), scope.pick((-1, -2))
            length = -(-(first - last) // -step)
        else:
            last, step = scope.integer(first + 1, extent), scope.pick((1, 2, 3))
            length = -(-(last - first) // step)
            if way == 2 and last == extent:  # beyond the end: cut off
                last += 5
            if way == 1:  # counted from the end
                first -= extent
        begin.append(first)
        end.append(last)
        stride.append(step)
        dims.append(length)
    ends = [relax.const(np.array(numbers), "int64") for numbers in (begin, end, stride)]
    sliced = scope.emit(op.dynamic_strided_slice(operand.expr, *ends), operand.known)
    return scope.match_cast(sliced, dims)


@ROWS.row("reverse_sequence")
def draw_reverse_sequence(scope: Scope) -> Value | None:
    """Draw ``reverse_sequence``: the first elements of each sequence reversed; lengths from 0 to the extent."""
    operand = scope.tensor(dtypes=ANY, ranks=MATRIX_UP, where=scope.nonempty)
    dims = operand.shape
    along = scope.index(operand.rank)
    batch = (along + scope.integer(1, operand.rank - 1)) % operand.rank
    lengths = scope.tensor(
        dtypes=INDEX_DTYPES, shape=(dims[batch],), bounds=Bounds(0, max(scope.dim_range(dims[along])[0], 1), True)
    )
    if scope.index(3) == 2:
        along -= operand.rank
    if scope.index(3) == 2:
        batch -= operand.rank
    return scope.emit(op.reverse_sequence(operand.expr, lengths.expr, along, batch), operand.known)


def _distinct(scope: Scope, count: int, extent: int) -> np.ndarray[Any, Any]:
    """Return ``count`` (at most ``extent``) distinct indices below ``extent``, in a drawn order."""
    start, step = scope.index(extent), scope.pick([n for n in range(1, extent + 1) if math.gcd(n, extent) == 1])
    return (start + step * np.arange(count)) % extent


def _combined(scope: Scope, data: Value, updates: Value, ways: tuple[str, ...]) -> tuple[str, Value, Value, Bounds]:
    """Draw a drawn reduction, operands guarded so that it stays in the dtype, and the bounds of its result."""
    way, domain = scope.pick(ways), default_bounds(data.dtype)
    for attempt in range(2):
        if attempt:
            data, updates = (scope.keep(value, domain.lo, domain.hi) for value in (data, updates))
        left, right = data.known, updates.known
        known = left.union(right)
        if way == "add":
            known = left.union(left + right)
        elif way == "mul":
            known = left.union(left * right)
        if holds(data.dtype, known):
            break
    return way, data, updates, known


_WAYS = ("update", "add", "mul", "max", "min")


def _scattered(scope: Scope) -> Value:
    """Return the data of a scatter: of any shape without a 0, not too long."""
    return scope.tensor(
        dtypes=ANY,
        ranks=SOME_RANK,
        static=True,
        where=lambda value: _filled(value) and scope.affordable((4, *value.shape)),
    )


def _ways(dtype: str, mean: bool = False) -> tuple[str, ...]:
    """Return reductions with a kernel for a dtype.

    TVM defects: booleans are only overwritten, for the rest there is no instruction; the mean of integers is a division
    that TIR calls ambiguous.
    """
    if dtype == "bool":
        return ("update",)
    return (*_WAYS, "mean") if mean and "float" in dtype else _WAYS


@ROWS.row("scatter_elements", OperatorFamily.SCATTER)
def draw_scatter_elements(scope: Scope) -> Value | None:
    """Draw ``scatter_elements`` along one axis of at most as many elements as there are, at distinct indices."""
    operand = _scattered(scope)
    where = scope.axis(operand.rank)
    dims = [int(dim) for dim in operand.shape]
    extent = dims[where]
    if scope.index(4) == 3:
        dims = [scope.integer(1, min(dim, 8)) for dim in dims]
    dims[where] = scope.integer(1, min(extent, 64))
    along = [1] * operand.rank
    along[where] = dims[where]
    distinct = _distinct(scope, dims[where], extent)
    if scope.index(4) == 3:  # counted from the end
        distinct = distinct - extent
    index = np.broadcast_to(distinct.reshape(along), dims)
    updates = scope.tensor(dtypes=(operand.dtype,), shape=dims)
    way, operand, updates, known = _combined(scope, operand, updates, _ways(operand.dtype, mean=True))
    indices = relax.const(np.ascontiguousarray(index), scope.pick(INDEX_DTYPES))
    call = op.scatter_elements(operand.expr, indices, updates.expr, where, way)
    return scope.emit_rounded(call, known, operand.dtype)


@ROWS.row("scatter_nd", OperatorFamily.SCATTER)
def draw_scatter_nd(scope: Scope) -> Value | None:
    """Draw ``scatter_nd`` of elements or slices at distinct indices of the first dimensions."""
    operand = _scattered(scope)
    dims = [int(dim) for dim in operand.shape]
    depth = scope.integer(1, min(operand.rank, 3))
    rows = scope.integer(1, min(dims[0], 8))
    columns = [_distinct(scope, rows, dims[0])]
    columns += [(np.arange(rows) + scope.index(dim)) % dim for dim in dims[1:depth]]
    index = np.stack(columns, axis=-1)
    lead: tuple[int, ...] = (rows,)
    if scope.index(4) == 3 and operand.rank - depth < 5:
        lead = (1, rows) if scope.flip() else (rows, 1)
    updates = scope.tensor(dtypes=(operand.dtype,), shape=(*lead, *dims[depth:]))
    way, operand, updates, known = _combined(scope, operand, updates, _ways(operand.dtype))
    indices = relax.const(np.ascontiguousarray(index.reshape(*lead, depth)), scope.pick(INDEX_DTYPES))
    return scope.emit_rounded(op.scatter_nd(operand.expr, indices, updates.expr, way), known, operand.dtype)


@ROWS.row("slice_scatter", OperatorFamily.SCATTER)
def draw_slice_scatter(scope: Scope) -> Value | None:
    """Draw ``slice_scatter`` of a source into a strided slice along an axis, or over all of it."""
    operand = scope.tensor(dtypes=ANY, ranks=SOME_RANK, where=lambda v: any(_fixed(dim) for dim in v.shape))
    where = scope.pick([place for place, dim in enumerate(operand.shape) if _fixed(dim)])
    dims = list(operand.shape)
    extent = int(dims[where])
    # TVM defect: an end counted from the back is taken as it stands, and the slice for a longer one.
    first = scope.integer(0, extent - 1)
    last, step = scope.integer(first + 1, extent), scope.pick((1, 2, 3))
    if scope.index(6) == 5:
        first, last, step = 0, extent, 1
    dims[where] = -(-(last - first) // step)
    source = scope.tensor(dtypes=(operand.dtype,), shape=dims)
    named = where - operand.rank if scope.index(3) == 2 else where
    call = op.slice_scatter(operand.expr, source.expr, first, last, step, named)
    return scope.emit(call, operand.known.union(source.known))


def _fixed(dim: Any) -> bool:
    return isinstance(dim, int) and dim > 0


@ROWS.row("index_put", OperatorFamily.SCATTER)
def draw_index_put(scope: Scope) -> Value | None:
    """Draw ``index_put`` of values at distinct positions, which are overwritten or added to."""
    operand = _scattered(scope)
    dims = [int(dim) for dim in operand.shape]
    count = scope.integer(1, min(dims[0], 8))
    columns = [_distinct(scope, count, dims[0])]
    columns += [np.array([scope.index(dim) for _ in range(count)]) for dim in dims[1:]]
    dtype = scope.pick(INDEX_DTYPES)
    indices = [relax.const(column, dtype) for column in columns]
    values = scope.tensor(dtypes=(operand.dtype,), shape=(count,))
    ways = ("update", "add") if operand.dtype != "bool" else ("update",)
    way, operand, values, known = _combined(scope, operand, values, ways)
    given: Any = indices[0] if len(indices) == 1 and scope.flip() else tuple(indices)
    call = op.index_put(operand.expr, given, values.expr, accumulate=way == "add")
    return scope.emit_rounded(call, known, operand.dtype)
