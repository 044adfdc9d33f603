"""Return fewer values: fields of a returned tuple are dropped, a tuple of one becomes the value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction, chunks
from fuzzer.minimizer.sketch import Body, Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for number, (_, body, _) in enumerate(sketch.bodies()):
        fields = _fields(body)
        if fields is None:
            continue
        for key, places in chunks(len(fields)):
            keep = [item for index, item in enumerate(fields) if index not in places]
            if keep:
                yield (number, 0, *key), partial(_return, sketch, number, relax.Tuple(keep))
        for place, item in enumerate(fields):
            yield (number, 1, place), partial(_return, sketch, number, item)


def _fields(body: Body) -> list[Any] | None:
    """The fields of the returned tuple, seen through the var that it is bound to."""
    result = body.result
    for binding in reversed(body.bindings()):
        if binding.var.same_as(result) and isinstance(binding.value, relax.Tuple):
            result = binding.value
    return list(result.fields) if isinstance(result, relax.Tuple) and len(result.fields) else None


def _return(sketch: Sketch, number: int, value: Any) -> Sketch:
    result = sketch.copy()
    result.bodies()[number][1].result = value
    return result


REDUCTION = Reduction("drop outputs", _edits)
