"""The table of operators: name in TVM's registry to the function that computes it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from oracles.interpreter.request import Request

Implementation = Callable[[Request], Any]

OPERATORS: dict[str, Implementation] = {}
"""Name with the leading ``relax.`` to what computes it; complete once :func:`implementation` was asked."""


def semantics(*names: str) -> Callable[[Implementation], Implementation]:
    """Register a function as the meaning of these operators, names without the leading ``relax.``."""

    def register(function: Implementation) -> Implementation:
        for name in names:
            assert f"relax.{name}" not in OPERATORS, name
            OPERATORS[f"relax.{name}"] = function
        return function

    return register


@functools.cache
def _load() -> None:
    """Import the files of operators, which register themselves; not before one is asked for, since there are many."""
    from oracles.interpreter import operators

    for module in pkgutil.iter_modules(operators.__path__):
        importlib.import_module(f"{operators.__name__}.{module.name}")


def implementation(name: str) -> Implementation | None:
    """What computes an operator; ``None`` when nothing does."""
    _load()
    return OPERATORS.get(name)
