"""Use float32 where another dtype is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of

_PLAIN = "float32"


def _edits(sketch: Sketch) -> Iterator[Edit]:
    found: set[str] = set()
    for func in sketch.relax_functions().values():
        for param in func.params:
            found |= _dtypes(param.ty)
    for slot in slots_of(sketch):
        found |= _dtypes(slot.binding.var.ty)
    others = sorted(found - {_PLAIN})
    if len(others) > 1:
        yield (0,), partial(_retype, sketch, others)
    for number, dtype in enumerate(others):
        yield (1, number), partial(_retype, sketch, [dtype])


def _dtypes(ty: Any) -> set[str]:
    if isinstance(ty, relax.TupleType):
        return set().union(*(_dtypes(item) for item in ty.fields))
    if isinstance(ty, relax.TensorType) and ty.dtype is not None:
        return {str(ty.dtype)}
    return set()


def _retype(sketch: Sketch, dtypes: list[str]) -> Sketch:
    result = sketch.copy()
    result.retype.dtypes = dict.fromkeys(dtypes, _PLAIN)
    return result


REDUCTION = Reduction("use float32", _edits)
