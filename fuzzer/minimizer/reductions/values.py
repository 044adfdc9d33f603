"""Reductions of values: other constants, other dtypes, plainer operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from oracles.measure.inputs import Unmaterializable, materialize
from relaxkit.interpreter import Interpreter, Raised, Undefined, Unsupported
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.emit import emit, same_type
from relaxkit.ir.sketch.params import add_param, can_add
from relaxkit.ir.sketch.sketch import Branch, Func, Sketch
from relaxkit.ir.sketch.slots import Slot, Substitute, drop, slots_of
from relaxkit.ir.sketch.uses import expressions, leaves_in, replace_in
from relaxkit.ir.types import flat

_FLOAT = "float32"


@reduction("use float32")
def dtypes(sketch: Sketch) -> Edits:
    """Use float32 where another dtype is not needed."""
    types = [param.ty for func in sketch.relax_functions().values() for param in func.params]
    types += [slot.binding.var.ty for slot in slots_of(sketch)]
    tensors = [leaf for ty in types for leaf in flat(ty) if isinstance(leaf, relax.TensorType)]
    found = {str(leaf.dtype) for leaf in tensors if leaf.dtype is not None}
    others = sorted(found - {_FLOAT})
    if len(others) > 1:
        yield (0,), edit(sketch, _retype, others)
    for number, dtype in enumerate(others):
        yield (1, number), edit(sketch, _retype, [dtype])


def _retype(sketch: Sketch, dtypes: list[str]) -> None:
    sketch.retype.dtypes = dict.fromkeys(dtypes, _FLOAT)


_UNARY = frozenset({"relax.abs", "relax.negative", "relax.exp", "relax.nn.relu", "relax.logical_not"})
_PLAIN = _UNARY | {"relax.add"}


@reduction("use plain operators")
def operators(sketch: Sketch) -> Edits:
    """Replace an operator by a plainer one: the absolute value of an operand, or a sum of two."""
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if not isinstance(value, tvm.ir.Call | Branch) or slot.binding.cast is not None:
            continue
        rank = _rank(value)
        if rank > 0:
            yield (index, 0), edit(sketch, _unary, index)
        if rank > 1 and isinstance(value, tvm.ir.Call):
            yield (index, 1), edit(sketch, _sum, index)


def _rank(value: Any) -> int:
    """Return how far from plain it is: 0 for unary operators that are plain, 1 for an addition, 2 for all others."""
    name = str(value.op.name) if isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.Op) else ""
    return 0 if name in _UNARY else 1 if name in _PLAIN else 2


def _unary(sketch: Sketch, index: int) -> None:
    slot = slots_of(sketch)[index]
    ty = slot.binding.var.ty
    if not isinstance(ty, relax.TensorType) or ty.dtype is None:
        raise Invalid("no tensor of a known dtype")
    for other in [*_tensors(slot), *reversed(slot.visible)]:
        if same_type(other.ty, ty):
            slot.binding.value = relax.op.logical_not(other) if str(ty.dtype) == "bool" else relax.op.abs(other)
            return
    raise Invalid("nothing of that type is visible")


def _sum(sketch: Sketch, index: int) -> None:
    """Take the sum of the first two operands: where its type does not fit, it is discarded later."""
    slot = slots_of(sketch)[index]
    operands = _tensors(slot)
    if len(operands) < 2 or any(str(item.ty.dtype) == "bool" for item in operands[:2]):
        raise Invalid("no two numbers")
    slot.binding.value = relax.op.add(*operands[:2])


def _tensors(slot: Slot) -> list[Any]:
    value = slot.binding.value
    args = value.args if isinstance(value, tvm.ir.Call) else ()
    return [item for item in args if isinstance(getattr(item, "ty", None), relax.TensorType)]


@reduction("replace constants")
def constants(sketch: Sketch) -> Edits:
    """Parameters for tensor constants, or those that are there, or constants of ones: their payload rarely matters."""
    called = uses.callers(sketch)
    found = constants_in(sketch)
    tensors = [(name, item) for name, item in found if item.ty.ndim > 0 and can_add(sketch, name, item.ty, called)]
    if len(tensors) > 1:
        yield (0,), edit(sketch, _parameters, tensors)
    for number, (name, item) in enumerate(found):
        if any(item.same_as(other) for _, other in tensors):
            yield (1, number, 0), edit(sketch, _parameters, [(name, item)])
        if not np.all(item.value.numpy() == 1):
            yield (1, number, 1), edit(sketch, by_ones, item)
        for param in sketch.functions[name].params:
            if item.ty.ndim > 0 and same_type(param.ty, item.ty):
                yield (1, number, 2), edit(sketch, _replace, item, param)
                break


def constants_in(sketch: Sketch) -> list[tuple[str, Any]]:
    """Return the tensor constants, each once, with the function that it stands in."""
    found: list[tuple[str, Any]] = []
    for name, body, _ in sketch.bodies():
        for expr in expressions(body):
            for item in leaves_in(expr):
                if _is_tensor(item) and not any(item.same_as(other) for _, other in found):
                    found.append((name, item))
    return found


def _is_tensor(expr: relax.Expr) -> bool:
    return isinstance(expr, tvm.ir.GenericConst) and isinstance(expr.ty, relax.TensorType)


def _parameters(sketch: Sketch, constants: list[tuple[str, Any]]) -> None:
    names = []
    for name, item in constants:
        new = relax.Var("c", item.ty)
        add_param(sketch, name, new)
        names.append((item, new))
    replace_in(sketch, lambda leaf: next((new for old, new in names if leaf.same_as(old)), leaf))


def _replace(sketch: Sketch, constant: Any, value: Any) -> None:
    replace_in(sketch, lambda leaf: value if leaf.same_as(constant) else leaf)


def by_ones(sketch: Sketch, constant: Any) -> None:
    """Put ones of its type in the place of a constant."""
    payload = constant.value.numpy()
    _replace(sketch, constant, relax.const(np.ones(payload.shape, payload.dtype), str(constant.ty.dtype)))


MOST_ELEMENTS = 64
"""Larger constants would make a script longer than the binding that they stand for."""

_PROBES = 8  # programs run for one function, where the whole cannot be: each is a prefix of half the length


def constants_of(sketch: Sketch) -> dict[Any, Any]:
    """Return a constant for each tensor bound in outer bodies of functions that nothing calls, where there is one."""
    called = uses.callers(sketch)
    found: dict[Any, Any] = {}
    for name, func in sketch.relax_functions().items():
        if not called[name]:
            found |= _of_function(sketch, name, func)
    return found


def _of_function(sketch: Sketch, name: str, func: Func) -> dict[Any, Any]:
    count = len(func.body.bindings())
    for _ in range(_PROBES):
        wanted = [item.var for item in func.body.bindings()[:count] if _fits(item.var.ty)]
        if not wanted:
            return {}
        values = _run(sketch, name, wanted, count)
        if values is not None:
            pairs = zip(wanted, values, strict=True)
            return {var: relax.const(value, str(var.ty.dtype)) for var, value in pairs if _agrees(var.ty, value)}
        count //= 2
    return {}


def _run(sketch: Sketch, name: str, wanted: list[Any], count: int) -> Any:
    """Return the values of vars bound by a function's first bindings, ``None`` where the interpreter cannot tell."""
    probe = sketch.copy()
    body = probe.functions[name].body
    kept = body.bindings()[:count]
    for block in body.blocks:
        block.bindings = [item for item in block.bindings if any(item is other for other in kept)]
    body.result = relax.Tuple(wanted)
    try:
        module = emit(probe)
        return Interpreter(module).call(name, materialize(module, name, 0))
    except (Invalid, Unmaterializable, Unsupported, Undefined, Raised):
        return None


