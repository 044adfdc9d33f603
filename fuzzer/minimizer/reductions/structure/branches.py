"""Replace an ``If`` by one of its branches, and a local function's call by the function's body."""

from __future__ import annotations

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.sketch import Branch, Func, Sketch
from relaxkit.ir.sketch.slots import Slot, slots_of, splice


@reduction("keep one branch")
def edits(sketch: Sketch) -> Edits:
    slots = slots_of(sketch)
    for index, slot in enumerate(slots):
        value = slot.binding.value
        if isinstance(value, Branch):
            yield (index, 0), edit(sketch, _branch, index, True)
            yield (index, 1), edit(sketch, _branch, index, False)
        elif _local(slots, slot) is not None:
            yield (index, 2), edit(sketch, _inline, index)


def _branch(sketch: Sketch, index: int, then: bool) -> None:
    slot = slots_of(sketch)[index]
    branch = slot.binding.value
    splice(sketch, slot, branch.then if then else branch.otherwise)


def _inline(sketch: Sketch, index: int) -> None:
    slots = slots_of(sketch)
    slot = slots[index]
    func = _local(slots, slot)
    if func is None or len(func.params) != len(slot.binding.value.args):
        raise Invalid("another number of arguments")
    for param, argument in zip(func.params, slot.binding.value.args, strict=True):
        sketch.aliases[param] = argument
    for other in slots:  # one call only is inlined: the function itself goes
        if other.binding.value is func:
            other.remove()
    splice(sketch, slot, func.body)


def _local(slots: list[Slot], slot: Slot) -> Func | None:
    value = slot.binding.value
    if not isinstance(value, tvm.ir.Call) or not isinstance(value.op, relax.Var):
        return None
    for other in slots:
        if other.binding.var.same_as(value.op) and isinstance(other.binding.value, Func):
            return other.binding.value
    return None
