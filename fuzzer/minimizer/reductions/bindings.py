"""Drop bindings in chunks of decaying size; something visible, a parameter or a constant stands for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer.reduction import Edit, Reduction, chunks
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import StandIn, drop, slots_of

_WAYS = (StandIn.VISIBLE, StandIn.PARAMETER, StandIn.CONSTANT)


def _edits(sketch: Sketch) -> Iterator[Edit]:
    count = len(slots_of(sketch))
    for key, places in chunks(count):
        for order, stand_in in enumerate(_WAYS):
            if stand_in is not StandIn.CONSTANT or len(places) == 1:
                yield (*key, order), partial(drop, sketch, places, stand_in)


REDUCTION = Reduction("drop bindings", _edits)
