"""Replace a call of a global Relax function by the function's body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tvm

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Func, Sketch
from fuzzer.minimizer.slots import slots_of
from fuzzer.minimizer.splice import splice
from fuzzer.minimizer.symbols import matched


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
        for symbol, dim in matched(param.ty, argument.ty):
            if not symbol.same_as(dim):
                result.aliases.setdefault(symbol, dim)
    if walk.callers(result)[name] == 1:
        del result.functions[name]
    splice(result, slot, callee.body)
    return result


REDUCTION = Reduction("inline calls", _edits)
