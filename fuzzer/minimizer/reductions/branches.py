"""Reductions of branches, of their conditions, and of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.params import add_param, can_add
from relaxkit.ir.sketch.sketch import Branch, Func, Sketch, SketchBlock
from relaxkit.ir.sketch.slots import Slot, slots_of, splice


@reduction("keep one branch")
def branches(sketch: Sketch) -> Edits:
    """Replace an ``If`` by one of its branches, and a local function's call by the function's body.

    A local function that nothing mentions leaves its body in its place.
    """
    slots, called = slots_of(sketch), uses.callers(sketch)
    for index, slot in enumerate(slots):
        value = slot.binding.value
        if isinstance(value, Branch):
            yield (index, 0), edit(sketch, _branch, index, True)
            yield (index, 1), edit(sketch, _branch, index, False)
        elif _local(slots, slot) is not None:
            yield (index, 2), edit(sketch, _inline, index)
        elif isinstance(value, Func) and _is_free(sketch, slot, called):
            yield (index, 3), edit(sketch, _unwrap, index)


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


def _is_free(sketch: Sketch, slot: Slot, called: Mapping[str, int]) -> bool:
    """Say whether nothing mentions a local function, and its parameters can be those of the function around it."""
    mentioned = uses.uses(sketch.functions[slot.function])[slot.binding.var]
    params = slot.binding.value.params
    return not mentioned and all(can_add(sketch, slot.function, param.ty, called) for param in params)


def _unwrap(sketch: Sketch, index: int) -> None:
    slot = slots_of(sketch)[index]
    for param in slot.binding.value.params:
        add_param(sketch, slot.function, param)
    splice(sketch, slot, slot.binding.value.body)


def _local(slots: list[Slot], slot: Slot) -> Func | None:
    value = slot.binding.value
    if not isinstance(value, tvm.ir.Call) or not isinstance(value.op, relax.Var):
        return None
    for other in slots:
        if other.binding.var.same_as(value.op) and isinstance(other.binding.value, Func):
            return other.binding.value
    return None


_BOOL = relax.TensorType((), "bool")


@reduction("simplify conditions")
def conditions(sketch: Sketch) -> Edits:
    """A constant or a parameter for the condition of an ``If``."""
    called = uses.callers(sketch)
    for index, slot in enumerate(slots_of(sketch)):
        if not isinstance(slot.binding.value, Branch):
            continue
        condition = slot.binding.value.condition
        params = sketch.functions[slot.function].params
        if isinstance(condition, tvm.ir.GenericConst) or any(condition.same_as(param) for param in params):
            continue
        if can_add(sketch, slot.function, _BOOL, called):
            yield (index, 0), edit(sketch, _parameter, index)
        yield (index, 1), edit(sketch, _condition, index, relax.const(True, "bool"))
        yield (index, 2), edit(sketch, _condition, index, relax.const(False, "bool"))


def _parameter(sketch: Sketch, index: int) -> None:
    new = relax.Var("c", _BOOL)
    _condition(sketch, index, new)
    add_param(sketch, slots_of(sketch)[index].function, new)


def _condition(sketch: Sketch, index: int, condition: Any) -> None:
    slots_of(sketch)[index].binding.value.condition = condition


@reduction("infer types of ifs", final=True)
def if_types(sketch: Sketch) -> Edits:
    """The type that TVM infers for an ``If`` in place of a vaguer one, which TVMScript cannot hold."""
    for index, slot in enumerate(slots_of(sketch)):
        if isinstance(slot.binding.value, Branch):
            yield (index,), edit(sketch, _infer, index)


def _infer(sketch: Sketch, index: int) -> None:
    slots_of(sketch)[index].binding.value.ty = None


@reduction("merge blocks")
def blocks(sketch: Sketch) -> Edits:
    """One block in place of several, and plain blocks for dataflow blocks."""
    for number, (_, body, _) in enumerate(sketch.bodies()):
        if len(body.blocks) > 1:
            yield (number, 0), edit(sketch, _merge, number, True)
            yield (number, 1), edit(sketch, _merge, number, False)
        for place, block in enumerate(body.blocks):
            if block.dataflow:
                yield (number, 2, place), edit(sketch, _plain, number, place)


def _merge(sketch: Sketch, number: int, dataflow: bool) -> None:
    body = sketch.bodies()[number][1]
    body.blocks = [SketchBlock(dataflow, body.bindings())]


def _plain(sketch: Sketch, number: int, place: int) -> None:
    sketch.bodies()[number][1].blocks[place].dataflow = False
