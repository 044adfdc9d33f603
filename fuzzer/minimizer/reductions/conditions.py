"""A constant or a parameter for the condition of an ``If``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.params import add_param, can_add
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Branch, Sketch
from fuzzer.minimizer.slots import slots_of

_BOOL = relax.TensorType((), "bool")


def _edits(sketch: Sketch) -> Iterator[Edit]:
    called = walk.callers(sketch)
    for index, slot in enumerate(slots_of(sketch)):
        if not isinstance(slot.binding.value, Branch):
            continue
        condition = slot.binding.value.condition
        params = sketch.functions[slot.function].params
        if isinstance(condition, tvm.ir.GenericConst) or any(condition.same_as(param) for param in params):
            continue
        if can_add(sketch, slot.function, _BOOL, called):
            yield (index, 0), partial(_parameter, sketch, index)
        yield (index, 1), partial(_condition, sketch, index, relax.const(True, "bool"))
        yield (index, 2), partial(_condition, sketch, index, relax.const(False, "bool"))


def _parameter(sketch: Sketch, index: int) -> Sketch:
    new = relax.Var("c", _BOOL)
    result = _condition(sketch, index, new)
    add_param(result, slots_of(result)[index].function, new)
    return result


def _condition(sketch: Sketch, index: int, condition: Any) -> Sketch:
    result = sketch.copy()
    slots_of(result)[index].binding.value.condition = condition
    return result


REDUCTION = Reduction("simplify conditions", _edits)
