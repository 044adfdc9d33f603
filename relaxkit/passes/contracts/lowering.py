"""Contracts of the lowering passes, each with the chain that must run before it."""

from __future__ import annotations

from functools import partial

from relaxkit.passes.claims import kills, lowering, memory_plan, shape_heap
from relaxkit.passes.claims.cuda_graph import CUDA_GRAPH_CLAIMS
from relaxkit.passes.contract import (
    Contract,
    EvidenceClass,
    Harm,
    Idempotence,
    Kept,
    Locality,
    Postcondition,
    Stage,
    Trait,
    Variant,
    less_done,
    stated,
)
from relaxkit.passes.contracts.shared import (
    IMPURE_IN_DATAFLOW,
    MAY_GIVE_BACK,
    PLANNED_OUTPUTS,
    VAGUE_VIEW,
    none_left,
    refused,
)
from relaxkit.passes.preconditions import (
    no_cuda_graphs,
    no_library_prefix,
    no_lowered_allocations,
    nothing_killed_has_two_names,
)

LEGALIZED = ("RealizeVDevice", "DispatchSampling", "DispatchSortScan", "LambdaLift", "LegalizeOps")
PLAIN = (*LEGALIZED, "ToNonDataflow")
IMPURE = (*PLAIN, "RemovePurityChecking")
CALLS = (*IMPURE, "CallTIRRewrite")
ALLOCATED = (*CALLS, "LowerAllocTensor")
BUILTIN = (*ALLOCATED, "LowerRuntimeBuiltin")
PRIMS = (*BUILTIN, "ComputePrimValue")

LOWERED = Stage.LOWERED

_OTHER_DEVICES = refused(
    "transform/rewrite_cuda_graph.cc, MergeAllocationPlans: ",
    (r"virtual_device_id == 0", "storages on several devices", "storages of the first device only"),
)

_OnLowered = partial(Contract, needs=LOWERED, gives=LOWERED)

