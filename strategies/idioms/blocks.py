"""Blocks that no builder leaves: two of one kind side by side, well formed and not normalised."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax.expr import _update_type


def split(sequence: Any) -> Any:
    """A normalised ``SeqExpr`` with its first ordinary block of two and more bindings cut in two; itself without one.

    The builder would join the halves again: what it gives a type when it normalises gets it by hand here.
    """
    for index, block in enumerate(sequence.blocks):
        if isinstance(block, relax.DataflowBlock) or len(block.bindings) < 2:
            continue
        middle = len(block.bindings) // 2
        halves = [relax.BindingBlock(block.bindings[:middle]), relax.BindingBlock(block.bindings[middle:])]
        made = relax.SeqExpr([*sequence.blocks[:index], *halves, *sequence.blocks[index + 1 :]], sequence.body)
        _update_type(made, sequence.ty)
        return made
    return sequence
