"""Features around kernels, read from the IR: how they are called, what they are, external code, lowered code."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx

from relaxkit.ir.lowered import ALLOCATIONS, may_allocate
from relaxkit.ir.walk import operator_calls
from strategies.constructs.composites import EXTERNAL
from strategies.kernels.drawn import PREFIX
from strategies.scope.features import Feature, is_prim_type

_IN_PLACE = "relax.call_tir_inplace"
_WITH_OUTPUTS = frozenset({"relax.call_tir", _IN_PLACE})


def kernel_features(module: tvm.IRModule) -> frozenset[Feature]:
    """Return the features of this file's theme that a module has.

    ``SYMBOLIC_KERNELS`` counts a PrimFunc with a symbolic buffer or a scalar parameter; ``DRAWN_KERNELS`` one whose
    name says that it was drawn; ``LOWERED`` a Relax function that allocates.
    """
    found: set[Feature] = set()
    for var, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc):
            _kernel(var.name_hint, function, found)
        elif isinstance(function, relax.Function):
            if function.attrs is not None and str(function.attrs.get("Codegen", "")) == EXTERNAL:
                found.add(Feature.EXTERNAL_CODEGEN)
            _calls(function, found)
    return frozenset(found)


def is_lowered(function: Any) -> bool:
    """Say whether a Relax function allocates: it is lowered already, in part or as a whole.

    Such a function is impure or declared ``relax.force_pure``; no other is looked into.
    """
    return may_allocate(function) and any(name in ALLOCATIONS for name, _ in operator_calls(function))


def _kernel(name: str, function: Any, found: set[Feature]) -> None:
    if name.startswith(PREFIX):
        found.add(Feature.DRAWN_KERNELS)
    for parameter in function.params:
        shape = getattr(parameter.ty, "shape", None)
        if is_prim_type(parameter.ty) or any(not isinstance(dim, tirx.IntImm) for dim in shape or ()):
            found.add(Feature.SYMBOLIC_KERNELS)


def _calls(function: Any, found: set[Feature]) -> None:
    for name, call in operator_calls(function):
        if name == _IN_PLACE:
            found.add(Feature.INPLACE_KERNELS)
        elif name in ALLOCATIONS:
            found.add(Feature.LOWERED)
        if name in _WITH_OUTPUTS and isinstance(call.ty, relax.TupleType):
            found.add(Feature.KERNEL_OUTPUTS)
