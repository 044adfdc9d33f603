"""A module's JSON in memory, before it becomes text.

Three quarters of the time of ``save_json`` go into the text, which nobody needs to see whether a module is what it was.
"""

from __future__ import annotations

import functools
from typing import Any

import tvm
import tvm_ffi


@functools.cache
def _functions() -> tuple[Any, Any] | None:
    """What makes a graph, and what makes text of it; ``None`` where tvm_ffi has only both in one."""
    found = [tvm_ffi.get_global_func(name, allow_missing=True) for name in ("ffi.ToJSONGraph", "ffi.json.Stringify")]
    return None if None in found else (found[0], found[1])


def graph_of(module: Any) -> Any:
    """The module's JSON, which shares nothing with the module that could change: its text where there is no graph."""
    functions = _functions()
    if functions is None:
        return str(tvm.ir.save_json(module))
    return functions[0](module, {"tvm_version": tvm.__version__})


def text_of(graph: Any) -> str:
    """The text of a graph, which is what ``save_json`` gives."""
    functions = _functions()
    return graph if functions is None else str(functions[1](graph, None))


def same(left: Any, right: Any) -> bool:
    """Whether two graphs have the same text."""
    if _functions() is None:
        return bool(left == right)
    return bool(tvm_ffi.structural_equal(left, right)) or text_of(left) == text_of(right)
