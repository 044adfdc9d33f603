"""Ordinary counterparts of rare constructs: the same program without local functions, or without closures."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Func, Sketch
from relaxkit.ir.sketch.slots import Slot, slots_of, splice
from relaxkit.ir.walk import operator_of

_PACKED = "closure"
_MAKES = "relax.make_closure"
CLOSURES = frozenset({_MAKES, "relax.invoke_closure", "relax.invoke_pure_closure"})


def without_local_functions(sketch: Sketch) -> None:
    """Put the body of each local function where it stands, once for all calls; its parameters are then its caller's."""
    while local := [slot for slot in slots_of(sketch) if isinstance(slot.binding.value, Func)]:
        _inline(sketch, local[-1])


def _inline(sketch: Sketch, slot: Slot) -> None:
    local, var, outer = slot.binding.value, slot.binding.var, sketch.functions[slot.function]
    users = [
        each for each in slots_of(sketch) if var in uses.of_binding(each.binding) and each.binding.value is not local
    ]
    returned = any(var in uses.leaves(body.result) for _, body, _ in sketch.bodies())
    if returned or uses.uses(local)[var] or not all(_calls(each.binding.value, var) for each in users):
        raise Invalid("a local function that is a value, or calls itself")
    outer.pure = outer.pure and local.pure
    for param in local.params:
        outer.add_param(param)
    for user in users:
        user.remove()
        sketch.aliases[user.binding.var] = local.body.result
    splice(sketch, slot, local.body)  # last: it makes other blocks


def _calls(value: Any, var: Any) -> bool:
    return isinstance(value, tvm.ir.Call) and value.op.same_as(var)


def without_closures(sketch: Sketch) -> None:
    """Call packed functions where closures are made and called: of the same operands, but of no function."""
    for slot in slots_of(sketch):
        call: Any = slot.binding.value
        if operator_of(call) not in CLOSURES:
            continue
        made = [] if operator_of(call) == _MAKES else [call.args[0]]
        slot.binding.value = relax.op.call_pure_packed(
            _PACKED, *made, *call.args[1].fields, ty_args=slot.binding.var.ty
        )
