"""Operands of operators: tensors, numbers that are mixed with tensors, their order, functions that NumPy lacks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tvm

from relaxkit.interpreter.registry import Array, Request, Undefined, Unsupported, is_float, numpy_dtype, semantics


def operand(request: Request, index: int) -> Array:
    """Return an argument as an array; a number becomes one of rank 0 and of its declared dtype.

    Raises:
        Unsupported: The argument is neither a tensor nor a number.
        Undefined: It holds a float8 that is infinite or NaN; to avoid those is the user's duty (TVM's pull request
            14863, which brought float8).
    """
    value = request.args[index]
    if isinstance(value, np.ndarray):
        if value.dtype.itemsize == 1 and is_floating(value):
            request.undefined(~np.isfinite(value), "float8 that is not a number")
        return value
    ty = request.call.args[index].ty
    if not isinstance(ty, tvm.ir.PrimType) or not isinstance(value, (bool, int, float, np.number)):
        raise Unsupported("operand that is neither tensor nor number")
    return np.asarray(value).astype(numpy_dtype(str(ty.dtype), request.precision))


def alone(request: Request) -> tuple[Array]:
    """Return the first argument as an array."""
    return (operand(request, 0),)


def pair(request: Request) -> tuple[Array, Array]:
    """Return the first two arguments as arrays."""
    return operand(request, 0), operand(request, 1)


def finished(request: Request, value: Any) -> Any:
    """Return a computed value as the call has it: an array, or a number where no argument is a tensor.

    Raises:
        Undefined: It holds a float8 beyond its range, of which conversions make the greatest number, infinity or NaN.
    """
    value = np.asarray(value)
    if value.dtype.itemsize == 1 and is_floating(value):
        request.undefined(~np.isfinite(value), "number out of a float8's range")
    return value if any(isinstance(each, np.ndarray) for each in request.args) else value.item()


def elementwise(name: str, function: Callable[..., Any], given: Callable[[Request], tuple[Array, ...]] = pair) -> None:
    """Register an operator as a function of arrays; ``given`` gives those, and says of which it is not defined."""
    semantics(name)(lambda request: finished(request, function(*given(request))))


def is_floating(array: Array) -> bool:
    """Say whether an array holds floats, bfloat16 and float8 included."""
    return array.dtype.kind == "f" or (array.dtype.kind == "V" and is_float(array.dtype.name))


def along_axis(vector: Array, axis: int, rank: int) -> Array:
    """Return a vector in a shape that broadcasts along an axis of a tensor."""
    shape = [1] * rank
    shape[axis] = vector.size
    return vector.reshape(shape)


def wide(array: Array) -> Array:
    """Floats of low precision as float32, in which several steps are computed before the one rounding at the end."""
    return array.astype("float32") if is_floating(array) and array.dtype.itemsize < 4 else array


@functools.cache
def limits(dtype: Any) -> Any:
    """``finfo`` or ``iinfo`` of a dtype."""
    known = np.dtype(dtype)
    if known.kind in "iu":
        return np.iinfo(known)
    return ml_dtypes.finfo(known)  # type: ignore[no-untyped-call]  # its constructor has no annotations


def erf(value: Array) -> Array:
    """The error function, as exact as the C library's, in the dtype of the argument (which is float32 or float64)."""
    flat = map(math.erf, value.ravel().tolist())
    return np.fromiter(flat, "float64", value.size).reshape(value.shape).astype(value.dtype, copy=False)


def sigmoid(value: Array) -> Array:
    """``1 / (1 + exp(-x))`` without overflow between, in the dtype of the argument."""
    small = np.exp(-np.abs(value))
    return np.asarray(np.where(value >= 0, 1, small) / (1 + small)).astype(value.dtype, copy=False)


def comparable(array: Array) -> Array:
    """Return the same values, in a dtype that NumPy orders itself.

    Raises:
        Undefined: There is NaN among them: TVM documents no place for it in any order.
    """
    if not is_float(array.dtype.name):
        return array
    values = array.astype("float32") if array.dtype.itemsize < 4 else array
    if np.isnan(values).any():
        raise Undefined("order of NaN")
    return values


def stable_order(array: Array, axis: int, descending: bool) -> Array:
    """Return the indices along an axis that put it in order; equal elements keep theirs in both directions.

    Raises:
        Undefined: There is NaN among them.
    """
    values = comparable(array)
    if not descending:
        return np.argsort(values, axis=axis, kind="stable")
    # Sorted backwards from the back: negation would not do, for the least integer has no negative.
    order = np.argsort(np.flip(values, axis), axis=axis, kind="stable")
    return np.asarray(array.shape[axis] - 1 - np.flip(order, axis))
