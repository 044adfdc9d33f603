"""Tensors with elements overwritten at indices.

Where two updates go to one place, an overwrite depends on the order and is undefined, unless both write the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import finished
from relaxkit.interpreter.operators.tensor.index import inside
from relaxkit.interpreter.registry import Array, Request, Undefined, Unsupported, is_float, semantics

_REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def scattered(request: Request, data: Array, places: tuple[Any, ...], updates: Array, way: str) -> Array:
    """Return a copy of the data with the updates written at the places, or combined with what is there."""
    numbers = np.arange(data.size).reshape(data.shape)[places]
    updates = np.broadcast_to(updates, numbers.shape)
    flat, numbers, updates = data.flatten(), numbers.reshape(-1), updates.reshape(-1)
    if updates.dtype != data.dtype:
        raise Undefined("updates of a different dtype")
    repeated = numbers.size > 0 and np.bincount(numbers, minlength=1).max() > 1
    if way == "update":
        flat[numbers] = updates
        if repeated:
            request.undefined(~_same(flat[numbers], updates), "one place overwritten twice")
        return flat.reshape(data.shape)
    if data.dtype == np.bool_:
        raise Undefined("arithmetic of booleans")
    if data.dtype.itemsize < 4 and is_float(data.dtype.name):
        flat, updates = flat.astype(np.float32), updates.astype(np.float32)
    if way == "mean":
        if repeated or not is_float(data.dtype.name):
            raise Undefined("mean of integers or of several updates")
        flat[numbers] = (flat[numbers] + updates) / 2
    elif way not in _REDUCTIONS:
        raise Unsupported("reduction of a scatter")
    elif way in ("max", "min") and np.any(np.isnan(flat[numbers]) != np.isnan(updates)):
        raise Undefined("extreme of a number and NaN")
    elif repeated:
        combine: Any = _REDUCTIONS[way]
        combine.at(flat, numbers, updates)
    else:
        flat[numbers] = _REDUCTIONS[way](flat[numbers], updates)
    return np.asarray(finished(request, request.cast(flat).reshape(data.shape)))


def _same(left: Array, right: Array) -> Array:
    """Say whether elements are the same, NaN included; zeros of both signs differ."""
    width = left.dtype.itemsize
    raw = [np.ascontiguousarray(each).view(np.uint8).reshape(-1, width) for each in (left, right)]
    return np.asarray((raw[0] == raw[1]).all(axis=1))


@semantics("scatter_elements", compared=False)
def scatter_elements(request: Request) -> Any:
    """ONNX's ``ScatterElements``: ``out[indices[i][j]][j] = updates[i][j]``; negative indices count from the end."""
    data, indices, updates = request.args
    axis = request.integer("axis", 0) % data.ndim
    places: list[Any] = list(np.indices(indices.shape, sparse=True))
    places[axis] = inside(request, indices, data.shape[axis], True)
    if indices.shape != updates.shape:
        raise Undefined("updates of a different shape than the indices")
    return scattered(request, data, tuple(places), updates, str(request.attr("reduction", "update")))


@semantics("scatter_nd", compared=False)
def scatter_nd(request: Request) -> Any:
    """ONNX's ``ScatterND``: the last dim of the indices addresses the first dims of the data."""
    data, indices, updates = request.args
    places = [inside(request, indices[..., at], extent) for at, extent in enumerate(data.shape[: indices.shape[-1]])]
    if indices.shape[-1] > data.ndim or updates.shape != (*indices.shape[:-1], *data.shape[len(places) :]):
        raise Undefined("updates of a different shape than the indices require")
    return scattered(request, data, tuple(places), updates, str(request.attr("reduction", "update")))


@semantics("slice_scatter")
def slice_scatter(request: Request) -> Any:
    """Return a slice along an axis overwritten by a tensor of its shape; the slice is Python's, as PyTorch has it."""
    data, source, *ends = request.args
    if ends[2] <= 0:
        raise Undefined("stride that is not positive")
    axis = request.integer("axis", 0) % data.ndim
    result = data.copy()
    view = result[(*(slice(None),) * axis, slice(*ends))]
    if view.shape != source.shape:
        raise Undefined("source of a different shape than the slice")
    view[...] = source
    return result


@semantics("index_put", compared=False)
def index_put(request: Request) -> Any:
    """PyTorch's ``index_put``: index tensors broadcast, and values to what they select; overwritten or added to."""
    data, indices, values = request.args
    tensors = indices if isinstance(indices, tuple) else (indices,)
    if len(tensors) > data.ndim or any(each.dtype == np.bool_ for each in tensors):
        raise Undefined("boolean indices, or more of them than dims")
    places = tuple([inside(request, each, extent, True) for each, extent in zip(tensors, data.shape, strict=False)])
    return scattered(request, data, places, values, "add" if request.attr("accumulate", False) else "update")
