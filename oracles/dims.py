"""Values of symbolic dims: a small evaluator of TVM's integer expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tvm import tirx

# Integer semantics of TVM's nodes, by class name: floor_* round towards minus infinity, Div and Mod towards zero.
_BINARY: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "Mod": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "Min": min,
    "Max": max,
}


class UnknownDim(Exception):
    """The expression holds a node that this evaluator does not know, or divides by zero."""


class DimEnvironment:
    """One value for each symbolic variable of a function; variables are the same when they are the same object.

    Args:
        draw: Called with a variable's name when it has no value yet.
    """

    def __init__(self, draw: Callable[[str], int]) -> None:
        self._draw = draw
        self._values: dict[Any, int] = {}

    def bind(self, variable: Any) -> int:
        """Value of a variable, drawn when it is met first."""
        if variable not in self._values:
            self._values[variable] = self._draw(str(variable.name))
        return self._values[variable]

    def bind_all(self, dims: Iterable[Any]) -> None:
        """Give every dim that is just a variable a value."""
        for dim in dims:
            if isinstance(dim, tirx.Var):
                self.bind(dim)

    def unify(self, dim: Any, have: Any) -> None:
        """Let a variable that has no value yet take the value of ``have``; anything else stays as it is."""
        if isinstance(dim, tirx.Var) and dim not in self._values:
            self._values[dim] = self.value(have)

    def value(self, dim: Any) -> int:
        """Evaluate an integer expression; raises ``UnknownDim``."""
        if isinstance(dim, int):
            return dim
        if isinstance(dim, tirx.Var):
            return self.bind(dim)
        name = type(dim).__name__
        if name == "IntImm":
            return int(dim.value)
        if name == "Cast":
            return self.value(dim.value)
        if name in _BINARY:
            try:
                return _BINARY[name](self.value(dim.a), self.value(dim.b))
            except ZeroDivisionError as error:
                raise UnknownDim("division by zero") from error
        raise UnknownDim(name)
