"""Operators that make tensors (``tvm/relax/op/create.py``), the triangles and ``one_hot``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relaxkit.interpreter.operators.tensor.datatype import converted
from relaxkit.interpreter.registry import Array, Request, Undefined, Unsupported, meanings, numpy_dtype, semantics
from relaxkit.runtime.values import ShapeValue


def _extents(like: Any) -> tuple[int, ...]:
    """Return the dims of a shape, or of the tensor that a new one shall be like."""
    if isinstance(like, ShapeValue):
        return like.dims
    if isinstance(like, np.ndarray):
        return tuple(like.shape)
    raise Unsupported("shape of an unknown kind")


def _dtype_or(request: Request, like: Any) -> np.dtype[Any]:
    """Return the dtype asked for, else that of a tensor, else float32."""
    asked = request.attr("dtype")
    if asked is None or str(asked) in ("", "void"):
        return like.dtype if isinstance(like, np.ndarray) else np.dtype("float32")
    return numpy_dtype(str(asked), request.precision)


def _full(request: Request, like: Any, fill: Any) -> Array:
    """Return a scalar everywhere, converted to the dtype asked for."""
    return np.full(_extents(like), converted(request, np.asarray(fill), request.declared()).reshape(()))


def _eye(rows: int, columns: int, diagonal: int, dtype: np.dtype[Any]) -> Array:
    """Return one on the diagonal ``k`` of ``n`` rows and ``m`` columns, zero elsewhere."""
    return np.equal(np.arange(rows)[:, None] + diagonal, np.arange(columns)).astype(dtype)


def _distance(matrix: Array) -> Array:
    """Return how far each place of a matrix is above the diagonal."""
    return np.arange(matrix.shape[-1]) - np.arange(matrix.shape[-2])[:, None]


meanings(
    {
        "full full_like": _full,
        "ones ones_like": lambda call, like: np.full(_extents(like), 1, _dtype_or(call, like)),
        "zeros zeros_like": lambda call, like: np.full(_extents(like), 0, _dtype_or(call, like)),
        "eye": lambda call, rows, columns, diagonal: _eye(rows, columns, diagonal, call.dtype),
        "eye_like": lambda call, like, diagonal: _eye(len(like), like.shape[1], diagonal, _dtype_or(call, like)),
        # What is not above, or not below, the diagonal ``k`` of each matrix; zero elsewhere.
        "tril": lambda _, matrix, k: np.where(_distance(matrix) <= k, matrix, np.zeros((), matrix.dtype)),
        "triu": lambda _, matrix, k: np.where(_distance(matrix) >= k, matrix, np.zeros((), matrix.dtype)),
    }
)


@semantics("arange")
def arange(request: Request) -> Any:
    """``start + i * step`` for as many ``i`` from 0 as stay before ``end`` (as ONNX ``Range`` says it)."""
    start, end, step = request.args
    dtype = request.dtype
    if step == 0:
        raise Undefined("range with step zero")
    if dtype.kind in "iu" and any(number != math.floor(number) for number in (start, end, step)):
        raise Undefined("range of integers with fractions")
    if all(isinstance(number, int) for number in (start, end, step)):
        length = -((start - end) // step)  # in integers: a quotient of floats is not exact beyond 2**53
    else:
        length = math.ceil((end - start) / step)
    return (start + np.arange(max(length, 0)) * step).astype(dtype)


@semantics("hamming_window")
def hamming_window(request: Request) -> Any:
    """``alpha - beta * cos(2 pi i / N)``: ``N`` is the size of a periodic window, one less for a symmetric one.

    The window that PyTorch's ``hamming_window`` documents; a window of one element it defines apart, as 1.
    """
    size, periodic, alpha, beta = request.args
    if size < 2:
        raise Undefined("window of one element")
    steps = size if periodic else size - 1
    return (alpha - beta * np.cos(2 * np.pi * np.arange(size) / steps)).astype(request.dtype)


@semantics("one_hot")
def one_hot(request: Request) -> Any:
    """``on`` where the place along the new axis is the index, ``off`` elsewhere.

    Indices that name no place, negative ones among them, are ``off`` everywhere.
    """
    indices, on, off = request.args
    depth, axis = request.integer("depth"), request.integer("axis")
    axis += indices.ndim + 1 if axis < 0 else 0
    places = np.arange(depth).reshape((depth,) + (1,) * (indices.ndim - axis))
    dtype = request.dtype
    return np.where(np.expand_dims(indices, axis) == places, np.array(on, dtype), np.array(off, dtype))
