"""What the stock pipelines claim: the module that they give is ready for the virtual machine, or fused."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import SimpleNamespace
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
from oracles.postconditions.rewrite import legalizable_left
from oracles.postconditions.shape_heap import heap_misused, symbolic_shapes_left
from oracles.preconditions import relax_functions


def legalizable_left_by_pipeline(ran: Any) -> str:
    """What ``LegalizeOps``, built without arguments, would not have left.

    An operator of which some call has operands of unknown shape before the pipeline is not judged: the shape may become
    known when ``LegalizeOps`` is through.
    """
    vague = {
        operator_of(place.binding.value)
        for _, function in relax_functions(ran.before)
        for place in places(function)
        if any(_is_vague(part) for part in _types_of_call(place.binding.value))
    }
    return legalizable_left(SimpleNamespace(before=ran.before, after=ran.after, arguments={"skip_ops": vague}))


def _types_of_call(value: Any) -> Iterator[Any]:
    for part in (value, *getattr(value, "args", ())):
        yield from parts_of_type(part.ty)


def _is_vague(ty: Any) -> bool:
    if isinstance(ty, relax.ShapeType):
        return ty.values is None
    return isinstance(ty, relax.TensorType) and not isinstance(ty.shape, relax.ShapeExpr)


_STAGES = "python/tvm/relax/pipeline.py: the passes in it, each of which claims this"

LOWERED_CLAIMS = (
    Postcondition("no dataflow is left", dataflow_left, _STAGES),
    Postcondition("no operator that legalizes is left", legalizable_left_by_pipeline, _STAGES),
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
        Postcondition("no operator that legalizes is left", legalizable_left_by_pipeline, _STAGES),
        Postcondition("no primitive function is left", groups_left, _STAGES),
    ),
}
"""Postconditions by name of the pipeline."""
