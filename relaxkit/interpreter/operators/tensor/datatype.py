"""Change of dtype, choice between two tensors, quantization by one scale and zero point or by those of channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxkit.interpreter.operands import along_axis, elementwise, finished, is_floating, limits, operand, wide
from relaxkit.interpreter.registry import Array, Precision, Request, is_float, numpy_dtype, semantics


@semantics("astype", "wrap_param")
def astype(request: Request) -> Any:
    """Return the same numbers in another dtype.

    Floats are rounded to nearest, ties to even; a float becomes an integer towards zero; integers wrap around;
    everything but zero is true.
    """
    value = operand(request, 0)
    declared = request.attr("dtype")
    return finished(request, converted(request, value, request.declared() if declared is None else str(declared)))


def converted(request: Request, value: Array, dtype: str) -> Array:
    """Return an array in the TVM dtype ``dtype``.

    Raises:
        Undefined: Where a float does not fit an integer, or a dtype without infinities.
    """
    target = numpy_dtype(dtype, request.precision)
    if target == value.dtype and request.precision is Precision.DECLARED:
        return value
    if dtype == "bool":
        return np.asarray(value != 0)
    if is_floating(value) and not is_float(dtype):
        request.undefined(outside(value, target), "float out of an integer's range")
        return value.astype("float64").astype(target)
    if dtype.startswith("float8"):
        request.undefined(
            ~(np.abs(value.astype("float64")) <= float(limits(dtype).max)), "number out of a float8's range"
        )
    return value.astype(target, copy=False)


def outside(value: Array, target: np.dtype[Any]) -> Array:
    """Which floats have no integer of this dtype when rounded towards zero; NaN has none."""
    exact = np.trunc(value.astype("float64"))
    # The greatest number and one more is a power of two, and so a float64 also where the greatest is none.
    return np.asarray(~((exact >= float(limits(target).min)) & (exact < float(int(limits(target).max) + 1))))


elementwise("where", np.where, lambda request: tuple(operand(request, index) for index in range(3)))


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
