"""Replace a call of a global Relax function by the function's body."""

from __future__ import annotations

import tvm

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Func, Sketch
from relaxkit.ir.sketch.slots import slots_of, splice
from relaxkit.ir.sketch.symbols import matched


@reduction("inline calls")
def edits(sketch: Sketch) -> Edits:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.GlobalVar):
            callee = sketch.functions.get(str(value.op.name_hint))
            if isinstance(callee, Func) and str(value.op.name_hint) != slot.function:
                yield (index,), edit(sketch, _inline, index)


def _inline(sketch: Sketch, index: int) -> None:
    slot = slots_of(sketch)[index]
    call = slot.binding.value
    name = str(call.op.name_hint)
    callee = sketch.functions[name].copy()
    if len(callee.params) != len(call.args):
        raise Invalid("another number of arguments")
    for param, argument in zip(callee.params, call.args, strict=True):
        sketch.aliases[param] = argument
        for symbol, dim in matched(param.ty, argument.ty):
            if not symbol.same_as(dim):
                sketch.aliases.setdefault(symbol, dim)
    if uses.callers(sketch)[name] == 1:
        del sketch.functions[name]
    splice(sketch, slot, callee.body)
