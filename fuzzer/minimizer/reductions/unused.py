"""Drop what nothing uses: bindings, private functions and kernels, and parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from fuzzer.minimizer import walk
from fuzzer.minimizer.params import remove_param
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Binding, Func, Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    yield (0,), partial(_sweep, sketch, params=True)
    yield (1,), partial(_sweep, sketch, params=False)
    index = 1
    for name, func in sketch.relax_functions().items():
        counted = walk.uses(func)
        for place, param in enumerate(func.params):
            if counted[param] == 0:
                index += 1
                yield (index,), partial(_drop_param, sketch, name, place)


def _sweep(sketch: Sketch, *, params: bool) -> Sketch | None:
    result, changed, again = sketch.copy(), False, True
    while again:
        again = _bindings(result) or _functions(result)
        if params:
            again = _params(result) or again
        changed = changed or again
    return result if changed else None


def _bindings(sketch: Sketch) -> bool:
    changed = False
    for func in sketch.relax_functions().values():
        counted = walk.uses(func)
        for body, _ in func.bodies():
            for block in body.blocks:
                kept = [item for item in block.bindings if counted[item.var] or _binds_a_dim(item, func, counted)]
                changed = changed or len(kept) != len(block.bindings)
                block.bindings = kept
    return changed


def _functions(sketch: Sketch) -> bool:
    called = walk.callers(sketch)
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
        counted = walk.uses(func)
        for place in reversed(range(len(func.params))):
            others = [param.ty for index, param in enumerate(func.params) if index != place]
            if counted[func.params[place]] == 0 and not _is_alone(func.params[place].ty, others, counted, 0):
                remove_param(sketch, name, place)
                changed = True
    return changed


def _binds_a_dim(binding: Binding, func: Func, counted: Counter[Any]) -> bool:
    """Whether a cast binds a symbolic dim that something else mentions, and no parameter binds."""
    return binding.cast is not None and _is_alone(binding.cast, [param.ty for param in func.params], counted, 1)


def _is_alone(ty: Any, others: list[Any], counted: Counter[Any], own: int) -> bool:
    """Whether a type has a dim that is mentioned more often than ``own`` times for each time here, and in no other."""
    bound = {item for other in others for item in walk.leaves_of_type(other)}
    here = Counter(walk.leaves_of_type(ty))
    return any(counted[item] > own * times and item not in bound for item, times in here.items())


def _drop_param(sketch: Sketch, name: str, place: int) -> Sketch:
    result = sketch.copy()
    remove_param(result, name, place)
    return result


REDUCTION = Reduction("drop what is unused", _edits)
