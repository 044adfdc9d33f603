"""Replace an operator by a plainer one: the absolute value of an operand, or a sum of two."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.emit import same_type
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Branch, Sketch
from fuzzer.minimizer.slots import Slot, slots_of

_UNARY = frozenset({"relax.abs", "relax.negative", "relax.exp", "relax.nn.relu", "relax.logical_not"})
_PLAIN = _UNARY | {"relax.add"}


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if not isinstance(value, tvm.ir.Call | Branch) or slot.binding.cast is not None:
            continue
        rank = _rank(value)
        if rank > 0:
            yield (index, 0), partial(_unary, sketch, index)
        if rank > 1 and isinstance(value, tvm.ir.Call):
            yield (index, 1), partial(_sum, sketch, index)


def _rank(value: Any) -> int:
    """How far from plain: 0 for unary operators that are plain already, 1 for an addition, 2 for all others."""
    name = str(value.op.name) if isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.Op) else ""
    return 0 if name in _UNARY else 1 if name in _PLAIN else 2


def _unary(sketch: Sketch, index: int) -> Sketch | None:
    result = sketch.copy()
    slot = slots_of(result)[index]
    ty = slot.binding.var.ty
    if not isinstance(ty, relax.TensorType) or ty.dtype is None:
        return None
    for other in [*_tensors(slot), *reversed(slot.visible)]:
        if same_type(other.ty, ty):
            slot.binding.value = relax.op.logical_not(other) if str(ty.dtype) == "bool" else relax.op.abs(other)
            return result
    return None


def _sum(sketch: Sketch, index: int) -> Sketch | None:
    """The sum of the first two operands: where its type does not fit, it is discarded later."""
    result = sketch.copy()
    slot = slots_of(result)[index]
    operands = _tensors(slot)
    if len(operands) < 2 or any(str(item.ty.dtype) == "bool" for item in operands[:2]):
        return None
    slot.binding.value = relax.op.add(*operands[:2])
    return result


def _tensors(slot: Slot) -> list[Any]:
    value = slot.binding.value
    args = value.args if isinstance(value, tvm.ir.Call) else ()
    return [item for item in args if isinstance(getattr(item, "ty", None), relax.TensorType)]


REDUCTION = Reduction("use plain operators", _edits)
