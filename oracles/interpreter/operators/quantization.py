"""Quantization to integers or small floats and back, by one scale and zero point or by those of each channel."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from oracles.interpreter.operands import Array, finished, is_floating, operand, wide
from oracles.interpreter.precision import Precision, is_float
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request


@semantics("quantize")
def quantize(request: Request) -> Any:
    """``clamp(round(data / scale) + zero_point)``, ties to even as in ``relax.round`` and ONNX ``QuantizeLinear``.

    To a float, the rounding is that to its dtype.  Where the quotient's own rounding decides what integer it becomes,
    the result depends on the dtype of the division, which is not said.
    """
    data = operand(request, 0)
    scale, zero = _along_axis(request, 1, data), _along_axis(request, 2, data).astype("float64")
    dtype = str(request.attr("out_dtype"))
    exact = np.asarray(data.astype("float64") / scale.astype("float64"))
    request.undefined(np.isnan(exact), "quantization of NaN")
    if is_float(dtype):
        return finished(request, request.cast(_clamped(exact + zero, dtype)))
    rounded = np.rint(exact)
    if request.precision is Precision.DECLARED:
        narrow = np.rint((wide(data) / wide(scale)).astype(data.dtype).astype("float64"))
        request.undefined(narrow != rounded, "quotient within rounding of a tie")
    return finished(request, _clamped(rounded + zero, dtype).astype(dtype))


@semantics("dequantize")
def dequantize(request: Request) -> Any:
    """``clamp(scale * (data - zero_point))``, the difference without wrap-around."""
    data = operand(request, 0)
    scale, zero = _along_axis(request, 1, data), _along_axis(request, 2, data)
    difference = data.astype("float64") - zero.astype("float64")
    if not is_floating(data):
        request.undefined(np.abs(difference) >= 2.0**31, "difference of integers beyond 32 bits")
    exact = np.asarray(difference * scale.astype("float64"))
    request.undefined(~np.isfinite(exact), "dequantization of infinity or NaN")
    dtype = str(request.attr("out_dtype"))
    return finished(request, request.cast(_clamped(exact, dtype)))


def _along_axis(request: Request, index: int, data: Array) -> Array:
    """A parameter as an array that broadcasts with the data: one number, or one for each element of the axis."""
    parameter = operand(request, index)
    if parameter.size == 1:
        return parameter.reshape(())
    axis = request.integer("axis", -1) % max(data.ndim, 1)
    shape = [1] * data.ndim
    shape[axis] = parameter.size
    return parameter.reshape(shape)


def _clamped(value: Array, dtype: str) -> Array:
    limits: Any = ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    return np.clip(value, float(limits.min), float(limits.max))
