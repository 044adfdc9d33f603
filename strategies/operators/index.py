"""Operators that read or write at indices: gathers, slices and scatters.

Indices are data, and out of range they are undefined behaviour (the fast mode of ``take`` reads whatever is there), so
they are drawn with bounds below the extent. A scatter that overwrites one element twice depends on the order: its
indices are constants without repetition, unless the reduction does not care about the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import relax

from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.operators.drawing import (
    ANY,
    NUMBERS,
    axis,
    bounds_of,
    flip,
    nonempty,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op

INDEX_DTYPES = ("int64", "int32")


def indices_below(scope: Scope, extent: Any, shape: tuple[Any, ...], dtypes: tuple[str, ...] = INDEX_DTYPES) -> Value:
    """A tensor of indices in ``[0, least value of extent)``."""
    greatest = max(scope.dim_range(extent)[0] - 1, 0)
    return scope.tensor(dtypes=dtypes, shape=shape, bounds=Bounds(0, greatest, True))


def _small_shape(scope: Scope, ranks: tuple[int, int]) -> tuple[int, ...]:
    return tuple(scope.integer(1, 4) for _ in range(scope.integer(*ranks)))


def draw_take(scope: Scope) -> Value | None:
    """``take`` along an axis with an index tensor of rank 0 to 2, in each of its modes."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), where=nonempty(scope))
    where = axis(scope, operand.rank)
    indices = indices_below(scope, shape_of(operand)[where], _small_shape(scope, (0, 2)))
    mode = scope.pick(("fast", "clip", "wrap"))
    if operand.rank == 1 and scope.index(4) == 3:
        return scope.emit(op.take(operand.expr, indices.expr, mode=mode), bounds_of(operand))
    return scope.emit(op.take(operand.expr, indices.expr, where, mode), bounds_of(operand))


def draw_gather_elements(scope: Scope) -> Value | None:
    """``gather_elements`` with indices of the same rank, no longer than the data off the axis."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), where=nonempty(scope))
    where = axis(scope, operand.rank)
    dims = list(shape_of(operand))
    dims[where] = scope.integer(1, 4)
    indices = indices_below(scope, shape_of(operand)[where], tuple(dims))
    return scope.emit(op.gather_elements(operand.expr, indices.expr, where), bounds_of(operand))


def draw_gather_nd(scope: Scope) -> Value | None:
    """``gather_nd``: the last dimension of the indices says how many leading dimensions of the data they address."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), where=nonempty(scope))
    dims = shape_of(operand)
    depth = scope.integer(1, operand.rank)
    least = min((scope.dim_range(dim)[0] for dim in dims[:depth]), default=1)
    indices = indices_below(scope, least, (*_small_shape(scope, (1, 2)), depth), ("int64",))
    return scope.emit(op.gather_nd(operand.expr, indices.expr, 0), bounds_of(operand))


def draw_index_tensor(scope: Scope) -> Value | None:
    """``index_tensor`` with one or two index tensors that broadcast."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), where=nonempty(scope))
    dims, size = shape_of(operand), scope.integer(1, 3)
    count = scope.integer(1, min(2, operand.rank))
    indices = [indices_below(scope, dims[place], (size,), ("int64",)) for place in range(count)]
    return scope.emit(op.index_tensor(operand.expr, [index.expr for index in indices]), bounds_of(operand))


def draw_strided_slice(scope: Scope) -> Value | None:
    """``strided_slice`` of static dimensions: forwards or backwards, with ends counted from either side."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), where=lambda v: any(_long(dim) for dim in shape_of(v)))
    dims = shape_of(operand)
    places = [index for index, dim in enumerate(dims) if _long(dim)]
    chosen = places[: scope.integer(1, len(places))]
    begin, end, strides = [], [], []
    for place in chosen:
        extent = int(dims[place])
        first = scope.integer(0, extent - 1)
        if flip(scope):
            last, stride = scope.integer(first + 1, extent), scope.pick((1, 2))
        elif first > 0 and scope.index(2):
            last, stride = scope.integer(0, first - 1), -1
        else:
            first, last, stride = first - extent, extent, 1
        begin.append(first)
        end.append(last)
        strides.append(stride)
    # A negative axis passes inference, not the kernel ("axis < src_tensor_dim").
    negative = not scope.executable and flip(scope)
    named = [place - operand.rank if negative else place for place in chosen]
    call = op.strided_slice(operand.expr, named, begin, end, strides, assume_inbound=False)
    return scope.emit(call, bounds_of(operand))


def _long(dim: Any) -> bool:
    return isinstance(dim, int) and dim >= 1


