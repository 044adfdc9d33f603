"""Reductions of functions: fewer of them, shorter ones, calls inlined, fewer parameters, plain names (last, once)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from relaxkit.ir.functions import closed
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.emit import same_type
from relaxkit.ir.sketch.params import calls_of, remove_param
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
    calls = uses.callers(sketch)
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.GlobalVar):
            name = str(value.op.name_hint)
            unrolls = calls[name] > 1 and _is_recursive(sketch, name)  # which could be done again and again
            if isinstance(sketch.functions.get(name), Func) and name != slot.function and not unrolls:
                yield (index,), edit(sketch, _inline, index)


def _is_recursive(sketch: Sketch, name: str) -> bool:
    def called(each: str) -> set[str]:
        func = sketch.functions.get(each)
        leaves = uses.mentions(func.body) if isinstance(func, Func) else ()
        return {str(leaf.name_hint) for leaf in leaves if isinstance(leaf, tvm.ir.GlobalVar)}

    return name in closed(called(name), called)


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


@reduction("split tuple parameters")
def tuple_params(sketch: Sketch) -> Edits:
    """Single parameters for a parameter that is a tuple: those that nothing uses can then be dropped."""
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        for place, param in enumerate(func.params):
            if isinstance(param.ty, relax.TupleType):
                yield (number, place), edit(sketch, _split, name, place)


def _split(sketch: Sketch, name: str, place: int) -> None:
    func = sketch.functions[name]
    param = func.params[place]
    fields = [relax.Var(f"{param.name}_{index}", ty) for index, ty in enumerate(param.ty.fields)]
    func.params[place : place + 1] = fields
    count = func.attrs.get("num_input")
    if count is not None and place < int(count):
        func.attrs["num_input"] = int(count) - 1 + len(fields)
    sketch.aliases[param] = relax.Tuple(fields)
    for binding in calls_of(sketch, name):
        args = list(binding.value.args)
        if not isinstance(args[place], relax.Tuple):
            raise Invalid("the fields of a var would have to be bound first")
        binding.value = with_args(binding.value, [*args[:place], *args[place].fields, *args[place + 1 :]])


@reduction("merge parameters")
def same_params(sketch: Sketch) -> Edits:
    """One parameter in place of two of the same type."""
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        for place in range(len(func.params) - 1, 0, -1):
            for other in range(place):
                if same_type(func.params[other].ty, func.params[place].ty):
                    yield (number, -place, other), edit(sketch, _merge, name, place, other)


def _merge(sketch: Sketch, name: str, place: int, other: int) -> None:
    params = sketch.functions[name].params
    sketch.aliases[params[place]] = params[other]
    remove_param(sketch, name, place)


@reduction("canonical function names", final=True)
def function_names(sketch: Sketch) -> Edits:
    """Name functions main, then f1, f2, ...; alone, since names can be part of a pass's arguments."""
    names = sorted(
        sketch.relax_functions(),
        key=lambda name: (name != "main", "global_symbol" not in sketch.functions[name].attrs, name),
    )
    wanted = {old: f"f{place}" if place else "main" for place, old in enumerate(names)}
    wanted = {old: new for old, new in wanted.items() if old != new}
    if len(set(sketch.functions) - set(wanted) | set(wanted.values())) < len(sketch.functions):
        return  # a new name is taken
    if len(wanted) > 1:
        yield (0,), edit(sketch, setattr, "renamed", wanted)
    for place, old in enumerate(wanted):
        if wanted[old] not in sketch.functions:
            yield (1, place), edit(sketch, setattr, "renamed", {old: wanted[old]})


@reduction("canonical names", final=True)
def names(sketch: Sketch) -> Edits:
    """Name parameters x, x1, ..., bindings lv, lv1, ..., functions main, f1, ..."""
    yield (0,), edit(sketch, setattr, "rename", True)
