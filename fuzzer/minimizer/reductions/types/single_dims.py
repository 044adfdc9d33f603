"""Extents of 1, where everything else is done: fewer elements to read, although broadcasting makes 1 special."""

from __future__ import annotations

import tvm

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import types_of
from relaxkit.ir.types import dims_in


@reduction("single elements", final=True)
def edits(sketch: Sketch) -> Edits:
    extents = {int(dim) for ty in types_of(sketch) for dim in dims_in(ty) if isinstance(dim, tvm.tirx.IntImm)}
    for extent in sorted(extents, reverse=True):
        if extent > 1:
            yield (-extent,), edit(sketch, _single, extent)


def _single(sketch: Sketch, extent: int) -> None:
    sketch.retype.dims[extent] = 1
