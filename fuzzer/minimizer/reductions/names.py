"""Canonical names: parameters x, x1, ..., bindings lv, lv1, ..., functions main, f1, ...  Tried last, once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    yield (0,), partial(_rename, sketch)


def _rename(sketch: Sketch) -> Sketch:
    result = sketch.copy()
    result.rename = True
    return result


REDUCTION = Reduction("canonical names", _edits, final=True)
