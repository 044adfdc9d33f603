"""Contracts of high-level passes that rewrite operators: algebra, layouts, decomposition, precision."""

from __future__ import annotations

from functools import partial

from relaxkit.ir.operator_facts import LAYOUTS, PRECISIONS
from relaxkit.passes.claims import common, rewrite
from relaxkit.passes.contract import (
    Abi,
    Contract,
    Harm,
    Hook,
    Idempotence,
    NumericCheck,
    NumericLimit,
    NumericPromise,
    Operators,
    Postcondition,
    Refusal,
    Stage,
    Trait,
    Variant,
    stated,
)
from relaxkit.passes.contracts import laws
from relaxkit.passes.contracts.shared import (
    MAKES_KERNELS,
    NEEDS_TARGET,
    ONE_BY_ONE,
    UNSUPPORTED_DTYPE,
    WINDOWED_ATTENTION,
    none_left,
    of_own_mode,
    refused,
    to_kernels,
)
from relaxkit.passes.forms import without_dead_code
from relaxkit.passes.limits import is_told_to_leave, retypes_a_callee
from relaxkit.passes.preconditions import no_calls_in_place

REASSOCIATION = NumericPromise.REASSOCIATION
_EXPENSIVE = ("relax.exp", "relax.erf", "relax.tanh", "relax.nn.softmax")
_SAMPLING = "relax.multinomial_from_uniform"
_SORTS = ("relax.sort", "relax.argsort", "relax.topk", "relax.cumsum", "relax.cumprod", "relax.bucketize")
_FP16_INPUTS = 'its documentation of fp16_input_names: "the function signature would change accordingly"'
_SPLIT_AXIS = (
    "layouts with a split axis (NCHW4c) have no kernel in TOPI for this target; the pass documents that it does not "
    "look whether there is one"
)

