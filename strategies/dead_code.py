"""Removal of dead bindings from blocks under construction, for cases without DEAD_CODE.

Written here and not borrowed from TVM: the pass of that name is a subject of the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tvm
from tvm import relax


def without_dead(blocks: Sequence[Any], result: Any) -> list[Any]:
    """The blocks without bindings that neither ``result`` nor another kept binding uses.

    ``match_cast`` stays: it may define symbolic dims, and its check is an effect.  So does an impure call.
    """
    needed = set(relax.analysis.free_vars(result))
    kept_blocks = []
    for block in reversed(list(blocks)):
        kept = []
        for binding in reversed(list(block.bindings)):
            if isinstance(binding, relax.MatchCast) or binding.var in needed or is_impure(binding.value):
                kept.append(binding)
                needed.update(_uses(binding.value))
        if kept:
            kept.reverse()
            kind = relax.DataflowBlock if isinstance(block, relax.DataflowBlock) else relax.BindingBlock
            same = len(kept) == len(block.bindings)
            kept_blocks.append(block if same else kind(kept))
    kept_blocks.reverse()
    return kept_blocks


def dead_bindings(sequence: Any) -> int:
    """How many bindings of a ``SeqExpr`` (its branches not counted) are dead."""
    before = sum(len(block.bindings) for block in sequence.blocks)
    return before - sum(len(block.bindings) for block in without_dead(sequence.blocks, sequence.body))


def is_impure(value: Any) -> bool:
    """Whether the value of a binding has an effect; a local function has none itself, its call may."""
    return isinstance(value, (relax.Call, relax.If)) and bool(relax.analysis.contains_impure_call(value))


def called_names(module: tvm.IRModule) -> set[str]:
    """Names of the functions that Relax functions of a module mention."""
    used: set[str] = set()
    for function in module.functions.values():
        if isinstance(function, relax.Function):
            used |= {var.name_hint for var in relax.analysis.all_global_vars(function)}
    return used


def without_unused(module: tvm.IRModule) -> tvm.IRModule:
    """The module without private functions and kernels that no public function mentions, directly or through others."""
    names = {var.name_hint: function for var, function in module.functions.items()}
    todo = [name for name, f in names.items() if f.attrs is not None and "global_symbol" in f.attrs]
    used = set(todo)
    while todo:
        function = names[todo.pop()]
        if isinstance(function, relax.Function):
            new = {var.name_hint for var in relax.analysis.all_global_vars(function)} - used
            used |= new
            todo.extend(name for name in new if name in names)
    if used.issuperset(names):
        return module
    return tvm.IRModule({var: function for var, function in module.functions.items() if var.name_hint in used})


def _uses(value: Any) -> Iterable[Any]:
    return list(relax.analysis.free_vars(value))
