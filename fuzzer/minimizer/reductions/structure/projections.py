"""See through tuples, plain copies and match casts."""

from __future__ import annotations

from typing import Any

from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import slots_of


@reduction("see through copies")
def edits(sketch: Sketch) -> Edits:
    yield (0,), edit(sketch, _simplify, None)
    for index in range(len(slots_of(sketch))):
        yield (index + 1,), edit(sketch, _simplify, index)


def _simplify(sketch: Sketch, only: int | None) -> None:
    slots = slots_of(sketch)
    tuples = {slot.binding.var: slot.binding.value for slot in slots if isinstance(slot.binding.value, relax.Tuple)}
    found = [(slot, _seen_through(slot.binding, tuples)) for slot in (slots if only is None else [slots[only]])]
    found = [(slot, stands) for slot, stands in found if stands is not None]
    if not found:
        raise Invalid("nothing to see through")
    for slot, stands in found:
        sketch.aliases[slot.binding.var] = stands
        slot.remove()


def _seen_through(binding: Any, tuples: dict[Any, Any]) -> Any:
    value = binding.value
    if isinstance(value, relax.Var):
        return value
    if isinstance(value, relax.TupleGetItem):
        source = tuples.get(value.tuple_value, value.tuple_value)
        if isinstance(source, relax.Tuple):
            return source.fields[value.index]
    return None
