"""Contracts of the lowering passes, each with the chain that must run before it."""

from __future__ import annotations

from oracles.contract import IMPURE_IN_DATAFLOW, Contract, Idempotence, Kept, Refusal, Stage
from oracles.postconditions.lowering import LOWERING_CLAIMS
from oracles.preconditions import no_cuda_graphs, no_library_prefix, no_lowered_allocations, nothing_killed

LEGALIZED = ("RealizeVDevice", "DispatchSampling", "DispatchSortScan", "LambdaLift", "LegalizeOps")
PLAIN = (*LEGALIZED, "ToNonDataflow")
IMPURE = (*PLAIN, "RemovePurityChecking")
CALLS = (*IMPURE, "CallTIRRewrite")
ALLOCATED = (*CALLS, "LowerAllocTensor")
BUILTIN = (*ALLOCATED, "LowerRuntimeBuiltin")
PRIMS = (*BUILTIN, "ComputePrimValue")
SHAPES = (*PRIMS, "VMShapeLower")

LOWERED = Stage.LOWERED

ROWS: tuple[Contract, ...] = (
    Contract(
        "RewriteDataflowReshape",
        prepare=("LegalizeOps",),
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        postconditions=LOWERING_CLAIMS["RewriteDataflowReshape"],
    ),
    Contract(
        "ToNonDataflow",
        any_stage=True,
        postconditions=LOWERING_CLAIMS["ToNonDataflow"],
    ),
    Contract(
        "RemovePurityChecking",
        prepare=("ToNonDataflow",),
        any_stage=True,
        tolerated_ill_formedness=(IMPURE_IN_DATAFLOW,),
        notes="its documentation says to run it after ToNonDataflow; what makes dataflow blocks again undoes that",
        postconditions=LOWERING_CLAIMS["RemovePurityChecking"],
    ),
    Contract(
        "CallTIRRewrite",
        prepare=IMPURE,
        needs=Stage.LEGALIZED,
        gives=LOWERED,
        postconditions=LOWERING_CLAIMS["CallTIRRewrite"],
    ),
    Contract(
        "StaticPlanBlockMemory",
        prepare=CALLS,
        needs=LOWERED,
        gives=LOWERED,
        postconditions=LOWERING_CLAIMS["StaticPlanBlockMemory"],
    ),
    Contract(
        "RewriteCUDAGraph",
        prepare=CALLS,
        needs=LOWERED,
        gives=LOWERED,
        preconditions=(no_cuda_graphs, no_lowered_allocations),
        postconditions=LOWERING_CLAIMS["RewriteCUDAGraph"],
    ),
    Contract(
        "LowerAllocTensor",
        prepare=CALLS,
        needs=LOWERED,
        gives=LOWERED,
        keeps_public_signatures=False,
        keeps_calls_fitting=False,  # so that an argument has no device where the called function's parameter has one
        notes="the device of a tensor is an argument of its allocation from here on and no longer part of its type, "
        "nor of the return type that follows from it (generated modules)",
        postconditions=LOWERING_CLAIMS["LowerAllocTensor"],
    ),
    Contract(
        "KillAfterLastUse",
        prepare=ALLOCATED,
        needs=LOWERED,
        gives=LOWERED,
        preconditions=(nothing_killed,),
        idempotence=Idempotence.NEVER,
        keeps_public_signatures=False,
        keeps_calls_fitting=False,  # as LowerAllocTensor; and an argument may be known by rank only
        notes="begins with CanonicalizeBindings, for which its own output is not meant: a variable comes to stand for "
        "one that was killed; without the match_cast that this removes a return type may be known by rank only, which "
        "no longer matters at this stage (generated modules)",
        postconditions=LOWERING_CLAIMS["KillAfterLastUse"],
    ),
    Contract(
        "LowerRuntimeBuiltin",
        prepare=ALLOCATED,
        needs=LOWERED,
        gives=LOWERED,
        refusals=(
            Refusal(
                "InternalError",
                r"VMBuiltinLower encountered .*alloc_tensor",
                "alloc_tensor not lowered",
                "src/relax/backend/vm/lower_runtime_builtin.cc: LowerAllocTensor must run first",
            ),
        ),
        postconditions=LOWERING_CLAIMS["LowerRuntimeBuiltin"],
    ),
    Contract(
        "ComputePrimValue",
        prepare=BUILTIN,
        needs=LOWERED,
        gives=LOWERED,
        postconditions=LOWERING_CLAIMS["ComputePrimValue"],
    ),
    Contract(
        "VMShapeLower",
        prepare=PRIMS,
        needs=LOWERED,
        gives=LOWERED,
        idempotence=Idempotence.NEVER,
        address_ordered=True,
        postconditions=LOWERING_CLAIMS["VMShapeLower"],
    ),
    Contract(
        "AttachGlobalSymbol",
        any_stage=True,
        preconditions=(no_library_prefix,),
        notes="with the module attribute system_lib_prefix the prefix is put in front at each run, by design",
        changes=frozenset({Kept.KERNELS, Kept.FUNCTION_ATTRIBUTES}),  # the attribute that it attaches
        postconditions=LOWERING_CLAIMS["AttachGlobalSymbol"],
    ),
)
