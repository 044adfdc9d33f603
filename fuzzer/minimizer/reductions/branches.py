"""Replace an ``If`` by one of its branches, and a local function's call by the function's body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tvm
from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Body, Branch, Func, Sketch
from fuzzer.minimizer.slots import Slot, slots_of
from fuzzer.minimizer.splice import splice


def _edits(sketch: Sketch) -> Iterator[Edit]:
    slots = slots_of(sketch)
    for index, slot in enumerate(slots):
        value = slot.binding.value
        if isinstance(value, Branch):
            yield (index, 0), partial(_branch, sketch, index, True)
            yield (index, 1), partial(_branch, sketch, index, False)
        elif _local(slots, slot) is not None:
            yield (index, 2), partial(_inline, sketch, index)


def _branch(sketch: Sketch, index: int, then: bool) -> Sketch:
    result = sketch.copy()
    slot = slots_of(result)[index]
    branch = slot.binding.value
    splice(result, slot, branch.then if then else branch.otherwise)
    return result


def _inline(sketch: Sketch, index: int) -> Sketch | None:
    result = sketch.copy()
    slots = slots_of(result)
    slot = slots[index]
    func = _local(slots, slot)
    if func is None or len(func.params) != len(slot.binding.value.args):
        return None
    for param, argument in zip(func.params, slot.binding.value.args, strict=True):
        result.aliases[param] = argument
    body: Body = func.body
    for other in slots:  # one call only is inlined: the function itself goes
        if other.binding.value is func:
            other.block.bindings = [item for item in other.block.bindings if item is not other.binding]
    splice(result, slot, body)
    return result


def _local(slots: list[Slot], slot: Slot) -> Func | None:
    value = slot.binding.value
    if not isinstance(value, tvm.ir.Call) or not isinstance(value.op, relax.Var):
        return None
    for other in slots:
        if other.binding.var.same_as(value.op) and isinstance(other.binding.value, Func):
            return other.binding.value
    return None


REDUCTION = Reduction("keep one branch", _edits)
