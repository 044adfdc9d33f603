"""Operations on the bits of integers, and on booleans where they are of one bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oracles.interpreter.operands import Array, finished, operand, pair
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request


def _bits(name: str, function: Callable[[Array, Array], Any]) -> None:
    @semantics(name)
    def compute(request: Request) -> Any:
        return finished(request, function(*pair(request)))


_bits("bitwise_and", np.bitwise_and)
_bits("bitwise_or", np.bitwise_or)
_bits("bitwise_xor", np.bitwise_xor)


@semantics("bitwise_not")
def bitwise_not(request: Request) -> Any:
    """All bits changed; of a boolean, the other one."""
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
