"""Drop whole functions; fresh values take the place of their calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import tvm

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction, chunks
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import Slot, StandIn, drop, slots_of


def _edits(sketch: Sketch) -> Iterator[Edit]:
    names = list(sketch.functions)
    for key, places in chunks(len(names)):
        if len(places) < len(names):
            yield key, partial(_without, sketch, [names[place] for place in places])


def _without(sketch: Sketch, names: Sequence[str]) -> Sketch | None:
    smaller = sketch.copy()
    for name in names:
        del smaller.functions[name]
    indices = [index for index, slot in enumerate(slots_of(smaller)) if _mentions(slot, names)]
    return drop(smaller, indices, StandIn.PARAMETER)


def _mentions(slot: Slot, names: Sequence[str]) -> bool:
    return any(isinstance(item, tvm.ir.GlobalVar) and item.name_hint in names for item in walk.of_binding(slot.binding))


REDUCTION = Reduction("drop functions", _edits)
