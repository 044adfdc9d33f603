"""Return fewer values: fields of a returned tuple are dropped, a tuple of one becomes the value."""

from __future__ import annotations

from typing import Any

from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch, SketchBody


@reduction("drop outputs")
def edits(sketch: Sketch) -> Edits:
    for number, (_, body, _) in enumerate(sketch.bodies()):
        fields = _fields(body)
        if fields is None:
            continue
        for key, places in chunks(len(fields)):
            keep = [item for index, item in enumerate(fields) if index not in places]
            if keep:
                yield (number, 0, *key), edit(sketch, _return, number, relax.Tuple(keep))
        for place, item in enumerate(fields):
            yield (number, 1, place), edit(sketch, _return, number, item)


def _fields(body: SketchBody) -> list[Any] | None:
    """Return the fields of the returned tuple, seen through the var that it is bound to."""
    result = body.result
    for binding in reversed(body.bindings()):
        if binding.var.same_as(result) and isinstance(binding.value, relax.Tuple):
            result = binding.value
    return list(result.fields) if isinstance(result, relax.Tuple) and len(result.fields) else None


def _return(sketch: Sketch, number: int, value: Any) -> None:
    sketch.bodies()[number][1].result = value
