"""Call functions pure that need not be impure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    impure = [name for name, func in sketch.relax_functions().items() if not func.pure]
    if len(impure) > 1:
        yield (0,), partial(_pure, sketch, impure)
    for number, name in enumerate(impure):
        yield (1, number), partial(_pure, sketch, [name])


def _pure(sketch: Sketch, names: list[str]) -> Sketch:
    result = sketch.copy()
    for name in names:
        result.functions[name].pure = True
    return result


REDUCTION = Reduction("call functions pure", _edits)
