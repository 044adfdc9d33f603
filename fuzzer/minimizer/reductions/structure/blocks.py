"""One block in place of several, and plain blocks for dataflow blocks."""

from __future__ import annotations

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch, SketchBlock


@reduction("merge blocks")
def edits(sketch: Sketch) -> Edits:
    for number, (_, body, _) in enumerate(sketch.bodies()):
        if len(body.blocks) > 1:
            yield (number, 0), edit(sketch, _merge, number, True)
            yield (number, 1), edit(sketch, _merge, number, False)
        for place, block in enumerate(body.blocks):
            if block.dataflow:
                yield (number, 2, place), edit(sketch, _plain, number, place)


def _merge(sketch: Sketch, number: int, dataflow: bool) -> None:
    body = sketch.bodies()[number][1]
    body.blocks = [SketchBlock(dataflow, body.bindings())]


def _plain(sketch: Sketch, number: int, place: int) -> None:
    sketch.bodies()[number][1].blocks[place].dataflow = False
