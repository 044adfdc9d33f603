"""Change of dtype, and choice between two tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxkit.interpreter.operands import elementwise, finished, is_floating, limits, operand
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
