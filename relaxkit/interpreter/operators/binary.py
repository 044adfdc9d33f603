"""Arithmetic, comparisons and logic of two tensors, or of a tensor and a number, by NumPy's broadcasting.

Both operands have one dtype, and the result has it too ("Binary operators must have the same datatype for both
operands" in type inference).  Integers wrap around; floats are rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxkit.interpreter.operands import alone, elementwise, finished, is_floating, limits, operand, pair, wide
from relaxkit.interpreter.registry import Array, Request, Unsupported, semantics


def _numbers(request: Request) -> tuple[Array, Array]:
    """Return both operands, which are no booleans: TVM has no arithmetic of those."""
    left, right = pair(request)
    if left.dtype.kind == "b":
        raise Unsupported("arithmetic of booleans")
    return left, right


def _ordered(request: Request) -> tuple[Array, Array]:
    """Return both; which of a number and NaN is the greater is not documented (apache/tvm issue 19579)."""
    left, right = _numbers(request)
    request.undefined(np.isnan(left) != np.isnan(right), "extreme of a number and NaN")
    return left, right


elementwise("add", np.add, _numbers)
elementwise("subtract", np.subtract, _numbers)
elementwise("multiply", np.multiply, _numbers)
elementwise("maximum", np.maximum, _ordered)
elementwise("minimum", np.minimum, _ordered)
# By the special cases of C's ``atan2``.
elementwise("atan2", np.arctan2, _numbers)


def _divided(request: Request) -> tuple[Array, Array]:
    """Return both; of integers, no divisor is zero, and no quotient one above the greatest number."""
    left, right = _numbers(request)
    if not is_floating(left):
        request.undefined(right == 0, "integer division by zero")
    if left.dtype.kind == "i":
        least = limits(left.dtype).min
        request.undefined((left == least) & (right == -1), "integer division that overflows")
    return left, right


def _truncated(left: Array, right: Array) -> Any:
    """Quotient of integers, towards zero."""
    quotient = np.floor_divide(left, right)
    inexact = (np.remainder(left, right) != 0) & ((left < 0) != (right < 0))
    return (quotient + inexact).astype(left.dtype)


def _powers(request: Request) -> tuple[Array, Array]:
    left, right = _numbers(request)
    request.undefined(False if is_floating(left) else right < 0, "negative power of an integer")
    return left, right


# Of integers towards zero, as C and ONNX ``Div`` have it.
elementwise("divide", lambda left, right: (np.true_divide if is_floating(left) else _truncated)(left, right), _divided)
# The remainder of division towards zero, of the sign of the dividend; ``floor_mod`` is the other one.
elementwise("mod", np.fmod, _divided)
# By the special cases of C's ``pow``.
elementwise("power", np.power, _powers)
elementwise("log_add_exp", lambda left, right: np.logaddexp(wide(left), wide(right)).astype(left.dtype), _numbers)


@semantics("floor_divide")
def floor_divide(request: Request) -> Any:
    """Return the greatest integer that is not above the quotient."""
    left, right = _divided(request)
    if not is_floating(left):
        return finished(request, np.floor_divide(left, right))
    return finished(request, _floor_of_quotient(request, left, right).astype(left.dtype))


def _floor_of_quotient(request: Request, left: Array, right: Array) -> Array:
    """Floor of a float quotient; where that and the floor of the rounded quotient differ, either may be meant.

    NumPy and PyTorch give the former, ``floor(x / y)`` as compilers write it the latter.
    """
    rounded = np.floor(wide(np.true_divide(left, right)))
    exact = np.floor_divide(wide(left), wide(right))
    sure = np.isfinite(left) & np.isfinite(right) & (right != 0)
    request.undefined(sure & (rounded != exact.astype(left.dtype)), "float quotient that rounds to an integer")
    return np.asarray(rounded)


@semantics("floor_mod")
def floor_mod(request: Request) -> Any:
    """Return the remainder of floor division, of the sign of the divisor.

    For floats it is ``x - floor(x / y) * y``, which NumPy and PyTorch compute exactly and compilers by that formula.
    Where its rounding can lead from one end of the range of remainders to the other, the result is not defined.
    """
    left, right = _divided(request)
    if not is_floating(left):
        return finished(request, np.remainder(left, right))
    quotient, dtype = _floor_of_quotient(request, left, right), left.dtype
    left, right = wide(left), wide(right)
    request.undefined(~np.isfinite(quotient) & np.isfinite(left), "remainder without a quotient")
    request.undefined(np.isinf(right) & np.isfinite(left), "remainder by infinity")
    result = np.asarray(np.remainder(left, right))
    rounding = np.abs(left) * float(limits(dtype).eps)
    near = (np.abs(result) <= rounding) | (np.abs(result - right) <= rounding)
    formula = left - np.asarray(quotient * right).astype(dtype)
    request.undefined((formula != result) & near, "remainder within rounding of the divisor")
    return finished(request, result.astype(dtype))


@semantics("ewise_fma")
def ewise_fma(request: Request) -> Any:
    """``x1 * x2 + x3``; whether the product is rounded before the addition is not said, here it is not."""
    first, second = _numbers(request)
    third = operand(request, 2)
    if not is_floating(first):
        return finished(request, first * second + third)
    parts = [each.astype("float64") for each in (first, second, third)]
    return finished(request, (parts[0] * parts[1] + parts[2]).astype(first.dtype))


# Comparisons are IEEE's: NaN is not equal to anything, and -0.0 equals 0.0.
for _function in (
    np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal, np.logical_and, np.logical_or,
    np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor,
):  # fmt: skip
    elementwise(_function.__name__, _function)
for _test in (np.isfinite, np.isinf, np.isnan, np.logical_not):  # every integer is finite, and none is NaN
    elementwise(_test.__name__, _test, alone)
elementwise("bitwise_not", np.invert, alone)  # of a boolean, the other one


def _shifted(request: Request) -> tuple[Array, Array]:
    value, count = pair(request)
    wrong = (count < 0) | (count >= value.dtype.itemsize * 8)
    request.undefined(wrong, "shift by a negative number, or by all bits")
    return value, count


def _shifted_up(request: Request) -> tuple[Array, Array]:
    """Bits beyond the width are dropped; of a negative number, which C leaves open, nothing is said."""
    value, count = _shifted(request)
    request.undefined(value < 0, "left shift of a negative number")
    return value, count


elementwise("left_shift", np.left_shift, _shifted_up)
elementwise("right_shift", np.right_shift, _shifted)  # a signed number keeps its sign