ROWS: tuple[Contract, ...] = (
    Contract(
        "ConvertLayout",
        laws=(laws.CONVOLUTION_IN_ANOTHER_LAYOUT, laws.REDUCED_OVER_ALL, *laws.PERMUTED_OPERANDS, *laws.PERMUTATIONS),
        limits=(
            NumericLimit(NumericCheck.BUILD, "no kernel for this layout", _SPLIT_AXIS, error=r'layout="[A-Z]+\d+[a-z]'),
            NumericLimit(
                NumericCheck.BUILD,
                "no kernel for this layout",
                "tvm/relax/transform/legalize_ops/nn.py leaves convolutions of other output than input layouts, and "
                "transposed ones of other layouts than PyTorch's, as they are, with a line in the log",
                error=r"CodeGenVM cannot emit[^:]*call:\s*R\.nn\.conv\dd|nn\.conv\dd(_transpose)?: "
                r"CodeGenVM cannot emit",
            ),
        ),
        numeric=REASSOCIATION,
        hook=Hook(LAYOUTS, rewrite.laid_out_otherwise),
        notes="idempotent for permutations; a second run of sub-indexed layouts throws (a defect)",
        refusals=refused(
            "op/nn/convolution.cc: ",
            (
                r"Axis swap only|Unsupported initial layout",
                "layout that this operator does not take",
                "conv1d, conv3d and the transposed ones only take layouts of swapped axes, and say so",
            ),
        ),
        operators=Operators(
            "src/relax/transform/convert_layout.cc: RewriteExpr",
            fewer=("relax.permute_dims", "relax.layout_transform"),
            more=("relax.permute_dims", "relax.layout_transform"),
            said="only changes of layout come",
        ),
        functions=ONE_BY_ONE,
        postconditions=stated(rewrite.other_layout_left),
    ),
    Contract(
        "DataflowUseInplaceCalls",
        traits=frozenset({Trait.IN_PLACE}),
        costly=True,
        operators=Operators(
            "its documentation: replace calls that may be done in place by call_tir_inplace",
            fewer=("*",),
            more=("relax.call_tir_inplace",),
            said="only in-place calls come",
        ),
        functions=MAKES_KERNELS,
    ),
    Contract(
        "DecomposeOpsForInference",
        laws=(laws.NORMALIZED,),
        limits=(of_own_mode(training=False),),
        functions=ONE_BY_ONE,
        postconditions=stated(
            Postcondition(
                "no composite operator is left",
                partial(rewrite.composite_left, names=("relax.nn.batch_norm", "relax.tensor_to_shape")),
                "its documentation; src/relax/transform/decompose_ops.cc: OpDecomposer",
            ),
            common.unnamed_function_changed,
        ),
    ),
    Contract(
        "DecomposeOpsForTraining",
        laws=(laws.NORMALIZED, laws.LAYERS_NORMALIZED),
        limits=(of_own_mode(training=True),),
        numeric=REASSOCIATION,
        functions=ONE_BY_ONE,
        postconditions=stated(
            Postcondition(
                "no composite operator is left",
                partial(
                    rewrite.composite_left,
                    names=("relax.nn.batch_norm", "relax.nn.layer_norm", "relax.tensor_to_shape"),
                ),
                "its documentation; src/relax/transform/decompose_ops.cc",
            ),
            common.unnamed_function_changed,
        ),
    ),
    Contract(
        "FastMathTransform",
        laws=(laws.FAST,),
        numeric=NumericPromise.APPROXIMATE,
        operators=to_kernels("relax/transform/fast_math.py", *_EXPENSIVE),
        functions=MAKES_KERNELS,
        postconditions=(
            none_left(
                "no expensive function is left",
                "its documentation: convert the expensive non linear functions to their fast counterparts",
                *_EXPENSIVE,
                harm=Harm.LESS,
            ),
        ),
    ),
    Contract(
        "FoldConstant",
        inside=("DeadCodeElimination", "LegalizeOps"),  # fold_constant.cc: RemoveAllUnused, and FLegalize of operators
        costly=True,
        preconditions=(no_calls_in_place,),  # an operand that a kernel overwrites becomes a constant, for all calls
        refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION),
        operators=Operators("its documentation: it evaluates", fewer=("*",)),
        functions=MAKES_KERNELS,
        postconditions=stated(rewrite.foldable_left),
    ),
    Contract(
        "LegalizeOps",
        limits=(
            NumericLimit(
                NumericCheck.BUILD,
                "the caller's own legalization leaves the operator",
                "its documentation of skip_ops and customize_legalize_map",
                is_told_to_leave,
                error=r"CodeGenVM cannot emit[^:]*call:\s*R\.([\w.]+)",
            ),
        ),
        traits=frozenset({Trait.LEGALIZES, Trait.LOWERS_OPERATORS}),
        # legalize_ops.cc: where a kernel is for a device, the one that is for none "no longer has any callers, and
        # should be removed", by DeadCodeElimination of the whole module
        forms=(without_dead_code,),
        gives=Stage.LEGALIZED,
        costly=True,
        refusals=(
            UNSUPPORTED_DTYPE,
            WINDOWED_ATTENTION,
            Refusal(
                "RuntimeError",
                r"Legalization of \w+ op is not supported yet",
                "operator without a legalization",
                "relax/transform/legalize_ops/nn.py raises it on purpose, for attention_var_len",
            ),
        ),
        postconditions=stated(rewrite.legalizable_left, rewrite.unlegalized_lost, rewrite.relax_functions_changed),
    ),
    Contract(
        "ToMixedPrecision",
        laws=laws.CASTS,
        limits=(
            NumericLimit(
                NumericCheck.RESULTS, "retyped function is called inside the module", _FP16_INPUTS, retypes_a_callee
            ),
        ),
        variants=(
            Variant(
                r"fp16_input_names=\[",
                {"keeps_public_signatures": False, "keeps_calls_fitting": False, "abi": Abi.RETYPE_PARAMS},
                'its documentation: "The function signature would change accordingly"',
            ),
        ),
        idempotence=Idempotence.NEVER,
        numeric=NumericPromise.LOSSY,
        notes="each run adds casts",
        hook=Hook(PRECISIONS, rewrite.inferred_otherwise),
        functions=ONE_BY_ONE,
        postconditions=stated(
            rewrite.wide_operand_left,
            Postcondition(
                "only casts come",
                partial(common.operators_changed, fewer=("relax.wrap_param", "relax.astype"), more=("relax.astype",)),
                "its documentation: it inserts astype",
            ),
            rewrite.narrowed_otherwise,
        ),
    ),
    Contract(
        "DispatchSampling",
        where="relax.backend",
        laws=(laws.SAMPLED,),
        traits=frozenset({Trait.LOWERS_OPERATORS}),
        costly=True,
        environment=(NEEDS_TARGET,),
        operators=to_kernels(
            "relax/backend/dispatch_sampling.py: cumsum and a kernel", _SAMPLING, more=("relax.cumsum",)
        ),
        functions=MAKES_KERNELS,
        postconditions=(
            none_left(
                "no sampling operator is left",
                "relax/backend/dispatch_sampling.py: replaced on every target",
                _SAMPLING,
            ),
        ),
    ),
    Contract(
        "DispatchSortScan",
        where="relax.backend",
        laws=(laws.RANKED,),
        traits=frozenset({Trait.LOWERS_OPERATORS}),
        costly=True,
        environment=(NEEDS_TARGET,),
        operators=to_kernels("relax/backend/dispatch_sort_scan.py", *_SORTS),
        functions=MAKES_KERNELS,
        postconditions=(
            none_left(
                "no operator of sorting or scanning is left",
                "relax/backend/dispatch_sort_scan.py: replaced on every target",
                *_SORTS,
            ),
        ),
    ),
)
