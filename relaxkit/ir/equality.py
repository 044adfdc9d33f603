"""Differences between two modules, in words for evidence; and comparison by their JSON."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Sequence
from typing import Any

import tvm
import tvm_ffi

_MAX_LINES = 60


def same(left: tvm.runtime.Object, right: tvm.runtime.Object) -> bool:
    """Say whether two handles are of one object.

    Reading a field twice gives two handles, so that ``is`` would not tell; and ``VDevice.same_as`` calls itself in TVM
    0.27, by way of ``__eq__``, until the stack ends.
    """
    return left is right or bool(tvm.runtime.Object.same_as(left, right))


def all_same(new: Sequence[tvm.runtime.Object], old: Sequence[tvm.runtime.Object]) -> bool:
    """Say whether two sequences hold the same objects in the same places."""
    return len(new) == len(old) and all(map(same, new, old))


def digest(module: object) -> str:
    """Return the structural hash of a module, as text."""
    return f"{tvm_ffi.structural_hash(module, map_free_vars=True):x}"


def describe(left: Any, right: Any) -> str:
    """Return what kind of part differs, in words that do not name anything of the module; empty when nothing does.

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
    """Return the path of the first mismatch and a unified diff of the modules' TVMScript, at most 60 lines."""
    found = tvm_ffi.get_first_structural_mismatch(left, right)
    where = [] if found is None else [f"first mismatch at {str(found[0]).replace('<root>', 'module')}"]
    lines = difflib.unified_diff(_script(left), _script(right), "expected", "observed", lineterm="", n=1)
    return "\n".join(where + list(lines)[:_MAX_LINES])


def _script(module: tvm.IRModule) -> list[str]:
    try:
        return str(module.script()).splitlines()
    except Exception as error:  # a module that the printer cannot print still has a difference
        return [f"<cannot be printed: {type(error).__name__}: {error}>"]


# A module's JSON in memory, before it becomes text: three quarters of the time of ``save_json`` go into the text, which
# nobody needs to see whether a module is what it was.


@functools.cache
def _functions() -> tuple[Any, Any, Any] | None:
    """Return what makes a graph, text of it, and a module of it; ``None`` where tvm_ffi has only the text."""
    names = ("ffi.ToJSONGraph", "ffi.json.Stringify", "ffi.FromJSONGraph")
    found = [tvm_ffi.get_global_func(name, allow_missing=True) for name in names]
    return None if None in found else (found[0], found[1], found[2])


def graph_of(module: tvm.IRModule) -> Any:
    """The module's JSON, which shares nothing with the module that could change: its text where there is no graph."""
    functions = _functions()
    if functions is None:
        return str(tvm.ir.save_json(module))
    return functions[0](module, {"tvm_version": tvm.__version__})


def text_of(graph: Any) -> str:
    """Return the text of a graph, which is what ``save_json`` gives."""
    functions = _functions()
    return graph if functions is None else str(functions[1](graph, None))


def module_of(graph: Any) -> tvm.IRModule:
    """Return the module that a graph describes; it shares no object with the one that the graph was made of."""
    functions = _functions()
    return tvm_ffi.serialization.from_json_graph_str(graph) if functions is None else functions[2](graph)


def same_graph(left: Any, right: Any) -> bool:
    """Say whether two graphs have the same text."""
    if _functions() is None:
        return bool(left == right)
    return bool(tvm_ffi.structural_equal(left, right)) or text_of(left) == text_of(right)
