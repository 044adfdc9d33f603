"""A constant or a parameter for the condition of an ``If``."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.params import add_param, can_add
from relaxkit.ir.sketch.sketch import Branch, Sketch
from relaxkit.ir.sketch.slots import slots_of

_BOOL = relax.TensorType((), "bool")


@reduction("simplify conditions")
def edits(sketch: Sketch) -> Edits:
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
