"""Replace a value by one of its operands, whatever its type: casts, hints, moves and shape changes go so."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import slots_of


@reduction("use an operand")
def edits(sketch: Sketch) -> Edits:
    for index, slot in enumerate(slots_of(sketch)):
        for place in range(len(_operands(slot.binding))):
            yield (index, place), edit(sketch, _replace, index, place)


def _operands(binding: Any) -> list[Any]:
    """Return what may stand for the value: a cast's own operand, an operator's tensors, those in a tuple too."""
    value = binding.value
    if binding.cast is not None:
        return [value]
    if not isinstance(value, tvm.ir.Call) or isinstance(value.op, relax.Var):
        return []
    found: list[Any] = []
    for item in value.args:
        found += list(item.fields) if isinstance(item, relax.Tuple) else [item]
    kept = [item for item in found if isinstance(getattr(item, "ty", None), relax.TensorType)]
    return [item for place, item in enumerate(kept) if not any(item.same_as(other) for other in kept[:place])]


def _replace(sketch: Sketch, index: int, place: int) -> None:
    slot = slots_of(sketch)[index]
    sketch.aliases[slot.binding.var] = _operands(slot.binding)[place]
    slot.remove()
