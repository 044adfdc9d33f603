"""Inspection of tensors at run time (``relax.inspect.*``): what DLPack's ``DLTensor`` says of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tvm

from relaxkit.interpreter.registry import Precision, Request, Undefined, Unsupported, semantics


@semantics("inspect.tensor_ndim")
def ndim(request: Request) -> Any:
    """Return how many dims it has."""
    return int(request.args[0].ndim)


@semantics("inspect.tensor_shape_i")
def shape(request: Request) -> Any:
    """Return the size of one dim."""
    operand, place = request.args
    return int(operand.shape[_place(operand, place)])


@semantics("inspect.tensor_stride_i")
def stride(request: Request) -> Any:
    """Return the distance of neighbours along a dim in elements: tensors are compact and in row-major order."""
    operand, place = request.args
    return math.prod(operand.shape[_place(operand, place) + 1 :])


@semantics("inspect.tensor_dtype_code")
def dtype_code(request: Request) -> Any:
    """Return the number of its kind of dtype in DLPack."""
    return int(_dtype(request).type_code)


@semantics("inspect.tensor_dtype_bits")
def dtype_bits(request: Request) -> Any:
    """Return how many bits an element has."""
    return int(_dtype(request).bits)


@semantics("inspect.tensor_dtype_lanes")
def dtype_lanes(request: Request) -> Any:
    """Return how many numbers an element has."""
    return int(_dtype(request).lanes)


@semantics("inspect.tensor_byte_offset", "inspect.tensor_elem_offset")
def offset(request: Request) -> Any:
    """Return where in its storage it begins: at 0, unless it may be a view of a part of another tensor."""
    operand = request.args[0]
    base = operand.base
    if isinstance(base, np.ndarray) and base.ctypes.data != operand.ctypes.data:
        raise Undefined("place of a part in its storage")
    return 0


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
        raise Undefined("dim that a tensor has not")
    return int(place)
