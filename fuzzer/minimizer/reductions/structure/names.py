"""Canonical names: parameters x, x1, ..., bindings lv, lv1, ..., functions main, f1, ...  Tried last, once."""

from __future__ import annotations

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch


@reduction("canonical names", final=True)
def edits(sketch: Sketch) -> Edits:
    yield (0,), edit(sketch, setattr, "rename", True)
