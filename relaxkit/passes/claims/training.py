"""Claims of the passes for training, and of passes for machines that are not there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.functions import functions_by_name, relax_functions
from relaxkit.ir.operator_facts import GRADIENTS
from relaxkit.ir.types import flat, has_distributed_tensors, static_dims
from relaxkit.ir.walk import expressions, operator_calls, operator_of, places
from relaxkit.passes.claims.common import placed, untouched
from relaxkit.passes.contract import EvidenceClass, Ran, claimed, nothing_left

_SUFFIX = "_adjoint"


def derived_otherwise(call: Any) -> bool:
    """Say whether the function by which an operator is differentiated forgets an operand, its shape or that it nests.

    src/relax/transform/gradient.cc calls it, and takes a gradient for each operand.
    """
    builder, result = relax.BlockBuilder(), relax.Var("result", call.ty)
    builder._begin_binding_block()
    given = [builder.normalize(each) for each in call.op.get_attr(GRADIENTS)(result, call, result, builder)]
    builder._end_block()
    types = [(each.ty, operand.ty) for each, operand in zip(given, call.args, strict=False)]
    nested = any({*map(type, pair)} == {relax.TupleType, relax.TensorType} for pair in types)
    shapes = [(static_dims(new), static_dims(old)) for new, old in types]
    return nested or len(given) != len(call.args) or any(None not in pair and pair[0] != pair[1] for pair in shapes)


@claimed(
    "one adjoint is added, and nothing else changes",
    'documentation of relax.transform.Gradient: "it generates a new function with the name func_name + _adjoint"',
)
def adjoint_missing(ran: Ran) -> str:
    """Say what contradicts that one adjoint was added, or made anew, and nothing else touched."""
    before, after = functions_by_name(ran.before), functions_by_name(ran.after)
    for name, function in before.items():
        if name not in after:
            return f"{name} is gone\ndrops {name}"
        same = bool(tvm_ffi.structural_equal(function, after[name], map_free_vars=True))
        if not same and not _may_be_adjoint(name, before):
            return f"{name} is another\nchanges {name}"
    # Gradients that are functions of their own (te_grad_name) add kernels as well.
    added = [name for name in after if name not in before and isinstance(after[name], relax.Function)]
    remade = [name for name in before if _may_be_adjoint(name, before)]
    if len(added) + len(remade) == 0:
        return "no adjoint"
    if len(added) > 1 or not all(_may_be_adjoint(name, before) for name in added):
        return "more than one adjoint is added"
    return next((fault for name in added if (fault := _fault(before[name[: -len(_SUFFIX)]], after[name]))), "")


def _may_be_adjoint(name: str, functions: Mapping[str, Any]) -> bool:
    return name.endswith(_SUFFIX) and name[: -len(_SUFFIX)] in functions


def _fault(function: Any, adjoint: Any) -> str:
    """Say what of an adjoint's signature does not fit its function."""
    if len(function.params) != len(adjoint.params):
        return "the adjoint takes other parameters"
    ty = adjoint.body.ty
    if not isinstance(ty, relax.TupleType) or len(ty.fields) != 2 or not isinstance(ty.fields[1], relax.TupleType):
        return "the adjoint returns no pair of result and gradients"
    if len(ty.fields[1].fields) > len(function.params):
        return "the adjoint returns more gradients than there are parameters"
    return ""


@claimed(
    "a loss function stands beside its backbone, which stays as it is", "documentation of relax.training.AppendLoss"
)
def loss_not_appended(ran: Ran) -> str:
    """Say what is wrong with the function that computes the loss; empty when it stands beside the others, unchanged."""
    backbone = str(ran.arguments["0"])
    name = str(ran.arguments.get("new_func_name", ran.arguments.get("3")) or f"{backbone}_loss")
    before, after = functions_by_name(ran.before), functions_by_name(ran.after)
    if after.keys() != {*before, name}:
        return f"other functions than the loss function came or went\nmakes {sorted(after)} of {sorted(before)}"
    if not all(untouched(function, after[key]) for key, function in before.items()):
        return "a function other than the loss function changed"
    made, whole = after[name], before[backbone]
    if len(made.body.blocks) != 1 or not isinstance(made.body.blocks[0], relax.DataflowBlock):
        return "the loss function is not one dataflow block"
    first = made.ret_ty.fields[0] if isinstance(made.ret_ty, relax.TupleType) else made.ret_ty
    if not isinstance(first, relax.TensorType) or first.ndim != 0:
        return f"the loss is no scalar\nmakes {name} return {made.ret_ty}"
    if len(made.params) < len(whole.params):
        return "the loss function takes less than its backbone"
    return ""


