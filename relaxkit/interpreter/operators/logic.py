"""Comparisons, tests of floats, logic, and operations on bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import alone, elementwise, finished, is_floating, operand, pair
from relaxkit.interpreter.registry import Array, Request, semantics

# Comparisons are IEEE's: NaN is not equal to anything, and -0.0 equals 0.0.
for _function in (
    np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal, np.logical_and, np.logical_or,
    np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor,
):  # fmt: skip
    elementwise(_function.__name__, _function)
elementwise("logical_not", np.logical_not, alone)
elementwise("bitwise_not", np.invert, alone)  # of a boolean, the other one


def _test(name: str, function: Callable[[Array], Any], of_integers: bool) -> None:
    """A test of floats; every integer is finite, and none is NaN."""

    @semantics(name)
    def compute(request: Request) -> Any:
        value = operand(request, 0)
        return finished(request, function(value) if is_floating(value) else np.full(value.shape, of_integers))


_test("isfinite", np.isfinite, True)

_test("isinf", np.isinf, False)

_test("isnan", np.isnan, False)


def _shifted(request: Request) -> tuple[Array, Array]:
    value, count = pair(request)
    wrong = (count < 0) | (count >= value.dtype.itemsize * 8)
    request.undefined(wrong, "shift by a negative number, or by all bits")
    return value, count


@semantics("left_shift")
def left_shift(request: Request) -> Any:
    """Bits moved up, those beyond the width dropped; of a negative number, which C leaves open, nothing is said."""
    value, count = _shifted(request)
    request.undefined(value < 0, "left shift of a negative number")
    return finished(request, np.left_shift(value, count))


elementwise("right_shift", np.right_shift, _shifted)  # a signed number keeps its sign
