"""Replace a call of a global Relax function by the function's body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Func, Sketch
from fuzzer.minimizer.slots import slots_of
from fuzzer.minimizer.splice import splice


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.GlobalVar):
            callee = sketch.functions.get(str(value.op.name_hint))
            if isinstance(callee, Func) and str(value.op.name_hint) != slot.function:
                yield (index,), partial(_inline, sketch, index)


def _inline(sketch: Sketch, index: int) -> Sketch | None:
    result = sketch.copy()
    slot = slots_of(result)[index]
    call = slot.binding.value
    name = str(call.op.name_hint)
    callee = result.functions[name].copy()
    if len(callee.params) != len(call.args):
        return None
    for param, argument in zip(callee.params, call.args, strict=True):
        result.aliases[param] = argument
        _match(param.ty, argument.ty, result.aliases)
    if walk.callers(result)[name] == 1:
        del result.functions[name]
    splice(result, slot, callee.body)
    return result


def _match(declared: Any, given: Any, aliases: dict[Any, Any]) -> None:
    """The callee's symbolic dims by the argument's dims, where both are known."""
    if isinstance(declared, relax.TupleType) and isinstance(given, relax.TupleType):
        for left, right in zip(declared.fields, given.fields, strict=False):
            _match(left, right, aliases)
    elif isinstance(declared, relax.TensorType) and isinstance(given, relax.TensorType):
        if isinstance(declared.shape, relax.ShapeExpr) and isinstance(given.shape, relax.ShapeExpr):
            _dims(declared.shape.values, given.shape.values, aliases)
    elif _known(declared) and _known(given):
        _dims(declared.values, given.values, aliases)


def _known(ty: Any) -> bool:
    return isinstance(ty, relax.ShapeType) and ty.values is not None


def _dims(declared: Any, given: Any, aliases: dict[Any, Any]) -> None:
    for left, right in zip(declared, given, strict=False):
        if isinstance(left, relax.Var) and not left.same_as(right):
            aliases.setdefault(left, right)


REDUCTION = Reduction("inline calls", _edits)
