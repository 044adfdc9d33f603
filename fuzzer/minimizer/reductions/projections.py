"""See through tuples, plain copies and match casts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of


def _edits(sketch: Sketch) -> Iterator[Edit]:
    yield (0,), partial(_simplify, sketch, None)
    for index in range(len(slots_of(sketch))):
        yield (index + 1,), partial(_simplify, sketch, index)


def _simplify(sketch: Sketch, only: int | None) -> Sketch | None:
    result = sketch.copy()
    slots = slots_of(result)
    tuples = {slot.binding.var: slot.binding.value for slot in slots if isinstance(slot.binding.value, relax.Tuple)}
    changed = False
    for index, slot in enumerate(slots):
        if only is not None and index != only:
            continue
        stands = _seen_through(slot.binding, tuples)
        if stands is not None:
            result.aliases[slot.binding.var] = stands
            slot.block.bindings = [item for item in slot.block.bindings if item is not slot.binding]
            changed = True
    return result if changed else None


def _seen_through(binding: Any, tuples: dict[Any, Any]) -> Any:
    value = binding.value
    if isinstance(value, relax.Var):
        return value
    if isinstance(value, relax.TupleGetItem):
        source = tuples.get(value.tuple_value, value.tuple_value)
        if isinstance(source, relax.Tuple):
            return source.fields[value.index]
    return None


REDUCTION = Reduction("see through copies", _edits)
