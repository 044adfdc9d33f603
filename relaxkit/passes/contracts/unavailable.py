"""Contracts of passes for machines that are not there: other devices, several devices.

They run on the CPU wheel and must leave a module alone that asks for none of those. What that says is that they look
before they act: they visit every expression of every module.
"""

from __future__ import annotations

from relaxkit.passes.claims.training import calls_differ
from relaxkit.passes.contract import Contract, EvidenceClass, Idempotence, NumericPromise, Postcondition, Stage
from relaxkit.passes.preconditions import no_calls_in_place, nothing_killed


def _nothing_without(what: str, source: str) -> tuple[Postcondition, ...]:
    return (
        Postcondition(f"a module without {what} stays as it is", calls_differ, source, evidence=EvidenceClass.OURS),
    )


_DISTRIBUTED = _nothing_without(
    "distributed tensors", "tvm/relax/distributed/transform/transform.py: says of each what it does to such tensors"
)

ROWS: tuple[Contract, ...] = (
    Contract(
        "FoldVDeviceScopeChange",
        where="relax.backend.adreno.transform",
        preconditions=(nothing_killed, no_calls_in_place),  # a variable stands for the field of a tuple that it is
        any_stage=True,
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        notes="what it folds is for the texture memory of Adreno GPUs; also removes what is unused, everywhere",
    ),
    Contract(
        "IPCAllReduceRewrite",
        any_stage=True,
        postconditions=_nothing_without(
            "all-reduce between processes on one GPU",
            "tvm/relax/transform/ipc_allreduce_rewrite.py: returns the module where that function is not registered",
        ),
    ),
    Contract(
        "LowerGPUIPCAllocStorage",
        any_stage=True,
        postconditions=_nothing_without(
            "memory that processes share",
            "tvm/relax/transform/lower_gpu_ipc_alloc_storage.py: looks for allocations of the scope ipc_memory",
        ),
    ),
    Contract("PropagateSharding", where="relax.distributed.transform", any_stage=True, postconditions=_DISTRIBUTED),
    Contract(
        "LowerGlobalViewToLocalView", where="relax.distributed.transform", any_stage=True, postconditions=_DISTRIBUTED
    ),
    Contract("LegalizeRedistribute", where="relax.distributed.transform", any_stage=True, postconditions=_DISTRIBUTED),
    Contract("LowerDistIR", where="relax.distributed.transform", any_stage=True, postconditions=_DISTRIBUTED),
    Contract(
        "SplitCallTIRByPattern",
        prepare=("LegalizeOps",),
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        numeric=NumericPromise.NONE,
        notes="what it splits off is CUDA source, which no CPU runs: its structure is judged",
    ),
)
