"""Use float32 where another dtype is not needed."""

from __future__ import annotations

from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import slots_of
from relaxkit.ir.types import flat

_PLAIN = "float32"


@reduction("use float32")
def edits(sketch: Sketch) -> Edits:
    types = [param.ty for func in sketch.relax_functions().values() for param in func.params]
    types += [slot.binding.var.ty for slot in slots_of(sketch)]
    tensors = [leaf for ty in types for leaf in flat(ty) if isinstance(leaf, relax.TensorType)]
    found = {str(leaf.dtype) for leaf in tensors if leaf.dtype is not None}
    others = sorted(found - {_PLAIN})
    if len(others) > 1:
        yield (0,), edit(sketch, _retype, others)
    for number, dtype in enumerate(others):
        yield (1, number), edit(sketch, _retype, [dtype])


def _retype(sketch: Sketch, dtypes: list[str]) -> None:
    sketch.retype.dtypes = dict.fromkeys(dtypes, _PLAIN)
