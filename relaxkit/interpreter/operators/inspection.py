"""Inspection of tensors at run time (``relax.inspect.*``): what DLPack's ``DLTensor`` says of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tvm

from relaxkit.interpreter.registry import Precision, Request, Undefined, Unsupported, meanings


def _dtype(request: Request) -> Any:
    """Return the declared dtype: in float64 arithmetic, the array does not have it."""
    try:
        return tvm.DataType(request.declared(0))
    except Unsupported:
        if request.precision is Precision.FLOAT64:
            raise
        return tvm.DataType(request.args[0].dtype.name)


def _place(operand: Any, place: Any) -> int:
    if not 0 <= place < operand.ndim:
        raise Undefined("dim that a tensor does not have")
    return int(place)


def _offset(_request: Request, operand: Any) -> int:
    """Return where in its storage it begins: at 0, unless it may be a view of a part of another tensor."""
    base = operand.base
    if isinstance(base, np.ndarray) and base.ctypes.data != operand.ctypes.data:
        raise Undefined("place of a part in its storage")
    return 0


meanings(
    {
        "inspect.tensor_ndim": lambda _, operand: int(operand.ndim),
        "inspect.tensor_shape_i": lambda _, operand, place: int(operand.shape[_place(operand, place)]),
        # In elements: tensors are compact and in row-major order.
        "inspect.tensor_stride_i": lambda _, operand, place: math.prod(operand.shape[_place(operand, place) + 1 :]),
        "inspect.tensor_dtype_code": lambda call, _: int(_dtype(call).type_code),
        "inspect.tensor_dtype_bits": lambda call, _: int(_dtype(call).bits),
        "inspect.tensor_dtype_lanes": lambda call, _: int(_dtype(call).lanes),
        "inspect.tensor_byte_offset inspect.tensor_elem_offset": _offset,
    }
)
