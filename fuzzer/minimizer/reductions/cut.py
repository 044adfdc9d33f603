"""End a function earlier: return a value that it computes on the way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch

_STEPS = 8  # places tried in a function; dropping bindings does the rest


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        count = len(func.body.bindings())
        places = sorted({step * count // _STEPS for step in range(_STEPS)})
        for place in places:
            yield (number, place, 0), partial(_cut, sketch, name, place, everything=False)
            yield (number, place, 1), partial(_cut, sketch, name, place, everything=True)


def _cut(sketch: Sketch, name: str, place: int, *, everything: bool) -> Sketch | None:
    """Keep the bindings up to ``place``; return the last one, or all that the rest would have used."""
    result = sketch.copy()
    body = result.functions[name].body
    bindings = body.bindings()
    if not bindings or (place >= len(bindings) - 1 and body.result.same_as(bindings[-1].var)):
        return None
    kept = bindings[: place + 1]
    if (
        isinstance(kept[-1].var.ty, relax.FuncType)
        and not everything
        and not isinstance(body.result.ty, relax.FuncType)
    ):
        return None  # a function that returns a function has fewer bindings, but is harder to read
    used = {item for later in bindings[place + 1 :] for item in walk.of_binding(later)} | set(walk.leaves(body.result))
    outputs = [item.var for item in kept if item.var in used]
    if everything and len(outputs) < 2:
        return None
    for block in body.blocks:
        block.bindings = [item for item in block.bindings if any(item is other for other in kept)]
    body.result = relax.Tuple(outputs) if everything else kept[-1].var
    return result


REDUCTION = Reduction("end functions earlier", _edits)
