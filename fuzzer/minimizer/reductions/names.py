"""Canonical names: tried last, once."""

from __future__ import annotations

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch


@reduction("canonical function names", final=True)
def function_names(sketch: Sketch) -> Edits:
    """Name functions main, then f1, f2, ...; alone, since names can be part of a pass's arguments."""
    names = sorted(
        sketch.relax_functions(),
        key=lambda name: (name != "main", "global_symbol" not in sketch.functions[name].attrs, name),
    )
    wanted = {old: f"f{place}" if place else "main" for place, old in enumerate(names)}
    wanted = {old: new for old, new in wanted.items() if old != new}
    if len(set(sketch.functions) - set(wanted) | set(wanted.values())) < len(sketch.functions):
        return  # a new name is taken
    if len(wanted) > 1:
        yield (0,), edit(sketch, setattr, "renamed", wanted)
    for place, old in enumerate(wanted):
        if wanted[old] not in sketch.functions:
            yield (1, place), edit(sketch, setattr, "renamed", {old: wanted[old]})


@reduction("canonical names", final=True)
def names(sketch: Sketch) -> Edits:
    """Name parameters x, x1, ..., bindings lv, lv1, ..., functions main, f1, ..."""
    yield (0,), edit(sketch, setattr, "rename", True)
