"""Quantization to integers or small floats and back, by one scale and zero point or by those of each channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxkit.interpreter.operands import along_axis, finished, is_floating, limits, operand, wide
from relaxkit.interpreter.registry import Array, Precision, Request, is_float, semantics


@semantics("quantize")
def quantize(request: Request) -> Any:
    """``clamp(round(data / scale) + zero_point)``, ties to even as in ``relax.round`` and ONNX ``QuantizeLinear``.

    To a float, the rounding is that to its dtype.  In which dtype the quotient and the sum are computed is not said:
    where that of the data would lead to another integer than exact arithmetic, the result is not defined.
    """
    data = operand(request, 0)
    scale, zero = _along_axis(request, 1, data), _along_axis(request, 2, data).astype("float64")
    dtype = str(request.attr("out_dtype"))
    exact = np.asarray(data.astype("float64") / scale.astype("float64"))
    request.undefined(np.isnan(exact), "quantization of NaN")
    if is_float(dtype):
        return finished(request, request.cast(_clamped(exact + zero, dtype)))
    result = _clamped(np.rint(exact) + zero, dtype)
    if request.precision is Precision.DECLARED:
        narrow = np.rint((wide(data) / wide(scale)).astype(data.dtype).astype("float64"))
        narrow = (narrow + zero).astype(data.dtype).astype("float64")
        request.undefined(_clamped(narrow, dtype) != result, "quantized number that depends on rounding before")
    return finished(request, result.astype(dtype))


@semantics("dequantize")
def dequantize(request: Request) -> Any:
    """``clamp(scale * (data - zero_point))``, the difference without wrap-around.

    Whether float32 is clamped, too, is contested: so says the formula, while ONNX ``DequantizeLinear`` gives infinity.
    """
    data = operand(request, 0)
    scale, zero = _along_axis(request, 1, data), _along_axis(request, 2, data)
    difference = data.astype("float64") - zero.astype("float64")
    if not is_floating(data):
        request.undefined(np.abs(difference) >= 2.0**31, "difference of integers beyond 32 bits")
    exact = np.asarray(difference * scale.astype("float64"))
    request.undefined(~np.isfinite(exact), "dequantization of infinity or NaN")
    dtype = str(request.attr("out_dtype"))
    result = _clamped(exact, dtype)
    request.undefined((result != exact) & (dtype != "float16"), "dequantized number beyond its dtype")
    return finished(request, request.cast(result))


def _along_axis(request: Request, index: int, data: Array) -> Array:
    """Return a parameter as an array that broadcasts with the data: one number, or one for each element of the axis."""
    parameter = operand(request, index)
    if parameter.size == 1:
        return parameter.reshape(())
    return along_axis(parameter, request.integer("axis", -1) % max(data.ndim, 1), data.ndim)


def _clamped(value: Array, dtype: str) -> Array:
    return np.clip(value, float(limits(dtype).min), float(limits(dtype).max))
