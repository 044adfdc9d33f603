"""Elements read at indices.

An index out of range is undefined, as the documentation of ``take`` says of its fast mode.  Whether a negative index
counts from the end the documentation says of ``index_tensor`` alone (NumPy's indexing) and ONNX of its gathers; for the
others it is out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import along_axis
from relaxkit.interpreter.registry import Request, Undefined, Unsupported, meanings, semantics

OUTSIDE = "index out of range"


def inside(request: Request, indices: Any, extent: int, negative: bool = False) -> np.ndarray[Any, Any]:
    """Return the indices as int64, none of them negative any more; raises ``Undefined`` where one is out of range.

    Args:
        negative: Whether negative indices count from the end.
    """
    array = np.asarray(indices)
    request.undefined(array >= extent if array.dtype == np.uint64 else False, OUTSIDE)
    array = array.astype(np.int64, copy=False)
    request.undefined((array < (-extent if negative else 0)) | (array >= extent), OUTSIDE)
    return np.where(array < 0, array + extent, array) if negative else array


@semantics("take")
def take(request: Request) -> Any:
    """``numpy.take``; indices out of range are undefined, clipped, wrapped around, or give NaN."""
    data, indices = request.args[0], np.asarray(request.args[1])
    axis = request.axis or 0
    extent, mode = data.shape[axis], str(request.attr("mode", "fast"))
    if mode == "fast":
        return np.asarray(np.take(data, inside(request, indices, extent), axis))
    if indices.size and not extent:
        raise Undefined("index of an empty dim")
    if indices.dtype == np.uint64:
        within = np.mod(indices, np.uint64(extent)) if mode == "wrap" else np.minimum(indices, np.uint64(extent))
        indices = within.astype(np.int64)
    indices = indices.astype(np.int64, copy=False)
    if mode == "wrap":
        return np.asarray(np.take(data, np.mod(indices, extent), axis))
    within = np.clip(indices, 0, max(extent - 1, 0))
    taken = np.asarray(np.take(data, within, axis))
    if mode == "clip":
        return taken
    if mode != "nan":
        raise Unsupported("mode of take")
    outside = within != indices
    # NumPy counts negative indices from the end; the documentation does not say.
    request.undefined(outside & (indices >= -extent) & (indices < 0), "negative index")
    if np.any(outside) and data.dtype.kind in "iub":
        raise Undefined("NaN in a dtype that has none")
    where = outside.reshape(outside.shape + (1,) * (data.ndim - axis % data.ndim - 1))
    return np.where(where, np.asarray(np.nan).astype(data.dtype), taken)


@semantics("gather_elements", compared=False)
def gather_elements(request: Request) -> Any:
    """``out[i][j] = data[indices[i][j]][j]``; off the axis the indices may be shorter than the data (PyTorch)."""
    data, indices = request.args
    axis = request.integer("axis", 0) % data.ndim
    places = inside(request, indices, data.shape[axis])
    parts = [slice(None) if place == axis else slice(0, extent) for place, extent in enumerate(indices.shape)]
    return np.take_along_axis(data[tuple(parts)], places, axis)


@semantics("gather_nd", compared=False)
def gather_nd(request: Request) -> Any:
    """ONNX's ``GatherND``: the last dim of the indices addresses the dims of the data after those that are batched."""
    data, indices = request.args
    batched = request.integer("batch_dims", 0)
    depth = indices.shape[-1]
    if data.shape[:batched] != indices.shape[:batched]:
        raise Undefined("batches of other shapes")
    rest = indices.ndim - 1 - batched
    chosen: list[Any] = [
        np.arange(extent).reshape((-1,) + (1,) * (batched - place - 1 + rest))
        for place, extent in enumerate(data.shape[:batched])
    ]
    for place in range(depth):
        chosen.append(inside(request, indices[..., place], data.shape[batched + place]))
    return np.asarray(data[tuple(chosen)])


@semantics("index_tensor", compared=False)
def index_tensor(request: Request) -> Any:
    """``data[i, j, ...]`` of NumPy: index tensors broadcast, the dims that none addresses follow."""
    data, indices = request.args
    if any(each.dtype == np.bool_ for each in indices):
        raise Undefined("boolean indices")
    places = [inside(request, each, extent, True) for each, extent in zip(indices, data.shape, strict=False)]
    return np.asarray(data[tuple(places)])


def _cut(data: Any, axes: Sequence[int], begin: Any, end: Any, strides: Any) -> Any:
    """Return a slice as Python has it: negative ends count from the back, ends beyond are cut off."""
    parts = [slice(None)] * data.ndim
    for axis, *ends in zip(axes, begin, end, strides, strict=True):
        if ends[2] == 0:
            raise Undefined("stride of 0")
        parts[axis] = slice(*ends)
    return np.asarray(data[tuple(parts)])


@semantics("strided_slice")
def strided_slice(request: Request) -> Any:
    """Return a slice along some axes; ends out of range are cut off unless they are assumed not to be."""
    data, axes, begin, end, *rest = request.args
    strides = rest[0] if rest and rest[0] is not None else (1,) * len(axes)
    if request.attr("assume_inbound", False):
        for axis, first, last in zip(axes, begin, end, strict=True):
            if min(first, last) < 0 or max(first, last) > data.shape[axis]:
                raise Undefined("slice out of range, assumed to be within it")
    return _cut(data, axes, begin, end, strides)


# Along every axis, by ends and strides that are data.
meanings(
    {"dynamic_strided_slice": lambda _, data, *ends: _cut(data, range(data.ndim), *(each.tolist() for each in ends))}
)


@semantics("reverse_sequence", compared=False)
def reverse_sequence(request: Request) -> Any:
    """Return the first elements of each sequence reversed, as many as its length says (ONNX's ``ReverseSequence``)."""
    data, lengths = request.args
    axis = request.integer("seq_axis", 1) % data.ndim
    batch = request.integer("batch_axis", 0) % data.ndim
    extent = data.shape[axis]
    request.undefined((lengths < 0) | (lengths > extent), "length of a sequence out of range")
    place = along_axis(np.arange(extent), axis, data.ndim)
    length = along_axis(lengths.astype(np.int64), batch, data.ndim)
    return np.take_along_axis(data, np.where(place < length, length - 1 - place, place), axis)
