"""Searches by value: places of extremes, of what is not zero, of what is not a repetition, of what chance takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxkit.interpreter.operands import comparable, stable_order
from relaxkit.interpreter.registry import Array, Request, Undefined, meanings, numpy_dtype, semantics

_EXACTNESS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}


@semantics("argmax", "argmin")
def argextreme(request: Request) -> Any:
    """Return the index of the greatest or least element along an axis, or of the flattened tensor: the first of equals.

    That is what NumPy and ONNX (``select_last_index`` 0) define; TVM's documentation leaves it open.
    """
    operand = comparable(request.args[0])
    axis, keepdims = request.axis, bool(request.attr("keepdims", False))
    if (operand.size if axis is None else operand.shape[axis]) == 0:
        raise Undefined("place of the greatest or least of nothing")
    find = np.argmax if request.name == "relax.argmax" else np.argmin
    return np.asarray(find(operand, axis=axis, keepdims=keepdims)).astype("int64")


@semantics("nonzero")
def nonzero(request: Request) -> Any:
    """Indices of the elements that are not zero, in row-major order: a row per dim, "equivalent to onnx.nonzero".

    ONNX says of a scalar: "for scalar input, NonZero produces output shape (0, N) instead of (1, N)".
    """
    (operand,) = request.args
    return np.stack(np.nonzero(np.atleast_1d(operand != 0))).astype("int64")[: operand.ndim]


@semantics("unique")
def unique(request: Request) -> Any:
    """Return the different elements of the flattened tensor, or slices along an axis, and what goes with them.

    In ascending order or, not sorted, in that of their first occurrence (as ONNX ``Unique``, which this operator
    follows: its inverse is a vector, too).  Then, as asked for, where each occurs first, which of them each element of
    the input is, and how often each occurs.
    """
    operand, ascending, *flags = request.args[:5]
    axis = None if len(request.args) < 6 or request.args[5] is None else int(request.args[5])
    _, index, inverse, counts = np.unique(
        comparable(operand), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not ascending:
        order = np.argsort(index)
        index, counts = index[order], counts[order]
        inverse = np.argsort(order)[inverse]
    values = operand.reshape(-1)[index] if axis is None else np.take(operand, index, axis=axis)
    more = [part.astype("int64") for part, flag in zip((index, inverse, counts), flags, strict=True) if flag]
    return (values, *more) if more else values


@semantics("multinomial_from_uniform")
def multinomial_from_uniform(request: Request) -> Any:
    """Return the category into whose share of [0, 1) each sample falls, of the distribution that its index names.

    A category has the share from the sum of the probabilities before it up to, without, the sum that includes its own.
    Where a sample is nearer to a border than sums of probabilities are exact, rounding decides: not where none happens.
    """
    probabilities, samples, rows = request.args
    rows = rows.reshape(-1)
    request.undefined((rows < 0) | (rows >= probabilities.shape[0]), "distribution out of range")
    borders = np.cumsum(probabilities.astype("float64"), axis=1)[rows]
    rounded = np.cumsum(probabilities.astype(request.declared(0)), axis=1)[rows]
    points = samples.astype("float64").reshape(-1, 1)
    near = np.abs(borders - points) < _EXACTNESS.get(request.declared(0), 2.0**-7) * probabilities.shape[1]
    request.undefined(near & (rounded != borders).any(axis=1, keepdims=True), "sample at a border")
    category = (borders <= points).sum(axis=1, keepdims=True)
    request.undefined(category >= probabilities.shape[1], "sample beyond all categories")
    return category.astype(numpy_dtype(str(request.attr("dtype"))))


# Sorts and selections (``tvm/relax/op/sorting.py``), buckets.


def _order(request: Request, operand: Array) -> Array:
    return stable_order(operand, request.integer("axis"), bool(request.attr("descending", False)))


meanings(
    {
        "sort": lambda call, data: np.take_along_axis(data, _order(call, data), axis=call.integer("axis")),
        # Which of two equal elements comes first is not documented; here it is the one that stood first.
        "argsort": lambda call, data: _order(call, data).astype(numpy_dtype(str(call.attr("dtype")))),
    }
)


@semantics("topk")
def topk(request: Request) -> Any:
    """The ``k`` greatest or least elements of each line along an axis, the first of them first, and their indices."""
    (operand,) = request.args
    count, axis = request.integer("k"), request.integer("axis")
    size = operand.shape[axis]
    if count > size:
        raise Undefined("more elements selected than there are")
    order = stable_order(operand, axis, bool(request.attr("largest", True)))
    chosen = np.take(order, range(size if count < 1 else count), axis=axis)
    values = np.take_along_axis(operand, chosen, axis=axis)
    indices = chosen.astype(numpy_dtype(str(request.attr("dtype"))))
    kind = str(request.attr("ret_type"))
    return {"both": (values, indices), "values": values, "indices": indices}[kind]


@semantics("bucketize")
def bucketize(request: Request) -> Any:
    """Count the boundaries below each element, or not above it (``right``), as ``torch.bucketize`` defines it."""
    values, boundaries = comparable(request.args[0]), comparable(request.args[1])
    request.undefined(boundaries[1:] <= boundaries[:-1], "boundaries that do not ascend")
    side: Any = "right" if request.attr("right", False) else "left"
    dtype = "int32" if request.attr("out_int32", False) else "int64"
    return np.asarray(np.searchsorted(boundaries, values, side)).astype(dtype)
