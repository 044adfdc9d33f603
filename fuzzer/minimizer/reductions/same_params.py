"""One parameter in place of two of the same type."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer.emit import same_type
from fuzzer.minimizer.params import remove_param
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        for place in range(len(func.params) - 1, 0, -1):
            for other in range(place):
                if same_type(func.params[other].ty, func.params[place].ty):
                    yield (number, -place, other), partial(_merge, sketch, name, place, other)


def _merge(sketch: Sketch, name: str, place: int, other: int) -> Sketch:
    result = sketch.copy()
    params = result.functions[name].params
    result.aliases[params[place]] = params[other]
    remove_param(result, name, place)
    return result


REDUCTION = Reduction("merge parameters", _edits)
