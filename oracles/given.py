"""What passes fix of the inputs: the original must be called with just that to be comparable."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm.tirx import IntImm

from oracles.passref import namespace


class NotLiteral(ValueError):
    """An argument of a pass is not what the text of its reference can tell."""


@dataclass(frozen=True, slots=True)
class Given:
    """Inputs that are fixed.

    Attributes:
        dims: Values of symbolic dims by name.
        values: Arrays by (function, parameter).
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[tuple[str, str], np.ndarray[Any, Any]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal givens, and hashable."""
        arrays = [(*name, str(array.dtype), array.shape, array.tobytes()) for name, array in self.values.items()]
        return (*sorted(self.dims.items()), *sorted(arrays))


def given_of(passes: Sequence[tuple[str, str]]) -> Given:
    """What passes, as (name, expression), fix.

    ``BindSymbolicVars`` gives dims their values, ``BindParams`` turns parameters into constants.

    Raises:
        NotLiteral: The arguments of such a pass are not plain names and values.
    """
    dims: dict[str, int] = {}
    values: dict[tuple[str, str], np.ndarray[Any, Any]] = {}
    for name, expression in passes:
        if name == "BindSymbolicVars":
            binding = arguments_of(expression).get("0", {})
            for dim, bound in _items(binding):
                value = int(bound) if isinstance(bound, IntImm) else bound
                if not isinstance(value, int) or dims.setdefault(dim, value) != value:
                    raise NotLiteral("a dim is bound to something else than one integer")
        elif name == "BindParams":
            arguments = arguments_of(expression)
            for parameter, value in _items(arguments.get("1", {})):
                values[str(arguments.get("0")), parameter] = np.asarray(value)
    return Given(dims, values)


def _items(binding: Any) -> list[tuple[str, Any]]:
    if not isinstance(binding, dict) or not all(isinstance(name, str) for name in binding):
        raise NotLiteral("a binding is not a dictionary of names")
    return list(binding.items())


def arguments_of(expression: str) -> dict[str, Any]:
    """Arguments of the call that builds a pass: keywords by name, positional ones under ``"0"``, ``"1"``, ...

    Raises:
        NotLiteral: An argument cannot be evaluated over the names of a pass expression.
    """
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return {}
    if not isinstance(tree, ast.Call):
        return {}
    named: list[tuple[str, ast.expr]] = [(str(index), value) for index, value in enumerate(tree.args)]
    named += [(keyword.arg, keyword.value) for keyword in tree.keywords if keyword.arg is not None]
    found: dict[str, Any] = {}
    for name, value in named:
        try:
            # The text is our own strategy's or a stored case's, as in PassRef.build.
            found[name] = eval(compile(ast.Expression(value), "<pass>", "eval"), namespace())
        except Exception as error:
            raise NotLiteral(f"argument {name} cannot be evaluated") from error
    return found
