"""Call functions pure that need not be impure."""

from __future__ import annotations

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.sketch import Sketch


@reduction("call functions pure")
def edits(sketch: Sketch) -> Edits:
    impure = [name for name, func in sketch.relax_functions().items() if not func.pure]
    if len(impure) > 1:
        yield (0,), edit(sketch, _pure, impure)
    for number, name in enumerate(impure):
        yield (1, number), edit(sketch, _pure, [name])


def _pure(sketch: Sketch, names: list[str]) -> None:
    for name in names:
        sketch.functions[name].pure = True
