"""Drop bindings for constants of the very values that they have on one input: for findings that depend on them.

The reference interpreter says what the values are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, chunks, edit, reduction
from oracles.measure.inputs import Unmaterializable, materialize
from relaxkit.interpreter import Interpreter, Raised, Undefined, Unsupported
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import Func, Sketch
from relaxkit.ir.sketch.slots import Substitute, drop, slots_of

MOST_ELEMENTS = 64
"""Larger constants would make a script longer than the binding that they stand for."""

_PROBES = 8  # programs run for one function, where the whole cannot be: each is a prefix of half the length


def constants_of(sketch: Sketch, seed: int = 0) -> dict[Any, Any]:
    """Return a constant for each tensor bound in outer bodies of functions that nothing calls, where there is one."""
    called = uses.callers(sketch)
    found: dict[Any, Any] = {}
    for name, func in sketch.relax_functions().items():
        if not called[name]:
            found |= _of_function(sketch, name, func, seed)
    return found


def _of_function(sketch: Sketch, name: str, func: Func, seed: int) -> dict[Any, Any]:
    count = len(func.body.bindings())
    for _ in range(_PROBES):
        wanted = [item.var for item in func.body.bindings()[:count] if _fits(item.var.ty)]
        if not wanted:
            return {}
        values = _run(sketch, name, wanted, count, seed)
        if values is not None:
            pairs = zip(wanted, values, strict=True)
            return {var: relax.const(value, str(var.ty.dtype)) for var, value in pairs if _agrees(var.ty, value)}
        count //= 2
    return {}


def _run(sketch: Sketch, name: str, wanted: list[Any], count: int, seed: int) -> Any:
    """Return the values of vars bound by a function's first bindings, ``None`` where the interpreter cannot tell."""
    probe = sketch.copy()
    body = probe.functions[name].body
    kept = body.bindings()[:count]
    for block in body.blocks:
        block.bindings = [item for item in block.bindings if any(item is other for other in kept)]
    body.result = relax.Tuple(wanted)
    try:
        module = emit(probe)
        return Interpreter(module).call(name, materialize(module, name, seed))
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
def edits(sketch: Sketch) -> Edits:
    values = constants_of(sketch)
    known = [slot.binding.var in values for slot in slots_of(sketch)]
    for key, places in chunks(len(known)):
        chosen = [place for place in places if known[place]]
        if chosen:
            yield key, edit(sketch, drop, chosen, Substitute.VALUE, values)
