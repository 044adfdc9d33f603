"""Reductions of functions: fewer of them, shorter ones, calls inlined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Func, Sketch, SketchBody
from relaxkit.ir.sketch.slots import Slot, Substitute, drop, slots_of, splice
from relaxkit.ir.sketch.symbols import matched
from relaxkit.ir.sketch.uses import with_args


@reduction("drop functions")
def functions(sketch: Sketch) -> Edits:
    """Drop whole functions; fresh values take the place of their calls."""
    names = list(sketch.functions)
    for key, places in chunks(len(names)):
        if len(places) < len(names):
            yield key, edit(sketch, _without, [names[place] for place in places])


def _without(sketch: Sketch, names: Sequence[str]) -> None:
    for name in names:
        del sketch.functions[name]
    drop(sketch, [index for index, slot in enumerate(slots_of(sketch)) if _mentions(slot, names)], Substitute.PARAMETER)


def _mentions(slot: Slot, names: Sequence[str]) -> bool:
    return any(isinstance(item, tvm.ir.GlobalVar) and item.name_hint in names for item in uses.of_binding(slot.binding))


_STEPS = 8  # places tried in a function; dropping bindings does the rest


@reduction("end functions earlier")
def cut(sketch: Sketch) -> Edits:
    """End a function earlier: return a value that it computes on the way."""
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        count = len(func.body.bindings())
        places = sorted({step * count // _STEPS for step in range(_STEPS)})
        for place in places:
            yield (number, place, 0), edit(sketch, _cut, name, place, everything=False)
            yield (number, place, 1), edit(sketch, _cut, name, place, everything=True)


def _cut(sketch: Sketch, name: str, place: int, *, everything: bool) -> None:
    """Keep the bindings up to ``place``; return the last one, or all that the rest would have used."""
    body = sketch.functions[name].body
    bindings = body.bindings()
    if not bindings or (place >= len(bindings) - 1 and body.result.same_as(bindings[-1].var)):
        raise Invalid("it ends there already")
    kept = bindings[: place + 1]
    gives, gave = kept[-1].var.ty, body.result.ty
    if isinstance(gives, relax.FuncType) and not everything and not isinstance(gave, relax.FuncType):
        raise Invalid("a function that returns a function has fewer bindings, but is harder to read")
    used = {item for later in bindings[place + 1 :] for item in uses.of_binding(later)} | set(uses.leaves(body.result))
    outputs = [item.var for item in kept if item.var in used]
    if everything and len(outputs) < 2:
        raise Invalid("the last binding is all that is used")
    for block in body.blocks:
        block.bindings = [item for item in block.bindings if any(item is other for other in kept)]
    body.result = relax.Tuple(outputs) if everything else kept[-1].var


@reduction("drop outputs")
def outputs(sketch: Sketch) -> Edits:
    """Return fewer values: fields of a returned tuple are dropped, a tuple of one becomes the value."""
    for number, (_, body, _) in enumerate(sketch.bodies()):
        fields = _fields(body)
        if fields is None:
            continue
        for key, places in chunks(len(fields)):
            keep = [item for index, item in enumerate(fields) if index not in places]
            if keep:
                yield (number, 0, *key), edit(sketch, _return, number, relax.Tuple(keep))
        for place, item in enumerate(fields):
            yield (number, 1, place), edit(sketch, _return, number, item)


def _fields(body: SketchBody) -> list[Any] | None:
    """Return the fields of the returned tuple, seen through the var that it is bound to."""
    result = body.result
    for binding in reversed(body.bindings()):
        if binding.var.same_as(result) and isinstance(binding.value, relax.Tuple):
            result = binding.value
    return list(result.fields) if isinstance(result, relax.Tuple) and len(result.fields) else None


def _return(sketch: Sketch, number: int, value: Any) -> None:
    sketch.bodies()[number][1].result = value


@reduction("inline calls")
def inline(sketch: Sketch) -> Edits:
    """Replace a call of a global Relax function by the function's body."""
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


@reduction("simplify local functions")
def local_functions(sketch: Sketch) -> Edits:
    """Local functions: drop their attributes, and the parameters that they do not use."""
    for index, slot in enumerate(slots_of(sketch)):
        func = slot.binding.value
        if not isinstance(func, Func):
            continue
        for place, key in enumerate(sorted(func.attrs)):
            yield (index, 0, place), edit(sketch, _attribute, index, key)
        counted = uses.uses(func)
        for place in reversed(range(len(func.params))):
            if not counted[func.params[place]]:
                yield (index, 1, -place), edit(sketch, _parameter, index, place)


def _attribute(sketch: Sketch, index: int, key: str) -> None:
    del slots_of(sketch)[index].binding.value.attrs[key]


def _parameter(sketch: Sketch, index: int, place: int) -> None:
    """Drop a parameter, and the argument of the calls in sight; a function that is passed on changes its type."""
    slots = slots_of(sketch)
    binding = slots[index].binding
    binding.value.drop_param(place)
    for slot in slots:
        call = slot.binding.value
        if isinstance(call, tvm.ir.Call) and call.op.same_as(binding.var):
            slot.binding.value = with_args(call, [item for at, item in enumerate(call.args) if at != place])


@reduction("call functions pure")
def purity(sketch: Sketch) -> Edits:
    """Call functions pure that need not be impure."""
    impure = [name for name, func in sketch.relax_functions().items() if not func.pure]
    if len(impure) > 1:
        yield (0,), edit(sketch, _pure, impure)
    for number, name in enumerate(impure):
        yield (1, number), edit(sketch, _pure, [name])


def _pure(sketch: Sketch, names: list[str]) -> None:
    for name in names:
        sketch.functions[name].pure = True
