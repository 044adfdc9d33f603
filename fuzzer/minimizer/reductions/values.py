"""Drop bindings for constants of the very values that they have: for findings that depend on them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer.concrete import constants_of
from fuzzer.minimizer.reduction import Edit, Reduction, chunks
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import StandIn, drop, slots_of


def _edits(sketch: Sketch) -> Iterator[Edit]:
    values = constants_of(sketch)
    known = [slot.binding.var in values for slot in slots_of(sketch)]
    for key, places in chunks(len(known)):
        chosen = [place for place in places if known[place]]
        if chosen:
            yield key, partial(drop, sketch, chosen, StandIn.VALUE, values)


REDUCTION = Reduction("use concrete values", _edits)
