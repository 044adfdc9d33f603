"""The bindings of a module in program order, with what is visible at each, and how to drop some of them."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.emit import same_type
from fuzzer.minimizer.sketch import Binding, Block, Body, Branch, Func, Sketch


class StandIn(enum.Enum):
    """What takes the place of a dropped value, in order of preference."""

    VISIBLE = (0, 1, 2)  # a visible var of its type, else a parameter, else a constant
    PARAMETER = (1, 2)  # a new parameter, else a constant
    CONSTANT = (2,)


@dataclass(slots=True)
class Slot:
    """One binding and where it stands."""

    function: str
    body: Body
    block: Block
    binding: Binding
    visible: tuple[Any, ...]  # vars that its value may mention, nearest last
    depth: int


def slots_of(sketch: Sketch) -> list[Slot]:
    """All bindings in program order, function by function; a binding stands in front of those nested in its value."""
    found: list[Slot] = []
    for name, func in sketch.relax_functions().items():
        _collect(found, name, func.body, tuple(func.params), 0)
    return found


def _collect(found: list[Slot], name: str, body: Body, visible: tuple[Any, ...], depth: int) -> None:
    for block in body.blocks:
        for binding in block.bindings:
            found.append(Slot(name, body, block, binding, visible, depth))
            if isinstance(binding.value, Branch):
                _collect(found, name, binding.value.then, visible, depth + 1)
                _collect(found, name, binding.value.otherwise, visible, depth + 1)
            elif isinstance(binding.value, Func):
                _collect(found, name, binding.value.body, visible + tuple(binding.value.params), depth + 1)
            visible = (*visible, binding.var)


def drop(sketch: Sketch, indices: Collection[int], stand_in: StandIn) -> Sketch | None:
    """A copy without the bindings at ``indices`` of :func:`slots_of`; ``None`` where something cannot be replaced.

    A value that nothing can stand for (a closure, an object) takes the bindings that mention it along.
    """
    result = sketch.copy()
    slots = slots_of(result)
    callers = walk.callers(result)
    gone: set[Any] = {slots[index].binding.var for index in indices}
    lost: set[Any] = set()  # dropped, and nothing stands for it
    for index, slot in enumerate(slots):
        var = slot.binding.var
        if index not in indices and not (lost and lost & set(walk.of_binding(slot.binding))):
            continue
        gone.add(var)
        slot.block.bindings = [item for item in slot.block.bindings if item is not slot.binding]
        func = result.functions[slot.function]
        if not _used(func, var):
            continue
        visible = [item for item in slot.visible if item not in gone]
        value = _stand_in(func, var, visible, stand_in, callers[slot.function] == 0)
        if value is None:
            lost.add(var)
        else:
            result.aliases[var] = value
    for _, body, _ in result.bodies():
        if lost & set(walk.leaves(body.result)):
            return None
    return result


def _used(func: Func, var: Any) -> bool:
    return any(item.same_as(var) for item in walk.mentions(func.body))


def _stand_in(func: Func, var: Any, visible: list[Any], stand_in: StandIn, may_add: bool) -> Any:
    for way in stand_in.value:
        if way == 0:
            for other in reversed(visible):
                if same_type(other.ty, var.ty):
                    return other
        elif way == 1:
            if may_add and parameter_fits(var.ty):
                new = relax.Var(str(var.name), var.ty)
                func.add_param(new)
                return new
        else:
            value = constant(var.ty)
            if value is not None:
                return value
    return None


def parameter_fits(ty: Any) -> bool:
    """Whether a parameter of this type can be given a value from outside."""
    if isinstance(ty, relax.TupleType):
        return all(parameter_fits(item) for item in ty.fields)
    if isinstance(ty, relax.TensorType):
        return ty.dtype is not None
    return isinstance(ty, relax.ShapeType)


def constant(ty: Any) -> Any:
    """An expression of type ``ty`` without vars, elements 1 (in the domain of nearly every operator), or ``None``."""
    if isinstance(ty, relax.TensorType):
        shape = _static(ty.shape)
        if shape is None or ty.dtype is None or ty.vdevice is not None:
            return None
        return relax.const(np.ones(shape, str(ty.dtype)), str(ty.dtype))
    if isinstance(ty, relax.TupleType):
        fields = [constant(item) for item in ty.fields]
        return None if any(item is None for item in fields) else relax.Tuple(fields)
    if isinstance(ty, relax.ShapeType) and ty.values is not None:
        return relax.ShapeExpr(list(ty.values))
    if isinstance(ty, tvm.ir.PrimType) and str(ty) == "int64":
        return tvm.tirx.IntImm("int64", 1)
    return None


def _static(shape: Any) -> tuple[int, ...] | None:
    if not isinstance(shape, relax.ShapeExpr):
        return None
    if not all(isinstance(item, tvm.tirx.IntImm) for item in shape.values):
        return None
    return tuple(int(item) for item in shape.values)
