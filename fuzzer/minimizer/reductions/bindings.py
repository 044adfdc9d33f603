"""Reductions of bindings: drop them, see through them, put an operand in their place."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.params import remove_param
from relaxkit.ir.sketch.sketch import Binding, Func, Sketch
from relaxkit.ir.sketch.slots import Substitute, drop, slots_of


@reduction("drop what is unused")
def unused(sketch: Sketch) -> Edits:
    """Drop what nothing uses: bindings, private functions and kernels, and parameters."""
    yield (0,), edit(sketch, _sweep, params=True)
    yield (1,), edit(sketch, _sweep, params=False)
    index = 1
    for name, func in sketch.relax_functions().items():
        counted = uses.uses(func)
        for place, param in enumerate(func.params):
            if counted[param] == 0:
                index += 1
                yield (index,), edit(sketch, remove_param, name, place)


def _sweep(sketch: Sketch, *, params: bool) -> None:
    changed, again = False, True
    while again:
        again = _bindings(sketch) or _functions(sketch)
        if params:
            again = _params(sketch) or again
        changed = changed or again
    if not changed:
        raise Invalid("all of it is used")


def _bindings(sketch: Sketch) -> bool:
    changed = False
    for func in sketch.relax_functions().values():
        counted = uses.uses(func)
        for body, _ in func.bodies():
            for block in body.blocks:
                kept = [item for item in block.bindings if counted[item.var] or _binds_a_dim(item, func, counted)]
                changed = changed or len(kept) != len(block.bindings)
                block.bindings = kept
    return changed


def _functions(sketch: Sketch) -> bool:
    called = uses.callers(sketch)
    unused = [name for name, item in sketch.functions.items() if not called[name] and not _public(item)]
    for name in unused:
        del sketch.functions[name]
    return bool(unused)


def _public(function: Any) -> bool:
    if isinstance(function, Func):
        return "global_symbol" in function.attrs
    return False  # a kernel that nothing calls


def _params(sketch: Sketch) -> bool:
    changed = False
    for name, func in sketch.relax_functions().items():
        counted = uses.uses(func)
        for place in reversed(range(len(func.params))):
            others = [param.ty for index, param in enumerate(func.params) if index != place]
            if counted[func.params[place]] == 0 and not _is_alone(func.params[place].ty, others, counted, 0):
                remove_param(sketch, name, place)
                changed = True
    return changed


def _binds_a_dim(binding: Binding, func: Func, counted: Counter[Any]) -> bool:
    """Say whether a cast binds a symbolic dim that something else mentions, and no parameter binds."""
    return binding.cast is not None and _is_alone(binding.cast, [param.ty for param in func.params], counted, 1)


def _is_alone(ty: Any, others: list[Any], counted: Counter[Any], own: int) -> bool:
    """Say whether a type has a dim mentioned more often than ``own`` times for each time here, and in no other."""
    bound = {item for other in others for item in uses.leaves_of_type(other)}
    here = Counter(uses.leaves_of_type(ty))
    return any(counted[item] > own * times and item not in bound for item, times in here.items())


_WAYS = (Substitute.VISIBLE, Substitute.PARAMETER, Substitute.CONSTANT)


@reduction("drop bindings")
def bindings(sketch: Sketch) -> Edits:
    """Drop bindings in chunks of decaying size; something visible, a parameter or a constant stands for each."""
    count = len(slots_of(sketch))
    for key, places in chunks(count):
        for order, stand_in in enumerate(_WAYS):
            if stand_in is not Substitute.CONSTANT or len(places) == 1:
                yield (*key, order), edit(sketch, drop, places, stand_in)


@reduction("see through copies")
def projections(sketch: Sketch) -> Edits:
    """See through tuples, plain copies and match casts."""
    yield (0,), edit(sketch, _simplify, None)
    for index in range(len(slots_of(sketch))):
        yield (index + 1,), edit(sketch, _simplify, index)


def _simplify(sketch: Sketch, only: int | None) -> None:
    slots = slots_of(sketch)
    tuples = {slot.binding.var: slot.binding.value for slot in slots if isinstance(slot.binding.value, relax.Tuple)}
    found = [(slot, _seen_through(slot.binding, tuples)) for slot in (slots if only is None else [slots[only]])]
    found = [(slot, stands) for slot, stands in found if stands is not None]
    if not found:
        raise Invalid("nothing to see through")
    for slot, stands in found:
        sketch.aliases[slot.binding.var] = stands
        slot.remove()


def _seen_through(binding: Any, tuples: dict[Any, Any]) -> Any:
    value = binding.value
    if isinstance(value, relax.Var):
        return value
    if isinstance(value, relax.TupleGetItem):
        source = tuples.get(value.tuple_value, value.tuple_value)
        if isinstance(source, relax.Tuple):
            return source.fields[value.index]
    return None


@reduction("use an operand")
def operands(sketch: Sketch) -> Edits:
    """Replace a value by one of its operands, whatever its type: casts, hints, moves and shape changes go so."""
    for index, slot in enumerate(slots_of(sketch)):
        for place in range(len(_operands(slot.binding))):
            yield (index, place), edit(sketch, _replace, index, place)


def _operands(binding: Any) -> list[Any]:
    """Return what may stand for the value: a cast's own operand, an operator's tensors, those in a tuple too."""
    value = binding.value
    if binding.cast is not None:
        return [value]
    if not isinstance(value, tvm.ir.Call) or isinstance(value.op, relax.Var):
        return []
    found: list[Any] = []
    for item in value.args:
        found += list(item.fields) if isinstance(item, relax.Tuple) else [item]
    kept = [item for item in found if isinstance(getattr(item, "ty", None), relax.TensorType)]
    return [item for place, item in enumerate(kept) if not any(item.same_as(other) for other in kept[:place])]


def _replace(sketch: Sketch, index: int, place: int) -> None:
    slot = slots_of(sketch)[index]
    sketch.aliases[slot.binding.var] = _operands(slot.binding)[place]
    slot.remove()
