"""Drop bindings in chunks of decaying size; something visible, a parameter or a constant stands for each."""

from __future__ import annotations

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import Substitute, drop, slots_of

_WAYS = (Substitute.VISIBLE, Substitute.PARAMETER, Substitute.CONSTANT)


@reduction("drop bindings")
def edits(sketch: Sketch) -> Edits:
    count = len(slots_of(sketch))
    for key, places in chunks(count):
        for order, stand_in in enumerate(_WAYS):
            if stand_in is not Substitute.CONSTANT or len(places) == 1:
                yield (*key, order), edit(sketch, drop, places, stand_in)
