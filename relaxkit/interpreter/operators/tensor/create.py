"""Operators that make tensors (``tvm/relax/op/create.py``), the triangles and ``one_hot``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relaxkit.interpreter.operators.tensor.datatype import converted
from relaxkit.interpreter.registry import Array, Request, Undefined, Unsupported, numpy_dtype, semantics
from relaxkit.runtime.values import ShapeValue


def _dims(request: Request) -> tuple[int, ...]:
    shape = request.args[0]
    if not isinstance(shape, ShapeValue):
        raise Unsupported("shape of another kind")
    return shape.dims


def _dtype_or(request: Request, other: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype asked for, else another one."""
    asked = request.attr("dtype")
    named = "" if asked is None else str(asked)
    return other if named in ("", "void") else numpy_dtype(named, request.precision)


@semantics("full")
def full(request: Request) -> Any:
    """Return a scalar everywhere, converted to the dtype asked for."""
    return np.full(_dims(request), converted(request, np.asarray(request.args[1]), request.declared()).reshape(()))


@semantics("full_like")
def full_like(request: Request) -> Any:
    """Return a scalar everywhere, in the shape of a tensor, and in its dtype unless another is asked for."""
    like, fill = request.args
    return np.full(like.shape, converted(request, np.asarray(fill), request.declared()).reshape(()))


@semantics("ones", "zeros")
def constant(request: Request) -> Any:
    """Return one or zero everywhere."""
    return np.full(_dims(request), _number(request), _dtype_or(request, np.dtype("float32")))


@semantics("ones_like", "zeros_like")
def constant_like(request: Request) -> Any:
    """Return one or zero everywhere, in the shape of a tensor, and in its dtype unless another is asked for."""
    (like,) = request.args
    return np.full(like.shape, _number(request), _dtype_or(request, like.dtype))


def _number(request: Request) -> int:
    return int(request.name.startswith("relax.ones"))


@semantics("eye")
def eye(request: Request) -> Any:
    """Return one on the diagonal ``k`` of ``n`` rows and ``m`` columns, zero elsewhere."""
    rows, columns, diagonal = request.args
    return _eye(rows, columns, diagonal, request.dtype)


@semantics("eye_like")
def eye_like(request: Request) -> Any:
    """``eye`` in the shape of a matrix, and in its dtype unless another is asked for."""
    like, diagonal = request.args
    rows, columns = like.shape
    return _eye(rows, columns, diagonal, _dtype_or(request, like.dtype))


def _eye(rows: int, columns: int, diagonal: int, dtype: np.dtype[Any]) -> Array:
    return np.equal(np.arange(rows)[:, None] + diagonal, np.arange(columns)).astype(dtype)


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


@semantics("tril", "triu")
def triangle(request: Request) -> Any:
    """Return what is not above (``tril``) or not below (``triu``) the diagonal ``k`` of each matrix; zero elsewhere."""
    matrix, diagonal = request.args
    rows, columns = matrix.shape[-2:]
    distance = np.arange(columns) - np.arange(rows)[:, None]
    kept = distance <= diagonal if request.name == "relax.tril" else distance >= diagonal
    return np.where(kept, matrix, np.zeros((), matrix.dtype))


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
