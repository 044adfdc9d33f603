"""Tensors in another shape, put together, cut apart, repeated and padded; shapes as values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tvm import relax

from relaxkit.interpreter.registry import Request, Undefined, Unsupported, meanings, semantics
from relaxkit.runtime.values import ShapeValue

meanings(
    {
        # In the order of ``axes``, reversed without it.
        "permute_dims": lambda call, data: np.transpose(data, call.integers("axes")),
        # A scalar has one element.
        "flatten": lambda _, data: np.reshape(data, (data.size,)),
        "nn.batch_flatten": lambda _, data: np.reshape(data, (data.shape[0], math.prod(data.shape[1:]))),
        # The places are those of the result.
        "expand_dims": lambda call, data: np.expand_dims(data, call.integers("axis") or ()),
        "shape_of": lambda _, data: ShapeValue(data.shape),
        "tensor_to_shape": lambda _, data: ShapeValue(tuple(data.tolist())),
        "shape_to_tensor": lambda call, shape: np.array(shape.dims, call.dtype),
        "size": lambda call, data: np.array(data.size, call.dtype),
        # Without an axis, of the flat tensor.
        "repeat": lambda call, data: np.repeat(data, call.integer("repeats"), call.axis),
        # The last dims first where the numbers of dims and factors differ.
        "tile": lambda call, data: np.tile(data, call.integers("repeats") or ()),
        "flip": lambda call, data: np.flip(data, call.integer("axis")),
        # ``xy`` exchanges the first two dims.
        "meshgrid": lambda call, data: tuple(np.meshgrid(*data, indexing=call.attr("indexing", "ij"), copy=False)),
    }
)
meanings(
    {
        # Without an axis, without any dim that is 1.
        "squeeze": lambda call, data: np.squeeze(data, call.integers("axis")),
        "broadcast_to": lambda _, data, shape: np.broadcast_to(data, shape.dims),
        # Without an axis they must be vectors.
        "concat": lambda call, tensors: np.concatenate(tensors, call.axis or 0),
        # The axis is counted in the result.
        "stack": lambda call, tensors: np.stack(tensors, call.integer("axis", 0)),
    },
    compared=False,
)


@semantics("reshape", compared=False)
def reshape(request: Request) -> Any:
    """Return the elements in row-major order in another shape; -1 and 0 are resolved when the call is made."""
    data, shape = request.args
    if any(dim < 0 for dim in shape.dims):
        raise Undefined("reshape to a negative dim")
    return np.reshape(data, shape.dims)


@semantics("split")
def split(request: Request) -> Any:
    """Sections of equal length, of which the last may be shorter, or pieces that begin at indices.

    One section is the tensor itself, no tuple of one: the type says which.
    """
    data, axis = request.args[0], request.integer("axis")
    extent = data.shape[axis]
    given = request.attr("indices_or_sections")
    if isinstance(given, int) or not hasattr(given, "__len__"):
        sections = request.dim(given)
        length = -(-extent // sections)
        cuts = [min(length * section, extent) for section in range(1, sections)]
    else:
        cuts = [request.dim(each) for each in given]
    edges = [0, *cuts, extent]
    request.undefined(np.diff(edges) < 0, "split at indices that are out of range or not sorted")
    lead = (slice(None),) * (axis % data.ndim)
    pieces = tuple([data[(*lead, slice(*edges[place : place + 2]))] for place in range(len(edges) - 1)])
    return pieces if isinstance(request.type, relax.TupleType) else pieces[0]


_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""Modes of ``nn.pad`` by the names that NumPy has for them."""


@semantics("nn.pad")
def pad(request: Request) -> Any:
    """Return elements before and after each dim: a constant, the edge, the tensor mirrored or repeated.

    Less than nothing of a constant takes elements away (ONNX, PyTorch).  One cannot mirror more elements than there are
    besides the edge, nor repeat more than there are (PyTorch refuses).
    """
    data, widths = request.args[0], request.integers("pad_width") or ()
    pairs = [(widths[place], widths[place + 1]) for place in range(0, len(widths), 2)]
    mode = str(request.attr("pad_mode", "constant"))
    if not any(widths):
        return data
    if mode == "constant":
        return _padded(data, pairs, float(request.attr("pad_value", 0.0)))
    if mode not in _MODES:
        raise Unsupported("mode of nn.pad")
    for pair, extent in zip(pairs, data.shape, strict=True):
        most = {"reflect": extent - 1, "circular": extent}.get(mode, max(pair))
        if min(pair) < 0 or (any(pair) and (extent == 0 or max(pair) > most)):
            raise Undefined(f"{mode} padding of less than nothing, or wider than the tensor")
    name: Any = _MODES[mode]
    return np.pad(data, pairs, mode=name)


def _padded(data: np.ndarray[Any, Any], pairs: list[tuple[int, int]], value: float) -> np.ndarray[Any, Any]:
    kept = []
    for (before, after), extent in zip(pairs, data.shape, strict=True):
        kept.append(slice(max(-before, 0), extent + min(after, 0)))
        if extent + min(before, 0) + min(after, 0) < 0:
            raise Undefined("padding that takes away more than there is")
    number = np.asarray(value).astype(data.dtype)
    if data.dtype.kind in "iub" and float(number) != value:
        raise Undefined("padding by a value that the dtype does not have")
    added = [(max(before, 0), max(after, 0)) for before, after in pairs]
    return np.pad(data[tuple(kept)], added, constant_values=number)
