"""Local functions: drop their attributes, and the parameters that they do not use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tvm

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Func, Sketch
from fuzzer.minimizer.slots import slots_of
from fuzzer.minimizer.substitute import with_args


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for index, slot in enumerate(slots_of(sketch)):
        func = slot.binding.value
        if not isinstance(func, Func):
            continue
        for place, key in enumerate(sorted(func.attrs)):
            yield (index, 0, place), partial(_attribute, sketch, index, key)
        counted = walk.uses(func)
        for place in reversed(range(len(func.params))):
            if not counted[func.params[place]]:
                yield (index, 1, -place), partial(_parameter, sketch, index, place)


def _attribute(sketch: Sketch, index: int, key: str) -> Sketch:
    result = sketch.copy()
    del slots_of(result)[index].binding.value.attrs[key]
    return result


def _parameter(sketch: Sketch, index: int, place: int) -> Sketch:
    """Drop a parameter, and the argument of the calls in sight; a function that is passed on changes its type."""
    result = sketch.copy()
    slots = slots_of(result)
    binding = slots[index].binding
    binding.value.drop_param(place)
    for slot in slots:
        call = slot.binding.value
        if isinstance(call, tvm.ir.Call) and call.op.same_as(binding.var):
            slot.binding.value = with_args(call, [item for at, item in enumerate(call.args) if at != place])
    return result


REDUCTION = Reduction("simplify local functions", _edits)