def draw_dynamic_strided_slice(scope: Scope) -> Value | None:
    """``dynamic_strided_slice`` with constant ends; its inferred shape is unknown, so the true one is cast to."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), static=True, where=lambda v: 0 not in shape_of(v))
    begin, end, stride, dims = [], [], [], []
    for dim in shape_of(operand):
        first = scope.integer(0, int(dim) - 1)
        last, step = scope.integer(first + 1, int(dim)), scope.pick((1, 2))
        begin.append(first)
        end.append(last)
        stride.append(step)
        dims.append(-(-(last - first) // step))
    ends = [relax.const(np.array(numbers), "int64") for numbers in (begin, end, stride)]
    sliced = scope.emit(op.dynamic_strided_slice(operand.expr, *ends), bounds_of(operand))
    return scope.match_cast(sliced, dims)


def _distinct(scope: Scope, count: int, extent: int) -> np.ndarray[Any, Any]:
    """``count`` (at most ``extent``) distinct indices below ``extent``, in a drawn order."""
    start, step = scope.index(extent), scope.pick([n for n in range(1, extent + 1) if math.gcd(n, extent) == 1])
    return (start + step * np.arange(count)) % extent


def draw_scatter_elements(scope: Scope) -> Value | None:
    """``scatter_elements`` along one axis: distinct indices to overwrite, any to combine by minimum or maximum."""
    operand = scope.tensor(dtypes=NUMBERS, ranks=(1, 2, 3), static=True, where=lambda v: 0 not in shape_of(v))
    where = axis(scope, operand.rank)
    dims = [int(dim) for dim in shape_of(operand)]
    extent = dims[where]
    dims[where] = scope.integer(1, extent)
    along = [1] * operand.rank
    along[where] = dims[where]
    index = np.broadcast_to(_distinct(scope, dims[where], extent).reshape(along), dims)
    updates = scope.tensor(dtypes=(operand.dtype,), shape=dims)
    call = op.scatter_elements(
        operand.expr, relax.const(np.ascontiguousarray(index), "int64"), updates.expr, where, _reduction(scope)
    )
    return scope.emit(call, bounds_of(operand).union(bounds_of(updates)))


def _reduction(scope: Scope) -> str:
    return scope.pick(("update", "max", "min"))


def draw_scatter_nd(scope: Scope) -> Value | None:
    """``scatter_nd`` of rows at distinct indices of the first dimension."""
    operand = scope.tensor(dtypes=NUMBERS, ranks=(1, 2, 3), static=True, where=lambda v: 0 not in shape_of(v))
    dims = [int(dim) for dim in shape_of(operand)]
    rows = scope.integer(1, dims[0])
    index = _distinct(scope, rows, dims[0]).reshape(rows, 1)
    updates = scope.tensor(dtypes=(operand.dtype,), shape=(rows, *dims[1:]))
    call = op.scatter_nd(operand.expr, relax.const(index, "int64"), updates.expr, _reduction(scope))
    return scope.emit(call, bounds_of(operand).union(bounds_of(updates)))


def draw_slice_scatter(scope: Scope) -> Value | None:
    """``slice_scatter`` of a source into a strided slice along an axis."""
    operand = scope.tensor(dtypes=ANY, ranks=(1, 2, 3), static=True, where=lambda v: 0 not in shape_of(v))
    where = axis(scope, operand.rank)
    dims = [int(dim) for dim in shape_of(operand)]
    first = scope.integer(0, dims[where] - 1)
    last, step = scope.integer(first + 1, dims[where]), scope.pick((1, 2))
    dims[where] = -(-(last - first) // step)
    source = scope.tensor(dtypes=(operand.dtype,), shape=dims)
    call = op.slice_scatter(operand.expr, source.expr, first, last, step, where)
    return scope.emit(call, bounds_of(operand).union(bounds_of(source)))


def draw_index_put(scope: Scope) -> Value | None:
    """``index_put`` of values at distinct positions; accumulating keeps the default domain so that sums stay small."""
    operand = scope.tensor(dtypes=NUMBERS, ranks=(1, 2), static=True, where=lambda v: 0 not in shape_of(v))
    dims = [int(dim) for dim in shape_of(operand)]
    count = scope.integer(1, dims[0])
    indices = [relax.const(_distinct(scope, count, dims[0]), "int64")]
    indices += [relax.const(np.array([scope.index(dim) for _ in range(count)]), "int64") for dim in dims[1:]]
    values = scope.tensor(dtypes=(operand.dtype,), shape=(count,))
    call = op.index_put(operand.expr, tuple(indices), values.expr, accumulate=False)
    return scope.emit(call, bounds_of(operand).union(bounds_of(values)))


def draw_reverse_sequence(scope: Scope) -> Value | None:
    """``reverse_sequence``: the first elements of each sequence reversed, lengths at most the extent."""
    operand = scope.tensor(dtypes=ANY, ranks=(2, 3), where=nonempty(scope))
    dims = shape_of(operand)
    along, batch = scope.pick(((1, 0), (0, 1)))
    lengths = scope.tensor(
        dtypes=INDEX_DTYPES, shape=(dims[batch],), bounds=Bounds(1, max(scope.dim_range(dims[along])[0], 1), True)
    )
    return scope.emit(op.reverse_sequence(operand.expr, lengths.expr, along, batch), bounds_of(operand))


def _row(name: str, draw: Callable[[Scope], Value | None], family: Family = Family.INDEX) -> OperatorRow:
    return OperatorRow(f"relax.{name}", family, draw)


ROWS = (
    _row("take", draw_take),
    _row("gather_elements", draw_gather_elements),
    _row("gather_nd", draw_gather_nd),
    _row("index_tensor", draw_index_tensor),
    _row("strided_slice", draw_strided_slice),
    OperatorRow("relax.dynamic_strided_slice", Family.INDEX, draw_dynamic_strided_slice, feature=Feature.DATA_DEPENDENT),
    _row("reverse_sequence", draw_reverse_sequence),
    _row("scatter_elements", draw_scatter_elements, Family.SCATTER),
    _row("scatter_nd", draw_scatter_nd, Family.SCATTER),
    _row("slice_scatter", draw_slice_scatter, Family.SCATTER),
    _row("index_put", draw_index_put, Family.SCATTER),
)
