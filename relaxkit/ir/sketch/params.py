"""Parameters: adding one to a function that others call, and removing one together with the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Binding, Sketch
from relaxkit.ir.sketch.uses import with_args
from relaxkit.ir.types import flat


def can_add(sketch: Sketch, name: str, ty: relax.Type, called: Mapping[str, int]) -> bool:
    """Say whether a function can be given a parameter of a type that it has to be called with, from outside in the end.

    That is so where nothing calls it, or only functions that nothing calls, and these with a type that they know.
    """
    if not _fits(ty):
        return False
    if not called.get(name):
        return True
    calls = _calls(sketch, name)
    if len(calls) != called[name] or any(called.get(caller) for caller, _ in calls):
        return False
    return not any(isinstance(item, uses.VARS) for item in uses.leaves_of_type(ty))


def add_param(sketch: Sketch, name: str, var: relax.Var) -> None:
    """Add a parameter, in place; who calls the function takes one of that type, too, and passes it on."""
    sketch.functions[name].add_param(var)
    place = next(index for index, item in enumerate(sketch.functions[name].params) if item is var)
    passed: dict[str, Any] = {}
    for caller, binding in _calls(sketch, name):
        if caller not in passed:
            passed[caller] = relax.Var(str(var.name), var.ty)
            sketch.functions[caller].add_param(passed[caller])
        args = list(binding.value.args)
        binding.value = with_args(binding.value, [*args[:place], passed[caller], *args[place:]])


def remove_param(sketch: Sketch, name: str, place: int) -> None:
    """Remove a parameter, in place, and the argument at each direct call."""
    sketch.functions[name].drop_param(place)
    for binding in calls_of(sketch, name):
        args = [item for index, item in enumerate(binding.value.args) if index != place]
        binding.value = with_args(binding.value, args)


def calls_of(sketch: Sketch, name: str) -> list[Binding]:
    """Return the bindings whose values are direct calls of a global function."""
    return [binding for _, binding in _calls(sketch, name)]


def _calls(sketch: Sketch, name: str) -> list[tuple[str, Binding]]:
    return [
        (caller, binding)
        for caller, body, _ in sketch.bodies()
        for binding in body.bindings()
        if _is_call(binding.value, name)
    ]


def _is_call(value: Any, name: str) -> bool:
    return isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.GlobalVar) and value.op.name_hint == name


def _fits(ty: relax.Type) -> bool:
    """Say whether a parameter of this type can be given a value from outside."""
    return all(
        leaf.dtype is not None if isinstance(leaf, relax.TensorType) else isinstance(leaf, relax.ShapeType)
        for leaf in flat(ty)
    )
