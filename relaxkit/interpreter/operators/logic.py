"""Comparisons, tests of floats, logic, and operations on bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import finished, is_floating, operand, pair
from relaxkit.interpreter.registry import Array, Request, semantics


def _of_pairs(name: str, function: Callable[[Array, Array], Any]) -> None:
    """Register an operator of two tensors; comparisons by IEEE: NaN is not equal to anything, and -0.0 equals 0.0."""

    @semantics(name)
    def compute(request: Request) -> Any:
        return finished(request, function(*pair(request)))


for _function in (
    np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal, np.logical_and, np.logical_or,
    np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor,
):  # fmt: skip
    _of_pairs(_function.__name__, _function)


@semantics("logical_not")
def logical_not(request: Request) -> Any:
    """Say whether the operand is false."""
    return finished(request, np.logical_not(operand(request, 0)))


def _test(name: str, function: Callable[[Array], Any], of_integers: bool) -> None:
    """A test of floats; every integer is finite, and none is NaN."""

    @semantics(name)
    def compute(request: Request) -> Any:
        value = operand(request, 0)
        return finished(request, function(value) if is_floating(value) else np.full(value.shape, of_integers))


_test("isfinite", np.isfinite, True)

_test("isinf", np.isinf, False)

_test("isnan", np.isnan, False)


@semantics("bitwise_not")
def bitwise_not(request: Request) -> Any:
    """Return all bits changed; of a boolean, the other one."""
    return finished(request, np.invert(operand(request, 0)))


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


@semantics("right_shift")
def right_shift(request: Request) -> Any:
    """Bits moved down; a signed number keeps its sign."""
    return finished(request, np.right_shift(*_shifted(request)))