def calls_differ(ran: Ran, besides: Collection[str]) -> str:
    """Find which function calls other operators than before; types, which inference may write otherwise, do not count.

    Empty blocks, blocks of one kind side by side, functions' order and functions ``besides`` do not count either.
    """
    before, after = (
        {name: [operator_of(p.value) for p in places(function)] for name, function in functions if name not in besides}
        for functions in (relax_functions(ran.before), relax_functions(ran.after))
    )
    if before.keys() != after.keys():
        return f"other functions than before\nadds or drops {', '.join(sorted(before.keys() ^ after.keys()))}"
    for name, operators in before.items():
        if operators != after[name]:
            old, new = (", ".join(filter(None, each)) or "no operator" for each in (operators, after[name]))
            return f"other calls than before\nmakes {name} call {new} instead of {old}"
    return ""


@claimed(
    "functions of whole tensors stay",
    "tvm/relax/distributed/transform/transform.py: says of each what it does to distributed tensors",
    evidence=EvidenceClass.OURS,
)
def undistributed_differ(ran: Any) -> str:
    """Find a function without distributed tensors, and without annotations, that calls other operators than before."""
    return calls_differ(ran, [name for name, function in relax_functions(ran.before) if is_distributed(function)])


@claimed(
    "functions without memory that processes share stay",
    "tvm/relax/transform/lower_gpu_ipc_alloc_storage.py: looks for allocations of the scope ipc_memory",
    evidence=EvidenceClass.OURS,
)
def unshared_differ(ran: Any) -> str:
    """Find a function that names no memory which processes share, and calls other operators than before."""
    shared = {
        name
        for name, function in relax_functions(ran.before)
        if any(getattr(each, "value", "") == "ipc_memory" for each in expressions(function.body))
    }
    return calls_differ(ran, shared)


def is_distributed(function: Any) -> bool:
    """Say whether a function has distributed tensors, or says of tensors how they are to be distributed."""
    return has_distributed_tensors(function) or any(
        name.startswith("relax.dist.") for name, _ in operator_calls(function)
    )


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


@nothing_left(
    "sums over devices take memory that processes share",
    "tvm/relax/transform/ipc_allreduce_rewrite.py: rewrite all-reduce operation to one with IPC memory",
    shown='assert "runtime.disco.allreduce" not in After["{name}"].script()',
)
def all_reduce_left(ran: Any) -> str:
    """Find the sum over devices of a tensor that is allocated in memory of one process."""
    for name, function in relax_functions(ran.after):
        allocated = set()
        for place in places(function):
            value = place.value
            own = operator_of(value) == "relax.builtin.alloc_tensor" and str(value.args[3].value) == "global"
            if own or value in allocated:
                allocated.add(place.var)
            elif isinstance(value, relax.Call) and isinstance(value.op, relax.ExternFunc):
                summed = value.op.global_symbol == "runtime.disco.allreduce" and int(value.args[1].values[0]) == 0
                if summed and value.args[0] in allocated:
                    return f"a sum over devices is left\nleaves a runtime.disco.allreduce in {name}"
    return ""


@claimed(
    "textures are of five dims, the last of four",
    'src/relax/backend/adreno/annotate_custom_storage.cc: "currently we support only textures been made from 5d '
    'tensors", and "inner dimension = 4"',
)
def texture_of_another_shape(ran: Any) -> str:
    """Find a tensor in texture memory that has another shape than the memory takes."""
    for name, place in placed(ran.after):
        for ty in flat(place.var.ty):
            if not isinstance(ty, relax.TensorType):
                continue
            scope = str(ty.vdevice.memory_scope) if ty.vdevice is not None else ""
            dims = list(ty.shape.values) if isinstance(ty.shape, relax.ShapeExpr) else []
            if "texture" in scope and [int(dim) for dim in dims[4:] if isinstance(dim, tirx.IntImm)] != [4]:
                return f"a texture has another shape\nputs a tensor of {len(dims)} dims into {scope} in {name}"
    return ""
