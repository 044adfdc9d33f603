"""Comparisons, tests of floats, and logic: results are booleans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oracles.interpreter.operands import Array, finished, is_floating, operand, pair
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request


def _comparison(name: str, function: Callable[[Array, Array], Any]) -> None:
    """Of numbers of one dtype, by IEEE: NaN is not equal to anything, and -0.0 equals 0.0."""

    @semantics(name)
    def compute(request: Request) -> Any:
        return finished(request, function(*pair(request)))


_comparison("equal", np.equal)
_comparison("not_equal", np.not_equal)
_comparison("greater", np.greater)
_comparison("greater_equal", np.greater_equal)
_comparison("less", np.less)
_comparison("less_equal", np.less_equal)
_comparison("logical_and", np.logical_and)
_comparison("logical_or", np.logical_or)
_comparison("logical_xor", np.logical_xor)


@semantics("logical_not")
def logical_not(request: Request) -> Any:
    """Whether the operand is false."""
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
