"""Operands of elementwise operators: tensors, and numbers that are mixed with tensors."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import tvm

from oracles.interpreter.errors import Unsupported
from oracles.interpreter.precision import is_float, numpy_dtype
from oracles.interpreter.request import Request

Array = np.ndarray[Any, Any]


def operand(request: Request, index: int) -> Array:
    """An argument as an array; a number becomes one of rank 0 and of its declared dtype.

    Raises:
        Unsupported: The argument is neither a tensor nor a number.
        Undefined: It holds a float8 that is infinite or NaN; to avoid those is the user's duty (TVM's pull request
            14863, which brought float8).
    """
    value = request.args[index]
    if isinstance(value, np.ndarray):
        if value.dtype.itemsize == 1 and is_floating(value):
            request.undefined(~np.isfinite(value), "float8 that is no number")
        return value
    ty = request.call.args[index].ty
    if not isinstance(ty, tvm.ir.PrimType) or not isinstance(value, (bool, int, float, np.number)):
        raise Unsupported("operand that is neither tensor nor number")
    return np.asarray(value).astype(numpy_dtype(str(ty.dtype), request.precision))


def pair(request: Request) -> tuple[Array, Array]:
    """The first two arguments as arrays."""
    return operand(request, 0), operand(request, 1)


def finished(request: Request, value: Any) -> Any:
    """A computed value as the call has it: an array, or a number where no argument is a tensor.

    Raises:
        Undefined: It holds a float8 beyond its range, of which conversions make the greatest number, infinity or NaN.
    """
    value = np.asarray(value)
    if value.dtype.itemsize == 1 and is_floating(value):
        request.undefined(~np.isfinite(value), "number out of a float8's range")
    for each in request.args:
        if isinstance(each, np.ndarray):
            return value
    return value.item()


def is_floating(array: Array) -> bool:
    """Whether an array holds floats, bfloat16 and float8 included."""
    return array.dtype.kind == "f" or (array.dtype.kind == "V" and is_float(array.dtype.name))


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
