"""Replace a value by one of its operands, whatever its type: casts, hints, moves and shape changes go so."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for index, slot in enumerate(slots_of(sketch)):
        for place in range(len(_operands(slot.binding))):
            yield (index, place), partial(_replace, sketch, index, place)


def _operands(binding: Any) -> list[Any]:
    """What may stand for the value: a cast's own operand, an operator's tensors, those in a tuple of operands too."""
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


def _replace(sketch: Sketch, index: int, place: int) -> Sketch:
    result = sketch.copy()
    slot = slots_of(result)[index]
    result.aliases[slot.binding.var] = _operands(slot.binding)[place]
    slot.block.bindings = [item for item in slot.block.bindings if item is not slot.binding]
    return result


REDUCTION = Reduction("use an operand", _edits)
