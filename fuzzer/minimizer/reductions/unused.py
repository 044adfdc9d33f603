"""Drop what nothing uses: bindings, private functions and kernels, and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm

from fuzzer.minimizer import walk
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
                kept = [item for item in block.bindings if counted[item.var]]
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
            if counted[func.params[place]] == 0:
                remove_param(sketch, name, place)
                changed = True
    return changed


def _drop_param(sketch: Sketch, name: str, place: int) -> Sketch:
    result = sketch.copy()
    remove_param(result, name, place)
    return result


def remove_param(sketch: Sketch, name: str, place: int) -> None:
    """Remove a parameter, in place, and the argument at each direct call."""
    sketch.functions[name].drop_param(place)
    for _, body, _ in sketch.bodies():
        for binding in body.bindings():
            if _calls(binding, name):
                call = binding.value
                args = [item for index, item in enumerate(call.args) if index != place]
                binding.value = tvm.ir.Call(call.op, args, call.attrs, list(call.ty_args))


def _calls(binding: Binding, name: str) -> bool:
    value = binding.value
    return isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.GlobalVar) and value.op.name_hint == name


REDUCTION = Reduction("drop what is unused", _edits)
