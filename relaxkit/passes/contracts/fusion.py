"""Contracts of fusion and of passes around external code generators."""

from __future__ import annotations

from relaxkit.ir.functions import private_call_depth
from relaxkit.passes.claims import external, fusion, grouping
from relaxkit.passes.contract import (
    LEVELS,
    Abi,
    Contract,
    Dependence,
    EvidenceClass,
    Idempotence,
    Kept,
    Locality,
    Postcondition,
    Refusal,
    Stage,
    Trait,
    Variant,
    less_done,
)
from relaxkit.passes.contracts.shared import NO_SUCH_FUNCTION, PARTS_OF_LEVEL_ONE
from relaxkit.passes.preconditions import no_altered_kernels, private_composites

LEGALIZED = ("LegalizeOps",)
ANNOTATED = (*LEGALIZED, "AnnotateTIROpPattern")
FUSED = (*ANNOTATED, "FuseOps")

_LEVEL_FUSES = Dependence(
    LEVELS, 'documentation of FuseOps: "-1 indicates that the level will be inferred from pass context"'
)

ROWS: tuple[Contract, ...] = (
    Contract(
        "AnnotateTIROpPattern",
        postconditions=(
            less_done(
                "every kernel has a pattern",
                fusion.kernels_not_annotated,
                "its documentation: 'Annotate Op Pattern Kind'",
            ),
            less_done(
                "reductions are no elementwise kernels", fusion.reductions_misjudged, "OpPatternKind in op_attr_types.h"
            ),
        ),
        prepare=LEGALIZED,
        needs=Stage.LEGALIZED,
        gives=Stage.ANNOTATED,
        changes=frozenset({Kept.KERNELS}),  # its documentation: it annotates every kernel
    ),
    Contract(
        "FuseOps",
        variants=(Variant(r"FuseOps\(\)", {"environment": (_LEVEL_FUSES,)}, _LEVEL_FUSES.source),),
        postconditions=(
            grouping.WORK_KEPT,
            grouping.CALLS_FIT,
            grouping.IN_DATAFLOW,
            grouping.PRIVATE,
            Postcondition(
                "new functions are Primitive", fusion.groups_not_marked, "fuse_ops.cc: FunctionCreator::CreateFunction"
            ),
            less_done(
                "only what goes together is fused", fusion.fused_what_may_not, "OpPatternKind, and graph_partitioner.cc"
            ),
            less_done(
                "level 0 fuses nothing",
                fusion.fused_at_level_zero,
                "graph_partitioner.cc: 'if (opt_level_ == 0)'",
                evidence=EvidenceClass.OURS,
            ),
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
        not_after=("RewriteDataflowReshape",),  # it takes no ``R.reshape`` in a fused function
        postconditions=(
            Postcondition(
                "no primitive function is left",
                fusion.groups_left,
                "its documentation: 'Fuse primitive relax function'",
            ),
            less_done(
                "a group becomes one kernel",
                fusion.launches_not_kept,
                "its documentation: 'into a larger TIR function'",
            ),
        ),
        merges_kernels=True,
        prepare=FUSED,
        needs=Stage.FUSED,
        gives=Stage.FUSED,
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        fixpoint_extra=private_call_depth,
        refusals=(
            Refusal(
                "InternalError",
                r"Only call_tir and call_tir_inplace are supported in primitive function",
                "operator left in a primitive function",
                "src/relax/transform/fuse_tir.cc; LegalizeOps with skip_ops before it leaves operators on purpose",
            ),
            Refusal(
                "InternalError",
                r"Only schedulable functions \(whose body is the root block\) can be fused",
                "kernel without a root block",
                "src/relax/transform/fuse_tir.cc; drawn kernels have one, what minimizing makes of them need not",
            ),
            Refusal(
                "InternalError",
                r"Tensor constants are not supported in primitive functions",
                "constant in a primitive function",
                "src/relax/transform/fuse_tir.cc; FuseOpsByPattern makes them, for external code generators",
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
        postconditions=(
            grouping.WORK_KEPT,
            grouping.CALLS_FIT,
            grouping.IN_DATAFLOW,
            Postcondition(
                "groups match a pattern", external.groups_of_no_pattern, "fuse_ops.cc: kComposite is the pattern's name"
            ),
            Postcondition(
                "groups are annotated as asked", external.groups_not_annotated, "its documentation of annotate_codegen"
            ),
            less_done(
                "certain matches are grouped",
                external.certain_matches_left,
                "its documentation: 'Apply pattern matching to each function in the given module'",
            ),
        ),
        abi=Abi.ADDS_FUNCTIONS,
        refusals=(
            Refusal(
                "InternalError",
                r"cyclic dependency detected between the groups",
                "pattern would make a cycle",
                "src/relax/transform/fuse_ops.cc",
            ),
        ),
    ),
    Contract(
        "MergeCompositeFunctions",
        preconditions=(private_composites,),
        postconditions=(
            grouping.WORK_KEPT,
            Postcondition(
                "composite functions are merged into external ones",
                external.composites_not_merged,
                "its documentation: 'annotated with Codegen and global_symbol'",
            ),
        ),
        abi=Abi.ADDS_FUNCTIONS,
        idempotence=Idempotence.NEVER,
        refusals=(NO_SUCH_FUNCTION,),
        notes="merges the composite calls of a function named main only; "
        "wraps what it merged once more at each run, under a longer name",
    ),
    Contract(
        "RunCodegen",
        postconditions=(
            Postcondition(
                "public functions call external code by its symbol",
                external.external_calls_left,
                "run_codegen.cc: create_call_dps_packed; tests/python/relax/test_transform_codegen_pass.py",
            ),
            Postcondition(
                "what was generated is no Relax function any more",
                external.external_functions_left,
                "run_codegen.cc: 'Remove the global symbol and codegen attributes from the function'",
            ),
        ),
        refusals=(
            NO_SUCH_FUNCTION,
            Refusal(
                "InternalError", r"Codegen is not found", "no such code generator", "src/relax/transform/run_codegen.cc"
            ),
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
        postconditions=(
            Postcondition(
                "external functions get the workspace they ask for", external.workspace_missing, "its documentation"
            ),
        ),
        # "a tensor of size big enough for all the external functions" (its documentation), in every function.
        locality=Locality.MODULE,
        notes="not behind ToNonDataflow: it puts the workspace into a dataflow block "
        "(src/relax/transform/allocate_workspace.cc)",
    ),
    Contract(
        "AlterOpImpl",
        traits=frozenset({Trait.NAMES_THE_GIVEN}),
        postconditions=(
            Postcondition(
                "kernels are replaced", fusion.kernels_not_replaced, "its documentation: 'Replace all PrimFunc's'"
            ),
            Postcondition(
                "operands come in the layout of the replacement",
                fusion.layouts_not_transformed,
                "its documentation: 'Layout transformations are inserted in the call sites'",
            ),
        ),
        prepare=LEGALIZED,
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        idempotence=Idempotence.NEVER,
        preconditions=(no_altered_kernels,),
        notes="a replacement keeps the operator's name, so that a second run with the same arguments takes it for the "
        "kernel of the old layout",
    ),
    Contract(
        "AttachAttrLayoutFreeBuffers",
        postconditions=(
            less_done(
                "layout_free_buffers are the weights and constants",
                fusion.free_buffers_wrong,
                "its documentation: 'the layout free buffers are the model weights and relax constants'",
            ),
        ),
        prepare=LEGALIZED,
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        idempotence=Idempotence.NEVER,
        notes="gives every kernel that it looks at a new name (add, add1, add11, ...), measured on one call",
        environment=PARTS_OF_LEVEL_ONE,
    ),
    Contract(
        "SplitLayoutRewritePreproc",
        postconditions=(
            Postcondition("no kernel rewrites layouts itself", fusion.preparation_left, "its documentation"),
        ),
        prepare=LEGALIZED,
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        notes="ends with DeadCodeElimination, whose fixed point it inherits",
        environment=PARTS_OF_LEVEL_ONE,
    ),
    Contract(
        "SpecializePrimFuncBasedOnCallSite",
        postconditions=(
            Postcondition("kernels have the dims of their calls", fusion.shapes_not_specialized, "its documentation"),
        ),
        prepare=LEGALIZED,
        needs=Stage.LEGALIZED,
        gives=Stage.LEGALIZED,
        changes=frozenset({Kept.KERNELS}),  # its documentation: it updates kernels with the types of their calls
        refusals=(
            Refusal(
                "InternalError",
                r"Shape undefined for call",
                "argument without a shape",
                "src/relax/transform/specialize_primfunc_based_on_callsite.cc; UpdateParamType may take it away",
            ),
        ),
        # A kernel is made to fit all its calls in the module; LegalizeOps gives functions of one formula one kernel.
        locality=Locality.MODULE,
    ),
)
