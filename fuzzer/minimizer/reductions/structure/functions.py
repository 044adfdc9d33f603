"""Drop whole functions; fresh values take the place of their calls."""

from __future__ import annotations

from collections.abc import Sequence

import tvm

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import Slot, Substitute, drop, slots_of


@reduction("drop functions")
def edits(sketch: Sketch) -> Edits:
    names = list(sketch.functions)
    for key, places in chunks(len(names)):
        if len(places) < len(names):
            yield key, edit(sketch, _without, [names[place] for place in places])


def _without(sketch: Sketch, names: Sequence[str]) -> None:
    for name in names:
        del sketch.functions[name]
    drop(sketch, [index for index, slot in enumerate(slots_of(sketch)) if _mentions(slot, names)], Substitute.PARAMETER)


def _mentions(slot: Slot, names: Sequence[str]) -> bool:
    return any(isinstance(item, tvm.ir.GlobalVar) and item.name_hint in names for item in uses.of_binding(slot.binding))
