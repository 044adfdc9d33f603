"""Mutators of TVM 0.25 know a variable that is replaced by its identity, and newer ones by the variable itself."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

_NAMES = ("set_var_remap", "get_var_remap")


def adopt_remaps() -> None:
    """Where ``PyExprMutator`` asks for the identity of a variable, let it take the variable as well."""
    mutator = importlib.import_module("tvm.relax").PyExprMutator
    for name in _NAMES:
        inner = getattr(mutator, name)
        if "vid" in inspect.signature(inner).parameters:
            setattr(mutator, name, _by_variable(inner))


def _by_variable(inner: Any) -> Any:
    @functools.wraps(inner)
    def remap(self: Any, old_var: Any, *new_var: Any) -> Any:
        return inner(self, getattr(old_var, "vid", old_var), *new_var)

    return remap
