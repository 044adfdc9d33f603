"""Contracts of passes for machines that are not there: other devices, several devices.

They run on the CPU wheel and must leave a module alone that asks for none of those. What that says is that they look
before they act: they visit every expression of every module.
"""

from __future__ import annotations

import functools
from typing import Any

from relaxkit.passes.claims.kept import kernels_changed
from relaxkit.passes.claims.training import (
    all_reduce_left,
    distributed_left,
    global_view_left,
    texture_of_another_shape,
    undistributed_differ,
    unshared_differ,
)
from relaxkit.passes.contract import (
    Abi,
    Contract,
    EvidenceClass,
    Idempotence,
    Kept,
    NumericPromise,
    Postcondition,
    Refusal,
    Stage,
    Trait,
    stated,
)
from relaxkit.passes.contracts.lowering import CALLS
from relaxkit.passes.contracts.shared import (
    PARTS_OF_LEVEL_ONE,
    REWRITER,
    UNSUPPORTED_DTYPE,
    WINDOWED_ATTENTION,
    none_left,
)
from relaxkit.passes.preconditions import annotated_parameters_used, hints_listed, no_calls_in_place, nothing_killed

_SOURCE = "tvm/relax/distributed/transform/transform.py"
_TO_GLOBAL_VIEW = ("LegalizeOps", "PropagateSharding")
_MESH = Refusal(
    "InternalError",
    r"device_mesh->shape\.size\(\) == 1",
    "a mesh of several dims",
    'src/relax/distributed: "this is a hack that only works for 1d device mesh", "the device mesh must be 1d"',
)
_CONFLICT = Refusal(
    "InternalError",
    r"Conflict Handling logic will be added in the future|multiple possible sharding for axis",
    "values are spread along other axes than they ask for",
    "src/relax/distributed/transform/propagate_sharding.cc and axis_group_graph.cc: the messages",
)


def _distributed(name: str, prepare: tuple[str, ...], done: Postcondition, *refusals: Refusal, **more: Any) -> Contract:
    return Contract(
        name,
        where="relax.distributed.transform",
        traits=frozenset({Trait.TAKES_DISTRIBUTED}),
        any_stage=True,
        prepare=prepare,
        refusals=refusals,
        postconditions=(*stated(undistributed_differ), done),
        **more,
    )


ROWS: tuple[Contract, ...] = (
    Contract(
        "AnnotateCustomMemoryScope",
        where="relax.backend.adreno.transform",
        composed=True,  # with what the pipeline of Adreno runs around it, for it needs what they leave
        gives=Stage.LEGALIZED,
        idempotence=Idempotence.UNKNOWN,
        address_ordered=True,
        costly=True,
        numeric=NumericPromise.NONE,
        abi=Abi.OTHER,  # parameters come to be on the device
        keeps_public_signatures=False,
        changes=frozenset({Kept.GLOBAL_INFOS, Kept.KERNELS}),
        environment=PARTS_OF_LEVEL_ONE,
        preconditions=(hints_listed,),
        refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION),
        postconditions=stated(texture_of_another_shape),
        notes="nothing here runs what is for the texture memory of Adreno GPUs: the structure is judged",
    ),
    Contract(
        "FoldVDeviceScopeChange",
        inside=REWRITER,
        where="relax.backend.adreno.transform",
        preconditions=(nothing_killed, no_calls_in_place),  # a variable stands for the field of a tuple that it is
        any_stage=True,
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        notes="what it folds is for the texture memory of Adreno GPUs; also removes what is unused, everywhere",
    ),
    Contract(
        "IPCAllReduceRewrite",
        prepare=CALLS,
        any_stage=True,
        postconditions=stated(all_reduce_left),
        notes="the wheel for CPUs lacks the function: one of ours is registered, and the structure is judged",
    ),
    Contract(
        "LowerGPUIPCAllocStorage",
        any_stage=True,
        postconditions=stated(unshared_differ),
    ),
    _distributed(
        "PropagateSharding",
        (),
        none_left(
            "no annotation is left", f"{_SOURCE}: propagate sharding information", "relax.dist.annotate_sharding"
        ),
        _CONFLICT,
        preconditions=(annotated_parameters_used,),
        keeps_public_signatures=False,  # that of an annotated function says how its parameters are spread
    ),
    _distributed(
        "LegalizeRedistribute",
        ("PropagateSharding",),
        none_left(
            "no redistribution is left", f"{_SOURCE}: legalize redistribute op to ccl op", "relax.dist.redistribute"
        ),
        _MESH,
        Refusal(
            "InternalError",
            r"(AlltoAll|Allgather) not implemented yet",
            "spread values are gathered, or spread otherwise",
            "src/relax/distributed/transform/legalize_redistribute.cc: the message",
        ),
    ),
    _distributed(
        "LowerGlobalViewToLocalView",
        _TO_GLOBAL_VIEW,
        Postcondition(
            "every kernel sees its own part", global_view_left, f"{_SOURCE}: lower global view TIR to local view"
        ),
        Refusal(
            "InternalError",
            r"add_allreduce_kind_ == ",
            "a kernel reduces twice what is spread",
            'src/relax/distributed/transform/lower_global_view_to_local_view.cc: "todo: if reduce, insert allreduce"',
        ),
    ),
    _distributed(
        "LowerDistIR",
        (*_TO_GLOBAL_VIEW, "LegalizeRedistribute", "LowerGlobalViewToLocalView"),
        Postcondition("no distributed tensor is left", distributed_left, f"{_SOURCE}: lower DistIR to Relax"),
        _MESH,
        keeps_public_signatures=False,  # a parameter is a tensor that one device has
    ),
    Contract(
        "SplitCallTIRByPattern",
        prepare=("LegalizeOps",),
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        numeric=NumericPromise.NONE,
        # Its documentation: splits "into 2 parts", of which one becomes an ExternFunc; the rest may match once more.
        idempotence=Idempotence.UNKNOWN,
        changes=frozenset({Kept.KERNELS}),
        postconditions=(
            Postcondition(
                "keeps kernels that it does not make external",
                functools.partial(kernels_changed, may_be_external=True),
                'its documentation: "generate the code for the matched pattern to replace it with a ExternFunc call"',
                evidence=EvidenceClass.OURS,
            ),
        ),
        notes="what it splits off is CUDA source, which no CPU runs: its structure is judged",
    ),
)
