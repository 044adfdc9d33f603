"""One block in place of several."""

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


def _merge(sketch: Sketch, number: int, dataflow: bool) -> Sketch:
    result = sketch.copy()
    body = result.bodies()[number][1]
    body.blocks = [Block(dataflow, body.bindings())]
    return result


REDUCTION = Reduction("merge blocks", _edits)
