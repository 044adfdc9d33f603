"""The bindings of a module in program order, with what is visible at each, and how to drop some of them."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.emit import same_type
from fuzzer.minimizer.params import add_param, can_add
from fuzzer.minimizer.sketch import Binding, Block, Body, Branch, Func, Sketch

_NO_VALUES: Mapping[Any, Any] = {}


class StandIn(enum.Enum):
    """What takes the place of a dropped value, in order of preference."""

    VISIBLE = (0, 1, 2)  # an operand or else another visible var of its type, else a parameter, else a constant
    PARAMETER = (1, 2)  # a new parameter, else a constant
    CONSTANT = (2,)
    VALUE = ()  # a constant of the value that it has on some input


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


def types_of(sketch: Sketch) -> list[Any]:
    """The types of all parameters of functions, local ones included, of bound vars, and of casts."""
    types = [param.ty for func in sketch.relax_functions().values() for param in func.params]
    for slot in slots_of(sketch):
        types.append(slot.binding.var.ty)
        if slot.binding.cast is not None:
            types.append(slot.binding.cast)
        if isinstance(slot.binding.value, Func):
            types += [param.ty for param in slot.binding.value.params]
    return types


def drop(
    sketch: Sketch, indices: Collection[int], stand_in: StandIn, values: Mapping[Any, Any] = _NO_VALUES
) -> Sketch | None:
    """A copy without the bindings at ``indices`` of :func:`slots_of`; ``None`` where something cannot be replaced.

    A value that nothing can stand for (a closure, an object) takes the bindings that mention it along; in the way of
    ``StandIn.VALUE`` nothing stands for what is not in ``values``.
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
        visible += [item for item in walk.of_binding(slot.binding) if item in visible]  # operands are the nearest
        if stand_in is StandIn.VALUE:
            value = values.get(var)
        else:
            value = _stand_in(result, slot.function, var, visible, stand_in, callers)
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


def _stand_in(
    sketch: Sketch, name: str, var: Any, visible: list[Any], stand_in: StandIn, callers: Mapping[str, int]
) -> Any:
    for way in stand_in.value:
        if way == 0:
            for other in reversed(visible):
                if same_type(other.ty, var.ty):
                    return other
        elif way == 1:
            if can_add(sketch, name, var.ty, callers):
                new = relax.Var(str(var.name), var.ty)
                add_param(sketch, name, new)
                return new
        else:
            value = constant(var.ty)
            if value is not None:
                return value
    return None


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
