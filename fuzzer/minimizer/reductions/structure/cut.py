"""End a function earlier: return a value that it computes on the way."""

from __future__ import annotations

from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Sketch

_STEPS = 8  # places tried in a function; dropping bindings does the rest


@reduction("end functions earlier")
def edits(sketch: Sketch) -> Edits:
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        count = len(func.body.bindings())
        places = sorted({step * count // _STEPS for step in range(_STEPS)})
        for place in places:
            yield (number, place, 0), edit(sketch, _cut, name, place, everything=False)
            yield (number, place, 1), edit(sketch, _cut, name, place, everything=True)


def _cut(sketch: Sketch, name: str, place: int, *, everything: bool) -> None:
    """Keep the bindings up to ``place``; return the last one, or all that the rest would have used."""
    body = sketch.functions[name].body
    bindings = body.bindings()
    if not bindings or (place >= len(bindings) - 1 and body.result.same_as(bindings[-1].var)):
        raise Invalid("it ends there already")
    kept = bindings[: place + 1]
    gives, gave = kept[-1].var.ty, body.result.ty
    if isinstance(gives, relax.FuncType) and not everything and not isinstance(gave, relax.FuncType):
        raise Invalid("a function that returns a function has fewer bindings, but is harder to read")
    used = {item for later in bindings[place + 1 :] for item in uses.of_binding(later)} | set(uses.leaves(body.result))
    outputs = [item.var for item in kept if item.var in used]
    if everything and len(outputs) < 2:
        raise Invalid("the last binding is all that is used")
    for block in body.blocks:
        block.bindings = [item for item in block.bindings if any(item is other for other in kept)]
    body.result = relax.Tuple(outputs) if everything else kept[-1].var
