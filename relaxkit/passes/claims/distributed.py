"""Claims of the passes on distributed tensors."""

from __future__ import annotations

from typing import Any

from tvm import relax

from relaxkit.ir.functions import relax_functions
from relaxkit.ir.types import types_in
from relaxkit.ir.walk import operator_calls
from relaxkit.passes.claims.training import calls_differ
from relaxkit.passes.contract import EvidenceClass, claimed


@claimed(
    "functions of whole tensors stay",
    "tvm/relax/distributed/transform/transform.py: says of each what it does to distributed tensors",
    evidence=EvidenceClass.OURS,
)
def undistributed_differ(ran: Any) -> str:
    """Find a function without distributed tensors, and without annotations, that calls other operators than before."""
    return calls_differ(ran, [name for name, function in relax_functions(ran.before) if is_distributed(function)])


def is_distributed(function: Any) -> bool:
    """Say whether a function has distributed tensors, or says of tensors how they are to be distributed."""
    return has_distributed_tensors(function) or any(
        name.startswith("relax.dist.") for name, _ in operator_calls(function)
    )


def _calls(function: Any, prefix: str) -> bool:
    return any(name.startswith(prefix) for name, _ in operator_calls(function))


def has_distributed_tensors(function: Any) -> bool:
    """Say whether a type in a function is that of a distributed tensor."""
    return any(isinstance(ty, relax.distributed.DTensorType) for ty in types_in(function))


def distributed_left(ran: Any) -> str:
    """Find a function in which a distributed tensor is left."""
    left = (name for name, function in relax_functions(ran.after) if has_distributed_tensors(function))
    return next((f"a distributed tensor is left\nleaves a distributed tensor in {name}" for name in left), "")


def global_view_left(ran: Any) -> str:
    """Find the call of a kernel on whole distributed tensors."""
    for name, function in relax_functions(ran.after):
        if has_distributed_tensors(function) and any(
            called == "relax.call_tir" for called, _ in operator_calls(function)
        ):
            return f"a kernel sees whole tensors\nleaves a call_tir in {name}"
    return ""
