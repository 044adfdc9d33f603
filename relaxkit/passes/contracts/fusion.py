"""Contracts of fusion and of passes around external code generators."""

from __future__ import annotations

from functools import partial

from relaxkit.ir.functions import private_call_depth
from relaxkit.passes.claims import fusion, grouping
from relaxkit.passes.contract import (
    LEVELS,
    Abi,
    Contract,
    Dependence,
    Idempotence,
    Kept,
    Locality,
    Refusal,
    Stage,
    Trait,
    Variant,
    stated,
)
from relaxkit.passes.contracts.shared import NO_SUCH_FUNCTION, PARTS_OF_LEVEL_ONE, refused
from relaxkit.passes.preconditions import external_workspaces, no_altered_kernels, private_composites

LEGALIZED = ("LegalizeOps",)
ANNOTATED = (*LEGALIZED, "AnnotateTIROpPattern")
FUSED = (*ANNOTATED, "FuseOps")

_LEVEL_FUSES = Dependence(
    LEVELS, 'documentation of FuseOps: "-1 indicates that the level will be inferred from pass context"'
)

_OnKernels = partial(Contract, prepare=LEGALIZED, needs=Stage.LEGALIZED, gives=Stage.LEGALIZED)

ROWS: tuple[Contract, ...] = (
    Contract(
        "AnnotateTIROpPattern",
        postconditions=stated(fusion.kernels_not_annotated, fusion.reductions_misjudged),
        prepare=LEGALIZED,
        needs=Stage.LEGALIZED,
        gives=Stage.ANNOTATED,
        changes=frozenset({Kept.KERNELS}),  # its documentation: it annotates every kernel
    ),
    Contract(
        "FuseOps",
        variants=(Variant(r"FuseOps\(\)", {"environment": (_LEVEL_FUSES,)}, _LEVEL_FUSES.source),),
        postconditions=stated(
            grouping.work_not_kept,
            grouping.calls_do_not_fit,
            grouping.groups_outside_dataflow,
            grouping.groups_public,
            fusion.groups_not_marked,
            fusion.fused_what_may_not,
            fusion.fused_at_level_zero,
        ),
        prepare=ANNOTATED,
        needs=Stage.ANNOTATED,
        gives=Stage.FUSED,
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        notes="a second run may fuse what the first left apart around an operator of known pattern (generated modules)",
    ),
    Contract(
        "FuseTIR",
        inside=("s_tir.renew_defs",),  # fuse_tir.cc
        not_after=("RewriteDataflowReshape",),  # it takes no ``R.reshape`` in a fused function
        postconditions=stated(fusion.groups_left, fusion.launches_not_kept),
        merges_kernels=True,
        prepare=FUSED,
        needs=Stage.FUSED,
        gives=Stage.FUSED,
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        fixpoint_extra=private_call_depth,
        refusals=refused(
            "transform/fuse_tir.cc; ",
            (
                r"Only call_tir and call_tir_inplace are supported in primitive function",
                "operator left in a primitive function",
                "LegalizeOps with skip_ops before it leaves operators on purpose",
            ),
            (
                r"Only schedulable functions \(whose body is the root block\) can be fused",
                "kernel without a root block",
                "drawn kernels have one, what minimizing makes of them need not",
            ),
            (
                r"Tensor constants are not supported in primitive functions",
                "constant in a primitive function",
                "FuseOpsByPattern makes them, for external code generators",
            ),
        ),
        notes="embeds ExpandTupleArguments, RemoveUnusedParameters and DeadCodeElimination",
        environment=PARTS_OF_LEVEL_ONE,
    ),
    Contract(
        "FuseOpsByPattern",
        variants=(
            Variant(
                r"var_usages",
                {"idempotence": Idempotence.FIXPOINT, "fixpoint_runs": 4},
                "PatternCheckContext.var_usages: a check may look at all uses in the function, and grouping leaves "
                "fewer of them",
            ),
        ),
        postconditions=stated(
            grouping.work_not_kept,
            grouping.calls_do_not_fit,
            grouping.groups_outside_dataflow,
            grouping.groups_of_no_pattern,
            grouping.groups_not_annotated,
            grouping.certain_matches_left,
        ),
        abi=Abi.ADDS_FUNCTIONS,
        refusals=refused(
            "transform/fuse_ops.cc",
            (r"cyclic dependency detected between the groups", "pattern would make a cycle", ""),
        ),
    ),
    Contract(
        "MergeCompositeFunctions",
        # merge_composite_functions.cc
        inside=("ToNonDataflow", "DeadCodeElimination", "relax.utils.copy_with_new_vars"),
        preconditions=(private_composites,),
        postconditions=stated(grouping.work_not_kept, grouping.composites_not_merged),
        abi=Abi.ADDS_FUNCTIONS,
        idempotence=Idempotence.NEVER,
        refusals=(NO_SUCH_FUNCTION,),
        notes="merges the composite calls of a function named main only; "
        "wraps what it merged once more at each run, under a longer name",
    ),
    Contract(
        "RunCodegen",
        inside=("DeadCodeElimination",),  # run_codegen.cc
        postconditions=stated(grouping.external_calls_left, grouping.external_functions_left),
        refusals=(
            NO_SUCH_FUNCTION,
            *refused("transform/run_codegen.cc", (r"Codegen is not found", "no such code generator", "")),
            Refusal(
                "ValueError",
                r"takes no calls of other functions",
                "code generator takes no calls",
                "relaxkit/runtime/external.py: an external function stands alone; what lifted its composites or "
                "legalized its operators left it calls of others",
            ),
        ),
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        notes="ends with DeadCodeElimination, whose fixed point it inherits",
        # src/relax/transform/run_codegen.cc: "Remove the global symbol and codegen attributes from the function so that
        # it can be removed" from the module, which it is not where another one still calls it
        changes=frozenset({Kept.FUNCTION_ATTRIBUTES}),
    ),
    Contract(
        "AllocateWorkspace",
        preconditions=(external_workspaces,),
        postconditions=stated(grouping.workspace_missing),
        # "a tensor of size big enough for all the external functions" (its documentation), in every function.
        locality=Locality.MODULE,
        notes="not behind ToNonDataflow: it puts the workspace into a dataflow block "
        "(src/relax/transform/allocate_workspace.cc)",
    ),
    _OnKernels(
        "AlterOpImpl",
        traits=frozenset({Trait.NAMES_THE_GIVEN}),
        postconditions=stated(fusion.kernels_not_replaced, fusion.layouts_not_transformed),
        idempotence=Idempotence.NEVER,
        preconditions=(no_altered_kernels,),
        notes="a replacement keeps the operator's name, so that a second run with the same arguments takes it for the "
        "kernel of the old layout",
    ),
    _OnKernels(
        "MetaScheduleApplyDatabase",
        idempotence=Idempotence.NEVER,
        costly=True,
        changes=frozenset({Kept.KERNELS}),
        notes="a record schedules a kernel, which computes the same; a second run has records for what the first made",
    ),
    _OnKernels(
        "suggest_layout_transforms",
        where="relax.analysis",
        traits=frozenset({Trait.NAMES_THE_GIVEN}),
        idempotence=Idempotence.NEVER,
        changes=frozenset({Kept.KERNELS}),
        refusals=(
            Refusal(
                "ScheduleError",
                r"binding values of the .* are not variables of outer loops",
                "a block that the schedule does not transform",
                "src/s_tir/schedule/primitive/layout_transformation.cc: the message names what the primitive needs",
            ),
            Refusal(
                "ScheduleError",
                r"this would introduce padding",
                "a suggested layout that pads",
                'tvm/s_tir/schedule/schedule.py, pad_value: "If None, the transformation may not introduce padding"',
            ),
        ),
        notes="as TVM's tests apply it (test_analysis_suggest_layout_transforms.py): the suggested transforms, made by "
        "a schedule, keep what the kernel computes, and AlterOpImpl lays out what the kernel is called with",
    ),
    _OnKernels(
        "AttachAttrLayoutFreeBuffers",
        inside=("s_tir.renew_defs",),  # attach_attr_layout_free_buffers.cc
        postconditions=stated(fusion.free_buffers_wrong),
        idempotence=Idempotence.NEVER,
        notes="gives every kernel that it looks at a new name (add, add1, add11, ...), measured on one call",
        environment=PARTS_OF_LEVEL_ONE,
    ),
    _OnKernels(
        "SplitLayoutRewritePreproc",
        postconditions=stated(fusion.preparation_left),
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        notes="ends with DeadCodeElimination, whose fixed point it inherits",
        environment=PARTS_OF_LEVEL_ONE,
    ),
    _OnKernels(
        "SpecializePrimFuncBasedOnCallSite",
        postconditions=stated(fusion.shapes_not_specialized),
        changes=frozenset({Kept.KERNELS}),  # its documentation: it updates kernels with the types of their calls
        refusals=refused(
            "transform/specialize_primfunc_based_on_callsite.cc",
            (r"Shape undefined for call", "argument without a shape", "; UpdateParamType may take it away"),
        ),
        # A kernel is made to fit all its calls in the module; LegalizeOps gives functions of one formula one kernel.
        locality=Locality.MODULE,
    ),
)
