"""Operands of elementwise operators: tensors, and numbers that are mixed with tensors."""

from __future__ import annotations

from typing import Any

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
    """
    value = request.args[index]
    if isinstance(value, np.ndarray):
        return value
    ty = request.call.args[index].ty
    if not isinstance(ty, tvm.ir.PrimType) or not isinstance(value, (bool, int, float, np.number)):
        raise Unsupported("operand that is neither tensor nor number")
    return np.asarray(value).astype(numpy_dtype(str(ty.dtype), request.precision))


def pair(request: Request) -> tuple[Array, Array]:
    """The first two arguments as arrays."""
    return operand(request, 0), operand(request, 1)


def finished(request: Request, value: Any) -> Any:
    """A computed value as the call has it: an array, or a number where no argument is a tensor."""
    for each in request.args:
        if isinstance(each, np.ndarray):
            return value if isinstance(value, np.ndarray) else np.asarray(value)
    return np.asarray(value).item()


def is_floating(array: Array) -> bool:
    """Whether an array holds floats, bfloat16 and float8 included."""
    return array.dtype.kind == "f" or (array.dtype.kind == "V" and is_float(array.dtype.name))


def wide(array: Array) -> Array:
    """Floats of low precision as float32, in which several steps are computed before the one rounding at the end."""
    return array.astype("float32") if is_floating(array) and array.dtype.itemsize < 4 else array
