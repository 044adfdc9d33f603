"""Local functions: drop their attributes, and the parameters that they do not use."""

from __future__ import annotations

import tvm

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Func, Sketch
from relaxkit.ir.sketch.slots import slots_of
from relaxkit.ir.sketch.uses import with_args


@reduction("simplify local functions")
def edits(sketch: Sketch) -> Edits:
    for index, slot in enumerate(slots_of(sketch)):
        func = slot.binding.value
        if not isinstance(func, Func):
            continue
        for place, key in enumerate(sorted(func.attrs)):
            yield (index, 0, place), edit(sketch, _attribute, index, key)
        counted = uses.uses(func)
        for place in reversed(range(len(func.params))):
            if not counted[func.params[place]]:
                yield (index, 1, -place), edit(sketch, _parameter, index, place)


def _attribute(sketch: Sketch, index: int, key: str) -> None:
    del slots_of(sketch)[index].binding.value.attrs[key]


def _parameter(sketch: Sketch, index: int, place: int) -> None:
    """Drop a parameter, and the argument of the calls in sight; a function that is passed on changes its type."""
    slots = slots_of(sketch)
    binding = slots[index].binding
    binding.value.drop_param(place)
    for slot in slots:
        call = slot.binding.value
        if isinstance(call, tvm.ir.Call) and call.op.same_as(binding.var):
            slot.binding.value = with_args(call, [item for at, item in enumerate(call.args) if at != place])
