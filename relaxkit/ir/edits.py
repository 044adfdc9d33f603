"""Edits of modules: other functions, orders and names; and without dead code.

A repro script contains the source of what it needs of this file, so that it varies the module as the oracle does: only
TVM and the standard library are used here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import functions_by_name, is_public, reached_functions


def functions_of(module: tvm.IRModule) -> dict[str, Any]:
    """Return the functions of a module by name, in the module's order, which is that of insertion."""
    return {str(var.name_hint): function for var, function in module.functions.items()}


def with_functions(module: tvm.IRModule, items: list[tuple[Any, Any]]) -> Any:
    """Return the module with these variables and functions, in this order, and no others.

    Passes see the functions of a module in the order in which they were added (``IRModule.functions``): neither names
    nor addresses decide it.
    """
    attributes = None if module.attrs is None else dict(module.attrs.items())
    return tvm.IRModule(dict(items), attrs=attributes, global_infos=module.global_infos)


def joined(module: tvm.IRModule, other: Any, first: bool) -> Any:
    """Return the module with the functions of another one, in front of its own when ``first``."""
    ours, theirs = list(module.functions.items()), list(other.functions.items())
    return with_functions(module, theirs + ours if first else ours + theirs)


def without(module: tvm.IRModule, names: list[str]) -> Any:
    """Return the module without the functions of these names."""
    return with_functions(module, [item for item in module.functions.items() if item[0].name_hint not in names])


def reordered(module: tvm.IRModule, names: list[str]) -> Any:
    """Return the module with its functions in the order of ``names``."""
    items = {str(var.name_hint): (var, function) for var, function in module.functions.items()}
    return with_functions(module, [items[name] for name in names])


def renamed(module: tvm.IRModule, names: dict[str, str]) -> Any:
    """Return the module with other names of private functions, and of all that refers to them.

    What refers to a function that is not in the module may get the name of one that is, and then refers to that.
    TVM's own mutators of Relax would normalize what they copy, and so change more than names.
    """
    if not hasattr(tvm_ffi, "structural_map"):  # until TVM 0.26
        return _renamed_graph(graph_of(module), names)
    fresh: dict[str, tvm.ir.GlobalVar] = {}

    def replaced(var: tvm.ir.GlobalVar) -> tvm.ir.GlobalVar:
        if (new := names.get(str(var.name_hint))) is None:
            return var
        if new not in fresh:
            fresh[new] = tvm.ir.GlobalVar(new)
            relax.expr._update_type(fresh[new], var.ty)
        return fresh[new]

    items = [(replaced(var), function) for var, function in module.functions.items()]
    pair = (tvm.ir.GlobalVar, replaced)
    try:
        return with_functions(module, [(var, tvm_ffi.structural_map(function, pair)) for var, function in items])
    except TypeError:  # a function has something that cannot be copied by itself: the mesh of a distributed tensor
        return _renamed_graph(graph_of(module), names)


def copy_of(module: tvm.IRModule) -> Any:
    """Return a copy that shares no object with the module."""
    return tvm_ffi.serialization.from_json_graph_str(str(tvm.ir.save_json(module)))


def graph_of(module: tvm.IRModule) -> Any:
    """Return the module's JSON, as Python objects."""
    return json.loads(str(tvm.ir.save_json(module)))


def _renamed_graph(graph: Any, names: dict[str, str]) -> Any:
    """Return the module of a graph, which is changed, with other names of functions."""
    nodes, first, instead = graph["nodes"], dict[str, int](), dict[int, int]()
    for index, node in enumerate(list(nodes)):
        if node["type"] == "ir.GlobalVar":
            name = nodes[node["data"]["name_hint"]]["data"]
            instead[index] = first.setdefault(names.get(name, name), index)
            if name in names:
                node["data"]["name_hint"] = len(nodes)
                nodes.append({"type": "ffi.String", "data": names[name]})
    # Functions are called as the operator of a call, or are one of its arguments; other mentions stay as they are.
    for node in nodes if len(first) < len(instead) else ():
        data = node.get("data")
        if node["type"] == "ffi.Array":
            node["data"] = [instead.get(item, item) for item in data]
        elif isinstance(data, dict) and "op" in data:  # a call; its type has another name in each release
            data["op"] = instead.get(data["op"], data["op"])
    copy = tvm_ffi.serialization.from_json_graph_str(json.dumps(graph))  # no other release wrote it: nothing to upgrade
    return with_functions(copy, list(copy.functions.items()))  # the copy looks functions up by their old names


# Dead code is removed here and not by TVM, whose pass of that name is a subject of the tests.


def without_dead(blocks: Sequence[Any], result: Any) -> list[Any]:
    """Return the blocks without bindings that neither ``result`` nor another kept binding uses.

    ``match_cast`` stays: it may define symbolic dims, and its check is an effect.  So does an impure call.
    """
    needed = set(relax.analysis.free_vars(result))
    kept_blocks = []
    for block in reversed(list(blocks)):
        kept = []
        for binding in reversed(list(block.bindings)):
            if isinstance(binding, relax.MatchCast) or binding.var in needed or is_impure(binding.value):
                kept.append(binding)
                needed.update(relax.analysis.free_vars(binding.value))
        if kept:
            kept.reverse()
            kind = relax.DataflowBlock if isinstance(block, relax.DataflowBlock) else relax.BindingBlock
            same = len(kept) == len(block.bindings)
            kept_blocks.append(block if same else kind(kept))
    kept_blocks.reverse()
    return kept_blocks


def dead_bindings(sequence: relax.SeqExpr) -> int:
    """Return how many bindings of a ``SeqExpr`` (its branches not counted) are dead."""
    before = sum(len(block.bindings) for block in sequence.blocks)
    return before - sum(len(block.bindings) for block in without_dead(sequence.blocks, sequence.body))


def is_impure(value: Any) -> bool:
    """Say whether the value of a binding has an effect; a local function has none itself, its call may."""
    return isinstance(value, (relax.Call, relax.If)) and bool(relax.analysis.contains_impure_call(value))


def without_unused(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module without private functions and kernels that no public function reaches."""
    used = reached_functions(
        module, [name for name, function in functions_by_name(module).items() if is_public(function)]
    )
    if len(used) >= len(module.functions):
        return module
    return tvm.IRModule({var: function for var, function in module.functions.items() if var.name_hint in used})
