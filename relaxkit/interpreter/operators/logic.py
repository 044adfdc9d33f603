"""Comparisons, tests of floats, logic, and operations on bits."""

from __future__ import annotations

import numpy as np

from relaxkit.interpreter.operands import alone, elementwise, pair
from relaxkit.interpreter.registry import Array, Request

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