def _fits(ty: Any) -> bool:
    if not isinstance(ty, relax.TensorType) or ty.dtype is None or ty.vdevice is not None:
        return False
    if not isinstance(ty.shape, relax.ShapeExpr):
        return False
    size = 1
    for dim in ty.shape.values:
        if not hasattr(dim, "value"):
            return False
        size *= int(dim.value)
    return size <= MOST_ELEMENTS


def _agrees(ty: Any, value: Any) -> bool:
    """Say whether a value is a finite array of the type."""
    if not isinstance(value, np.ndarray) or str(value.dtype) != str(ty.dtype):
        return False
    if tuple(value.shape) != tuple(int(dim) for dim in ty.shape.values):
        return False
    return value.dtype.kind not in "fV" or bool(np.isfinite(value.astype("float64")).all())


@reduction("use concrete values")
def values(sketch: Sketch) -> Edits:
    """Drop bindings for constants of the very values that they have on one input: for findings that depend on them.

    The reference interpreter says what the values are.
    """
    values = constants_of(sketch)
    known = [slot.binding.var in values for slot in slots_of(sketch)]
    for key, places in chunks(len(known)):
        chosen = [place for place in places if known[place]]
        if chosen:
            yield key, edit(sketch, drop, chosen, Substitute.VALUE, values)
