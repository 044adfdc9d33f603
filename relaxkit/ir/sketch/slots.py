"""The bindings of a module in program order, with what is visible at each, and how to drop some of them."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.emit import same_type
from relaxkit.ir.sketch.params import add_param, can_add
from relaxkit.ir.sketch.sketch import Binding, Branch, Func, Sketch, SketchBlock, SketchBody
from relaxkit.ir.types import static_dims

_NO_VALUES: Mapping[Any, Any] = {}


class Substitute(enum.Enum):
    """Stand-ins for a dropped value, in order of preference."""

    VISIBLE = (0, 1, 2)  # an operand or else another visible var of its type, else a parameter, else a constant
    PARAMETER = (1, 2)  # a new parameter, else a constant
    CONSTANT = (2,)
    VALUE = ()  # a constant of the value that it has on some input


@dataclass(slots=True)
class Slot:
    """One binding and where it stands."""

    function: str
    body: SketchBody
    block: SketchBlock
    binding: Binding
    visible: tuple[Any, ...]  # vars that its value may mention, nearest last
    depth: int

    def remove(self) -> None:
        """Take the binding out of its block."""
        self.block.bindings = [item for item in self.block.bindings if item is not self.binding]


def slots_of(sketch: Sketch) -> list[Slot]:
    """Return all bindings in program order, function by function; a binding comes before those nested in its value."""
    found: list[Slot] = []
    for name, func in sketch.relax_functions().items():
        _collect(found, name, func.body, tuple(func.params), 0)
    return found


def _collect(found: list[Slot], name: str, body: SketchBody, visible: tuple[Any, ...], depth: int) -> None:
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
    """Return the types of all parameters of functions, local ones included, of bound vars, and of casts."""
    types = [param.ty for func in sketch.relax_functions().values() for param in func.params]
    for slot in slots_of(sketch):
        types.append(slot.binding.var.ty)
        if slot.binding.cast is not None:
            types.append(slot.binding.cast)
        if isinstance(slot.binding.value, Func):
            types += [param.ty for param in slot.binding.value.params]
    return types


def drop(
    sketch: Sketch, indices: Collection[int], stand_in: Substitute, values: Mapping[Any, Any] = _NO_VALUES
) -> None:
    """Drop the bindings at ``indices`` of :func:`slots_of`, in place; raises ``Invalid`` where nothing replaces one.

    A value that nothing can stand for (a closure, an object) takes the bindings that mention it along; in the way of
    ``Substitute.VALUE`` nothing stands for what is not in ``values``.
    """
    slots = slots_of(sketch)
    callers = uses.callers(sketch)
    gone: set[Any] = {slots[index].binding.var for index in indices}
    lost: set[Any] = set()  # dropped, and nothing stands for it
    for index, slot in enumerate(slots):
        var = slot.binding.var
        if index not in indices and not (lost and lost & set(uses.of_binding(slot.binding))):
            continue
        gone.add(var)
        slot.remove()
        if not any(item.same_as(var) for item in uses.mentions(sketch.functions[slot.function].body)):
            continue
        visible = [item for item in slot.visible if item not in gone]
        visible += [item for item in uses.of_binding(slot.binding) if item in visible]  # operands are the nearest
        if stand_in is Substitute.VALUE:
            value = values.get(var)
        else:
            value = _stand_in(sketch, slot.function, var, visible, stand_in, callers)
        if value is None:
            lost.add(var)
        else:
            sketch.aliases[var] = value
    if any(lost & set(uses.leaves(body.result)) for _, body, _ in sketch.bodies()):
        raise Invalid("nothing stands for a result")


def _stand_in(
    sketch: Sketch, name: str, var: relax.Var, visible: list[Any], stand_in: Substitute, callers: Mapping[str, int]
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


def constant(ty: relax.Type) -> Any:
    """Return a constant of type ``ty``, elements 1 (in the domain of nearly every operator), or ``None``."""
    if isinstance(ty, relax.TensorType):
        shape = static_dims(ty)
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


# Putting the blocks of another body in the place of a binding.


def splice(sketch: Sketch, slot: Slot, inner: SketchBody) -> None:
    """Replace ``slot``'s binding, in place, by the blocks of ``inner``; its result stands for the bound var.

    Inside a dataflow block the inner bindings join that block, otherwise they keep their blocks.
    """
    binding, block = slot.binding, slot.block
    place = next(index for index, item in enumerate(block.bindings) if item is binding)
    before, after = block.bindings[:place], block.bindings[place + 1 :]
    if block.dataflow:
        block.bindings = [*before, *inner.bindings(), *after]
    else:
        where = next(index for index, item in enumerate(slot.body.blocks) if item is block)
        parts = [SketchBlock(False, before), *inner.blocks, SketchBlock(False, after)]
        slot.body.blocks[where : where + 1] = [item for item in parts if item.bindings]
    sketch.aliases[binding.var] = inner.result
