"""Putting the blocks of another body in the place of a binding."""

from __future__ import annotations

from tvm import relax

from fuzzer.minimizer.sketch import Block, Body, Sketch
from fuzzer.minimizer.slots import Slot


def splice(sketch: Sketch, slot: Slot, inner: Body) -> None:
    """Replace ``slot``'s binding, in place, by the blocks of ``inner``; its result stands for the bound var.

    Inside a dataflow block the inner bindings join that block, otherwise they keep their blocks.
    """
    binding, block = slot.binding, slot.block
    place = next(index for index, item in enumerate(block.bindings) if item is binding)
    before, after = block.bindings[:place], block.bindings[place + 1 :]
    if block.dataflow:
        block.bindings = [*before, *inner.bindings(), *after]
    else:
        where = next(index for index, item in enumerate(slot.body.blocks) if item is block)
        parts = [Block(False, before), *inner.blocks, Block(False, after)]
        slot.body.blocks[where : where + 1] = [item for item in parts if item.bindings]
    if isinstance(inner.result, relax.Var | relax.Tuple):
        sketch.aliases[binding.var] = inner.result
    else:
        sketch.aliases[binding.var] = inner.result
