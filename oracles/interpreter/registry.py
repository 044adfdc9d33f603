"""The table of operators: name in TVM's registry to the function that computes it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from oracles.interpreter.request import Request

Implementation = Callable[[Request], Any]

_FOUND: dict[str, Implementation] = {}


def semantics(*names: str) -> Callable[[Implementation], Implementation]:
    """Register a function as the meaning of these operators, names without the leading ``relax.``."""

    def register(function: Implementation) -> Implementation:
        for name in names:
            assert f"relax.{name}" not in _FOUND, name
            _FOUND[f"relax.{name}"] = function
        return function

    return register


def _load() -> dict[str, Implementation]:
    from oracles.interpreter import operators

    for module in pkgutil.iter_modules(operators.__path__):
        importlib.import_module(f"{operators.__name__}.{module.name}")
    return _FOUND


OPERATORS: dict[str, Implementation] = _FOUND
"""Filled by :func:`implementation` when it is first asked."""

_loaded = False


def implementation(name: str) -> Implementation | None:
    """What computes an operator; ``None`` when nothing does."""
    global _loaded
    if not _loaded:
        _load()
        _loaded = True
    return _FOUND.get(name)
