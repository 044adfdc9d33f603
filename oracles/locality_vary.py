"""Variations of a module that must not matter to the functions that they leave alone.

A repro script contains the source of what it needs of this file, so that it varies the module as the oracle does: only
TVM and the standard library are used here.
"""

from __future__ import annotations

import json
from typing import Any

import tvm
import tvm_ffi


def functions_of(module: Any) -> dict[str, Any]:
    """Functions of a module by name, in the module's order, which is that of insertion."""
    return {str(var.name_hint): function for var, function in module.functions.items()}


def with_functions(module: Any, items: list[tuple[Any, Any]]) -> Any:
    """The module with these variables and functions, in this order, and no others.

    Passes see the functions of a module in the order in which they were added (``IRModule.functions``): neither names
    nor addresses decide it.
    """
    attributes = None if module.attrs is None else dict(module.attrs.items())
    return tvm.IRModule(dict(items), attrs=attributes, global_infos=module.global_infos)


def joined(module: Any, other: Any, first: bool) -> Any:
    """The module with the functions of another one, in front of its own when ``first``."""
    ours, theirs = list(module.functions.items()), list(other.functions.items())
    return with_functions(module, theirs + ours if first else ours + theirs)


def without(module: Any, names: list[str]) -> Any:
    """The module without the functions of these names."""
    return with_functions(module, [item for item in module.functions.items() if item[0].name_hint not in names])


def reordered(module: Any, names: list[str]) -> Any:
    """The module with its functions in the order of ``names``."""
    items = {str(var.name_hint): (var, function) for var, function in module.functions.items()}
    return with_functions(module, [items[name] for name in names])


def renamed(module: Any, names: dict[str, str]) -> Any:
    """A copy of the module in which private functions, and all that refers to them, have other names.

    TVM's own mutators would normalize what they copy; the names are changed in the module's JSON instead.
    """
    return renamed_graph(graph_of(module), names)


def graph_of(module: Any) -> Any:
    """The module's JSON, as Python objects."""
    return json.loads(str(tvm.ir.save_json(module)))


def renamed_graph(graph: Any, names: dict[str, str]) -> Any:
    """The module of a graph, which is changed, with other names of functions."""
    nodes = graph["nodes"]
    for node in list(nodes):
        if node["type"] == "ir.GlobalVar":
            new = names.get(nodes[node["data"]["name_hint"]]["data"])
            if new is not None:
                node["data"]["name_hint"] = len(nodes)
                nodes.append({"type": "ffi.String", "data": new})
    copy = tvm_ffi.serialization.from_json_graph_str(json.dumps(graph))  # no other release wrote it: nothing to upgrade
    return with_functions(copy, list(copy.functions.items()))  # the copy looks functions up by their old names
