"""Replace an operator by a plainer one: the absolute value of an operand, or a sum of two."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import same_type
from relaxkit.ir.sketch.sketch import Branch, Sketch
from relaxkit.ir.sketch.slots import Slot, slots_of

_UNARY = frozenset({"relax.abs", "relax.negative", "relax.exp", "relax.nn.relu", "relax.logical_not"})
_PLAIN = _UNARY | {"relax.add"}


@reduction("use plain operators")
def edits(sketch: Sketch) -> Edits:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if not isinstance(value, tvm.ir.Call | Branch) or slot.binding.cast is not None:
            continue
        rank = _rank(value)
        if rank > 0:
            yield (index, 0), edit(sketch, _unary, index)
        if rank > 1 and isinstance(value, tvm.ir.Call):
            yield (index, 1), edit(sketch, _sum, index)


def _rank(value: Any) -> int:
    """Return how far from plain it is: 0 for unary operators that are plain, 1 for an addition, 2 for all others."""
    name = str(value.op.name) if isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.Op) else ""
    return 0 if name in _UNARY else 1 if name in _PLAIN else 2


def _unary(sketch: Sketch, index: int) -> None:
    slot = slots_of(sketch)[index]
    ty = slot.binding.var.ty
    if not isinstance(ty, relax.TensorType) or ty.dtype is None:
        raise Invalid("no tensor of a known dtype")
    for other in [*_tensors(slot), *reversed(slot.visible)]:
        if same_type(other.ty, ty):
            slot.binding.value = relax.op.logical_not(other) if str(ty.dtype) == "bool" else relax.op.abs(other)
            return
    raise Invalid("nothing of that type is visible")


def _sum(sketch: Sketch, index: int) -> None:
    """Take the sum of the first two operands: where its type does not fit, it is discarded later."""
    slot = slots_of(sketch)[index]
    operands = _tensors(slot)
    if len(operands) < 2 or any(str(item.ty.dtype) == "bool" for item in operands[:2]):
        raise Invalid("no two numbers")
    slot.binding.value = relax.op.add(*operands[:2])


def _tensors(slot: Slot) -> list[Any]:
    value = slot.binding.value
    args = value.args if isinstance(value, tvm.ir.Call) else ()
    return [item for item in args if isinstance(getattr(item, "ty", None), relax.TensorType)]
