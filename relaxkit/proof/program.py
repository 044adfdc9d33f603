"""A module as a program that is called from outside: its parameters, and calls of its public functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from tvm import tirx

from relaxkit.ir.types import dims_of
from relaxkit.proof.evaluate import Evaluator
from relaxkit.proof.memory import State
from relaxkit.proof.state import Frame
from relaxkit.proof.terms import Term
from relaxkit.proof.values import Closure, TupleValue, Value


class Fixed(Protocol):
    """Inputs that have one value (``relaxkit.passes.arguments.Given``)."""

    @property
    def dims(self) -> Mapping[str, int]:
        """Values of symbolic dims by name."""

    @property
    def values(self) -> Mapping[tuple[str, str], np.ndarray[Any, Any]]:
        """Arrays of parameters by the function's name in the module and the parameter's."""


class Caller(Protocol):
    """A way to call a function of a program, by the name and with the arguments that it had before the pass."""

    def __call__(self, program: SymbolicProgram, name: str, arguments: Sequence[Value], /) -> Value:
        """Call it; raises ``Open`` where that is not modelled."""


class SymbolicProgram(Evaluator):
    """Evaluates the functions of a module as they are called from outside."""

    def parameters(self, name: str, fixed: Fixed | None) -> tuple[Value, ...]:
        """Return the parameters of a function as values; what is fixed of them as constants.

        Raises:
            Open: A function is a parameter.
        """
        values: list[Value] = []
        for index, param in enumerate(self.functions[name].params):
            if fixed is not None and (name, param.name) in fixed.values:
                values.append(self.array(fixed.values[name, param.name]))
                continue
            values.append(self.leaf(("param", index, name), param.ty))
            if fixed is not None and fixed.dims:
                self._fix(param.ty, values[-1], fixed.dims)
        return tuple(values)

    def _fix(self, ty: Any, value: Value, fixed: Mapping[str, int]) -> None:
        """Give a value the dims that are fixed of its type."""
        if isinstance(value, TupleValue):
            for each, part in zip(ty.fields, value.fields, strict=True):
                self._fix(each, part, fixed)
        elif isinstance(value, int) and (dims := dims_of(ty)) is not None:
            values = [fixed.get(dim.name, dim) if isinstance(dim, tirx.Var) else dim for dim in dims]
            self.shapes[value] = tuple(
                self.terms.make("size", axis, (value,))
                if isinstance(dim, tirx.Var)
                else self.number(dim, Frame({}, {}))
                for axis, dim in enumerate(values)
            )

    def result(self, call: Caller, name: str, arguments: Sequence[Value]) -> tuple[Term, Term]:
        """Call a function in a program that has just begun: the terms of its result and of its effects.

        Raises:
            Open: Something in it is not modelled.
            Refuted: It reads what it must not read.
        """
        self.state = State(self.terms.make("start"))
        return self.term(call(self, name, arguments)), self.state.effect

    def raises_where(self, original: SymbolicProgram) -> bool:
        """Say whether the program raises only where the original does."""
        known = {(term, frozenset(conditions)) for conditions, term in original.checks}
        return all(
            any((term, frozenset(some)) in known for some in (conditions[:end] for end in range(len(conditions) + 1)))
            for conditions, term in self.checks
        )

    def call_function(self, name: str, arguments: Sequence[Value]) -> Value:
        """Call a function of the module from outside, where the program is now.

        Raises:
            Open: It takes another number of arguments, or arguments of other types or fewer shapes.
        """
        return self.invoke(Closure(self.functions[name]), arguments)
