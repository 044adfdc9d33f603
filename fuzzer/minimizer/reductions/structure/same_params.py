"""One parameter in place of two of the same type."""

from __future__ import annotations

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.emit import same_type
from relaxkit.ir.sketch.params import remove_param
from relaxkit.ir.sketch.sketch import Sketch


@reduction("merge parameters")
def edits(sketch: Sketch) -> Edits:
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        for place in range(len(func.params) - 1, 0, -1):
            for other in range(place):
                if same_type(func.params[other].ty, func.params[place].ty):
                    yield (number, -place, other), edit(sketch, _merge, name, place, other)


def _merge(sketch: Sketch, name: str, place: int, other: int) -> None:
    params = sketch.functions[name].params
    sketch.aliases[params[place]] = params[other]
    remove_param(sketch, name, place)
