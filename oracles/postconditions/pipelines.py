"""What the stock pipelines claim: the module that they give is ready for the virtual machine, or fused."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from tvm import relax

from oracles.contract import Postcondition
from oracles.postconditions.common import operator_of, parts_of_type, places
from oracles.postconditions.fusion import groups_left
from oracles.postconditions.kills import killed_too_early, killed_without_register
from oracles.postconditions.lowering import (
    BUILTINS,
    DESTINATION_PASSING,
    PURE_FORMS,
    arithmetic_left,
    dataflow_left,
    operators_remain,
    symbols_not_attached,
)
from oracles.postconditions.shape_heap import heap_misused, symbolic_shapes_left
from oracles.preconditions import relax_functions

MACHINE = frozenset(
    {
        "relax.call_builtin_with_ctx",
        "relax.null_value",
        "relax.vm.alloc_storage",
        "relax.vm.alloc_tensor",
        "relax.vm.kill_object",
    }
)
"""Operators that src/relax/backend/vm/codegen_vm.cc takes."""


def operators_for_nobody(ran: Any) -> str:
    """An operator that legalizes, on tensors of known shapes, and that was left all the same."""
    for name, call in _foreign_calls(ran.after):
        if call.op.get_attr("FLegalize") is not None and _shapes_are_known(call):
            return f"{operator_of(call)} is left\nfunction: {name}\ncall: {call}"
    return ""


def _foreign_calls(module: Any) -> Iterator[tuple[str, Any]]:
    for name, function in relax_functions(module):
        for place in places(function):
            operator = operator_of(place.binding.value)
            if operator and operator not in MACHINE:
                yield name, place.binding.value


def _shapes_are_known(call: Any) -> bool:
    """Whether ``LegalizeOps`` sees the shape and element type of each tensor of the call."""
    types = [call.ty, *(argument.ty for argument in call.args)]
    for part in (part for ty in types for part in parts_of_type(ty)):
        if isinstance(part, relax.TensorType) and not (isinstance(part.shape, relax.ShapeExpr) and _has_dtype(part)):
            return False
        if isinstance(part, relax.ShapeType) and part.values is None:
            return False
    return not any(isinstance(part, relax.AnyType) for ty in types for part in parts_of_type(ty))


def _has_dtype(tensor: Any) -> bool:
    return tensor.dtype is not None and str(tensor.dtype) not in ("", "void")


_STAGES = "python/tvm/relax/pipeline.py: the passes in it, each of which claims this"

LOWERED_CLAIMS = (
    Postcondition("no dataflow is left", dataflow_left, _STAGES),
    Postcondition("no operator that legalizes is left", operators_for_nobody, _STAGES),
    Postcondition(
        "no lowering step is missing",
        functools.partial(operators_remain, names=(*DESTINATION_PASSING, *PURE_FORMS, *BUILTINS)),
        _STAGES,
    ),
    Postcondition("nothing is used after it was killed", killed_too_early, _STAGES),
    Postcondition("only registers are killed", killed_without_register, _STAGES),
    Postcondition("no arithmetic is left outside of shapes", arithmetic_left, _STAGES),
    Postcondition("no symbolic shape is left", symbolic_shapes_left, _STAGES),
    Postcondition("slots of the shape heap are written before they are read", heap_misused, _STAGES),
    Postcondition("every function has its name as global_symbol", symbols_not_attached, _STAGES),
)

PIPELINE_CLAIMS: dict[str, tuple[Postcondition, ...]] = {
    "build:default": LOWERED_CLAIMS,
    "build:cpu": LOWERED_CLAIMS,
    "build:zero": (
        Postcondition("no operator that legalizes is left", operators_for_nobody, _STAGES),
        Postcondition("no primitive function is left", groups_left, _STAGES),
    ),
}
"""Postconditions by name of the pipeline."""
