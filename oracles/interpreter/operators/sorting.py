"""Sorts and selections (``tvm/relax/op/sorting.py``), buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.interpreter.errors import Undefined
from oracles.interpreter.order import comparable, stable_order
from oracles.interpreter.precision import numpy_dtype
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request


@semantics("sort")
def sort(request: Request) -> Any:
    """The elements of each line along an axis, in ascending or descending order."""
    (operand,) = request.args
    axis, descending = request.integer("axis"), bool(request.attr("descending", False))
    return np.take_along_axis(operand, stable_order(operand, axis, descending), axis=axis)


@semantics("argsort")
def argsort(request: Request) -> Any:
    """The indices that would sort each line along an axis.

    The documentation does not say which of two equal elements comes first; here it is the one that stood first.
    """
    (operand,) = request.args
    axis, descending = request.integer("axis"), bool(request.attr("descending", False))
    return stable_order(operand, axis, descending).astype(numpy_dtype(str(request.attr("dtype"))))


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
    """How many boundaries are below each element, or not above it (``right``), as ``torch.bucketize`` defines it."""
    values, boundaries = comparable(request.args[0]), comparable(request.args[1])
    request.undefined(boundaries[1:] <= boundaries[:-1], "boundaries that do not ascend")
    side: Any = "right" if request.attr("right", False) else "left"
    dtype = "int32" if request.attr("out_int32", False) else "int64"
    return np.asarray(np.searchsorted(boundaries, values, side)).astype(dtype)