ROWS: tuple[Contract, ...] = (
    Contract(
        "RewriteDataflowReshape",
        prepare=("LegalizeOps",),
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        postconditions=stated(
            less_done(
                "kernels that reshape became relax.reshape",
                partial(lowering.reshapes_left, branches=False),
                "its documentation, and rewrite_dataflow_reshape.cc",
                shown='assert "R.reshape(" in After.script()',
            ),
            less_done(
                "kernels that reshape became relax.reshape in branches, too",
                partial(lowering.reshapes_left, branches=True),
                'its documentation says "all"; rewrite_dataflow_reshape.cc looks into no branch, and may mean it',
                evidence=EvidenceClass.OURS,
                shown='assert "R.reshape(" in After.script()',
            ),
            lowering.reshapes_changed,
        ),
    ),
    Contract(
        "ToNonDataflow",
        traits=frozenset({Trait.KEEPS_KILLS}),
        any_stage=True,
        postconditions=stated(lowering.dataflow_left, lowering.operator_sequence_changed),
    ),
    Contract(
        "RemovePurityChecking",
        traits=frozenset({Trait.KEEPS_KILLS, Trait.REBUILDS, Trait.FORCES_PURITY}),
        prepare=("ToNonDataflow",),
        any_stage=True,
        tolerated_ill_formedness=(IMPURE_IN_DATAFLOW,),
        notes="its documentation says to run it after ToNonDataflow; what makes dataflow blocks again undoes that",
        postconditions=stated(
            lowering.purity_checked,
            none_left(
                "no pure form of an impure call is left",
                "its documentation: 'unwrap all pure override ops'",
                *lowering.PURE_FORMS,
            ),
        ),
    ),
    Contract(
        "CallTIRRewrite",
        prepare=IMPURE,
        needs=Stage.LEGALIZED,
        gives=LOWERED,
        postconditions=stated(
            none_left(
                "no call in destination-passing style is left",
                "its documentation: 'Perform explicit tensor allocation for call_tir and call_dps_packed'",
                *lowering.DESTINATION_PASSING,
            ),
            lowering.calls_not_kept,
            lowering.outputs_not_allocated,
        ),
    ),
    _OnLowered(
        "StaticPlanBlockMemory",
        limits=(MAY_GIVE_BACK,),
        prepare=CALLS,
        attributes=(PLANNED_OUTPUTS,),
        postconditions=stated(
            memory_plan.shared_while_in_use,
            memory_plan.storage_too_small,
            memory_plan.planned_elsewhere,
            memory_plan.bound_not_used,
            memory_plan.left_unplanned,
        ),
    ),
    _OnLowered(
        "RewriteCUDAGraph",
        limits=(MAY_GIVE_BACK,),
        variants=(
            Variant(
                r"use_cuda_graph\": True",
                {
                    "prepare": (*CALLS, "StaticPlanBlockMemory"),
                    "idempotence": Idempotence.NEVER,
                    "postconditions": CUDA_GRAPH_CLAIMS,
                    "refusals": _OTHER_DEVICES,
                    "locality": Locality.MODULE,  # storages are shared, and captures numbered over the module
                },
                'rewrite_cuda_graph.cc: "This transformation is expected to run after `StaticPlanBlockMemory`". '
                "A second run lifts the allocations of the function that the first one made for them into another",
            ),
        ),
        traits=frozenset({Trait.CAPTURES}),
        prepare=CALLS,
        preconditions=(no_cuda_graphs, no_lowered_allocations),
        postconditions=stated(lowering.anything_changed),
    ),
    _OnLowered(
        "LowerAllocTensor",
        prepare=CALLS,
        keeps_public_signatures=False,
        keeps_calls_fitting=False,  # so that an argument has no device where the called function's parameter has one
        notes="the device of a tensor is an argument of its allocation from here on and no longer part of its type, "
        "nor of the return type that follows from it (generated modules)",
        postconditions=(
            none_left(
                "no builtin.alloc_tensor is left",
                "its documentation: 'Lower all instances of relax.builtin.alloc_tensor'",
                "relax.builtin.alloc_tensor",
            ),
            Postcondition(
                "storages hold the tensors", memory_plan.storage_too_small, "what the runtime checks", Harm.WRONG
            ),
            Postcondition(
                "each tensor is allocated as it was",
                memory_plan.planned_elsewhere,
                "lower_alloc_tensor.cc keeps the operands",
                evidence=EvidenceClass.OURS,
            ),
        ),
    ),
    _OnLowered(
        "KillAfterLastUse",
        inside=("CanonicalizeBindings",),  # kill_after_last_use.cc
        traits=frozenset({Trait.KILLS}),
        prepare=ALLOCATED,
        preconditions=(nothing_killed_has_two_names,),
        idempotence=Idempotence.NEVER,
        keeps_public_signatures=False,
        keeps_calls_fitting=False,  # as LowerAllocTensor; and an argument may be known by rank only
        notes="begins with CanonicalizeBindings, for which its own output is not meant: a variable comes to stand for "
        "one that was killed; without the match_cast that this removes a return type may be known by rank only, which "
        "no longer matters at this stage (generated modules)",
        postconditions=stated(kills.killed_too_early, kills.killed_without_register, kills.not_killed),
    ),
    _OnLowered(
        "LowerRuntimeBuiltin",
        prepare=ALLOCATED,
        refusals=VAGUE_VIEW
        + refused(
            "backend/vm/lower_runtime_builtin.cc: ",
            (
                r"VMBuiltinLower encountered .*alloc_tensor",
                "alloc_tensor not lowered",
                "LowerAllocTensor must run first",
            ),
        ),
        postconditions=(
            none_left(
                "no operator of the runtime is left",
                "src/relax/backend/vm/lower_runtime_builtin.cc: 'This pass lowers most ops to VM specific builtins'",
                *lowering.BUILTINS,
            ),
        ),
    ),
    _OnLowered("ComputePrimValue", prepare=BUILTIN, postconditions=stated(lowering.arithmetic_left)),
    _OnLowered(
        "VMShapeLower",
        # The heap of shapes is one that type inference knows nothing of: a pass after it that infers types afresh finds
        # ranks where shapes were (measured on DeadCodeElimination, LowerRuntimeBuiltin and LowerGPUIPCAllocStorage,
        # which keep signatures at any other stage). At run time types of public functions no longer matter then.
        traits=frozenset({Trait.FORGETS_SHAPES}),
        prepare=PRIMS,
        idempotence=Idempotence.NEVER,
        address_ordered=True,
        postconditions=stated(shape_heap.symbolic_shapes_left, shape_heap.heap_misused, shape_heap.shapes_differ),
    ),
    Contract(
        "AttachGlobalSymbol",
        traits=frozenset({Trait.PUBLISHES, Trait.KEEPS_KILLS}),
        any_stage=True,
        preconditions=(no_library_prefix,),
        notes="with the module attribute system_lib_prefix the prefix is put in front at each run, by design",
        changes=frozenset({Kept.KERNELS, Kept.FUNCTION_ATTRIBUTES}),  # the attribute that it attaches
        postconditions=stated(lowering.symbols_not_attached),
    ),
)
