"""How two modules differ, in words, for evidence; only used once they are known to differ."""

from __future__ import annotations

import difflib
from typing import Any

import tvm_ffi

_MAX_LINES = 60


def describe(left: Any, right: Any) -> str:
    """What kind of part differs, in words that do not name anything of the module; empty when nothing does.

    The words go into the signature of a finding, so that one defect keeps one signature.
    """
    if tvm_ffi.structural_equal(left, right):
        return ""
    ours = {var.name_hint: function for var, function in left.functions_items()}
    theirs = {var.name_hint: function for var, function in right.functions_items()}
    if len(ours) != len(theirs):
        return "another number of functions"
    if ours.keys() != theirs.keys():
        return "other names of functions"
    kinds = {type(ours[name]).__name__ for name in ours if not tvm_ffi.structural_equal(ours[name], theirs[name])}
    return f"another {' and '.join(sorted(kinds))}" if kinds else "other attributes or relations of functions"


def text_difference(left: Any, right: Any) -> str:
    """The path of the first mismatch and a unified diff of the modules' TVMScript, at most 60 lines."""
    found = tvm_ffi.get_first_structural_mismatch(left, right)
    where = [] if found is None else [f"first mismatch at {str(found[0]).replace('<root>', 'module')}"]
    lines = difflib.unified_diff(_script(left), _script(right), "expected", "observed", lineterm="", n=1)
    return "\n".join(where + list(lines)[:_MAX_LINES])


def _script(module: Any) -> list[str]:
    try:
        return str(module.script()).splitlines()
    except Exception as error:  # a module that the printer cannot print still has a difference
        return [f"<cannot be printed: {type(error).__name__}: {error}>"]
