"""Operands that do not fit together: what a kernel then does is not defined."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oracles.interpreter.errors import Undefined
from oracles.interpreter.request import Request


def fitting(function: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """An implementation that is ``Undefined`` where NumPy refuses the shapes.

    The compiler checks what it can prove; two symbolic dims that turn out different at run time it cannot.
    """

    @functools.wraps(function)
    def computed(request: Request) -> Any:
        try:
            return function(request)
        except (ValueError, IndexError) as error:
            raise Undefined("operands that do not fit together") from error

    return computed
