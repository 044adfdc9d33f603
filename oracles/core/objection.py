"""Name what an objection is about, which its sentence does not say: the kind of a variable and where it is defined,
or in what two types differ.

One sentence of TVM's checker stands for several causes: ``Var m is not defined`` for a symbol of the shape of another
function, and for a tensor that a pass has moved in front of its definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from oracles.core.evidence import names_any
from oracles.core.verdict import SYMBOL, Difference, Evidence
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.types import dims_of
from relaxkit.ir.walk import functions_inside, nodes, places

_KINDS = ((tvm.ir.PrimType, SYMBOL), (relax.TensorType, "a tensor"), (relax.TupleType, "a tuple"),
          (relax.ShapeType, "a shape"), (relax.FuncType, "a function"))  # fmt: skip


def difference(expected: Any, found: Any) -> Difference | None:
    """Return in what two types differ first; ``None`` where they do not."""
    if type(expected) is not type(found):
        return Difference.TYPE if isinstance(found, relax.AnyType) else Difference.KIND
    if isinstance(expected, relax.TupleType):
        if len(expected.fields) != len(found.fields):
            return Difference.FIELDS
        pairs = zip(expected.fields, found.fields, strict=True)
        return next(filter(None, (difference(left, right) for left, right in pairs)), None)
    if isinstance(expected, relax.FuncType):
        return difference(expected.ret, found.ret)
    if getattr(expected, "dtype", None) != getattr(found, "dtype", None):
        return Difference.DTYPE
    if getattr(expected, "ndim", -1) != getattr(found, "ndim", -1):
        return Difference.RANK
    if not tvm_ffi.structural_equal(dims_of(expected), dims_of(found)):
        return Difference.SHAPE
    # By structure: in TVM 0.27 ``VDevice.same_as`` calls itself until the stack ends.
    same = tvm_ffi.structural_equal(getattr(expected, "vdevice", None), getattr(found, "vdevice", None))
    return None if same else Difference.DEVICE


def subject_of(module: tvm.IRModule, objection: Evidence) -> str:
    """Return what an objection of TVM's checker is about; empty where its message says it all."""
    functions = [function for _, function in relax_functions(module)]
    defined = [set(_defined(function)) for function in functions]
    named = [
        (_kind(var), var, var in own)
        for function, own in zip(functions, defined, strict=True)
        for var in nodes(function, tvm.ir.Var)[0]
        if names_any(objection, [f"Var {var.name} is "])
    ]
    if named:
        # Functions may share a dim, or name theirs alike: those that define it say nothing of the one that does not.
        kind, var, owned = min(named, key=lambda each: each[0] == SYMBOL and each[2])
        elsewhere = kind != SYMBOL and any(var in each for each in defined)
        return f"{kind} of {'the' if owned else 'another' if elsewhere else 'no'} function"
    for function in functions:
        for place in places(function):
            var, value = place.var, place.value
            if not var.ty.is_base_of(value.ty) and names_any(objection, [f"type {value.ty} "]):
                return str(difference(var.ty, value.ty) or "")
    return ""


def _kind(var: Any) -> str:
    return next((name for kind, name in _KINDS if isinstance(var.ty, kind)), "a value")


def _defined(function: relax.Function) -> Iterator[Any]:
    """Yield the variables that a function defines, in branches and local functions, too, and the dims among them."""
    for inner in functions_inside(function):
        yield from inner.params
        yield from relax.analysis.defined_symbolic_vars(inner)
    for place in places(function):
        yield place.var
