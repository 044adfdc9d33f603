"""One block in place of several, and plain blocks for dataflow blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Block, Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for number, (_, body, _) in enumerate(sketch.bodies()):
        if len(body.blocks) > 1:
            yield (number, 0), partial(_merge, sketch, number, True)
            yield (number, 1), partial(_merge, sketch, number, False)
        for place, block in enumerate(body.blocks):
            if block.dataflow:
                yield (number, 2, place), partial(_plain, sketch, number, place)


def _merge(sketch: Sketch, number: int, dataflow: bool) -> Sketch:
    result = sketch.copy()
    body = result.bodies()[number][1]
    body.blocks = [Block(dataflow, body.bindings())]
    return result


def _plain(sketch: Sketch, number: int, place: int) -> Sketch:
    result = sketch.copy()
    result.bodies()[number][1].blocks[place].dataflow = False
    return result


REDUCTION = Reduction("merge blocks", _edits)
