"""Replace an operator by a plain one of the same type."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.emit import same_type
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of

_PLAIN = ("relax.abs", "relax.negative", "relax.exp")  # of floats and integers; unary, keep shape and dtype


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if isinstance(value, tvm.ir.Call) and _rank(value) > 0 and slot.binding.cast is None:
            yield (index,), partial(_plain, sketch, index)


def _rank(call: Any) -> int:
    """0 for an operator that is plain already."""
    if isinstance(call.op, tvm.ir.Op) and str(call.op.name) in _PLAIN:
        return 0
    return 1


def _plain(sketch: Sketch, index: int) -> Sketch | None:
    result = sketch.copy()
    slot = slots_of(result)[index]
    ty = slot.binding.var.ty
    if not isinstance(ty, relax.TensorType) or ty.dtype is None or str(ty.dtype) == "bool":
        return None
    for other in reversed(slot.visible):
        if same_type(other.ty, ty):
            slot.binding.value = relax.op.abs(other)
            return result
    return None


REDUCTION = Reduction("use plain operators", _edits)
