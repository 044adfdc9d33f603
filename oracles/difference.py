"""How two modules differ, in words, for evidence; only used once they are known to differ."""

from __future__ import annotations

import difflib
import re
from typing import Any

import tvm_ffi

_MAX_LINES = 60


def describe(left: Any, right: Any) -> str:
    """The first structural mismatch, as a path into the module; empty when the modules are structurally equal."""
    found = tvm_ffi.get_first_structural_mismatch(left, right)
    if found is None:
        return ""
    path = str(found[0])
    return f"first mismatch at {re.sub('<root>', 'module', path)}"


def text_difference(left: Any, right: Any) -> str:
    """A unified diff of the modules' TVMScript, at most 60 lines."""
    lines = difflib.unified_diff(_script(left), _script(right), "expected", "observed", lineterm="", n=1)
    return "\n".join(list(lines)[:_MAX_LINES])


def _script(module: Any) -> list[str]:
    try:
        return str(module.script()).splitlines()
    except Exception as error:  # a module that the printer cannot print still has a difference
        return [f"<cannot be printed: {type(error).__name__}: {error}>"]
