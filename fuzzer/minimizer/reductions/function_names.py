"""Canonical names of functions: main, then f1, f2, ...  Tried last, once: names can be part of a pass's arguments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    names = sorted(sketch.relax_functions(), key=lambda name: (name != "main", not _public(sketch, name), name))
    wanted = {old: f"f{place}" if place else "main" for place, old in enumerate(names)}
    wanted = {old: new for old, new in wanted.items() if old != new}
    if len(set(sketch.functions) - set(wanted) | set(wanted.values())) < len(sketch.functions):
        return  # a new name is taken
    if len(wanted) > 1:
        yield (0,), partial(_rename, sketch, wanted)
    for place, old in enumerate(wanted):
        if wanted[old] not in sketch.functions:
            yield (1, place), partial(_rename, sketch, {old: wanted[old]})


def _public(sketch: Sketch, name: str) -> bool:
    return "global_symbol" in sketch.functions[name].attrs


def _rename(sketch: Sketch, names: dict[str, str]) -> Sketch:
    result = sketch.copy()
    result.renamed = names
    return result


REDUCTION = Reduction("canonical function names", _edits, final=True)
