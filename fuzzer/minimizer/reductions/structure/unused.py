"""Drop what nothing uses: bindings, private functions and kernels, and parameters."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.params import remove_param
from relaxkit.ir.sketch.sketch import Binding, Func, Sketch


@reduction("drop what is unused")
def edits(sketch: Sketch) -> Edits:
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
