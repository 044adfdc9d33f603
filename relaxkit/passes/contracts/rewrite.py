"""Contracts of high-level passes that rewrite operators: algebra, layouts, decomposition, precision."""

from __future__ import annotations

from functools import partial

from relaxkit.passes.claims import common, rewrite
from relaxkit.passes.contract import (
    Abi,
    Contract,
    Functions,
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
    less_done,
    stated,
)
from relaxkit.passes.contracts import laws
from relaxkit.passes.contracts.shared import NEEDS_TARGET, UNSUPPORTED_DTYPE, WINDOWED_ATTENTION, of_own_mode
from relaxkit.passes.forms import without_dead_code
from relaxkit.passes.limits import is_told_to_leave, retypes_a_callee, retypes_inputs
from relaxkit.passes.preconditions import no_calls_in_place

REASSOCIATION = NumericPromise.REASSOCIATION
_ONE_BY_ONE = "it works on each function of the module by itself"
_MAKES_KERNELS = "it makes kernels, and drops nothing"

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
        hook=rewrite.laid_out_otherwise,
        notes="idempotent for permutations; a second run of sub-indexed layouts throws (a defect)",
        refusals=(
            Refusal(
                "InternalError",
                r"Axis swap only|Unsupported initial layout",
                "layout that this operator does not take",
                "src/relax/op/nn/convolution.cc: conv1d, conv3d and the transposed ones only take layouts of swapped "
                "axes, and say so",
            ),
        ),
        operators=Operators(
            "src/relax/transform/convert_layout.cc: RewriteExpr",
            fewer=("relax.permute_dims", "relax.layout_transform"),
            more=("relax.permute_dims", "relax.layout_transform"),
            said="only changes of layout come",
        ),
        functions=Functions(_ONE_BY_ONE),
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
        functions=Functions(_MAKES_KERNELS, may_come=True),
    ),
    Contract(
        "DecomposeOpsForInference",
        laws=(laws.NORMALIZED,),
        limits=(of_own_mode(training=False),),
        functions=Functions(_ONE_BY_ONE),
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
        laws=(laws.NORMALIZED,),
        limits=(of_own_mode(training=True),),
        numeric=REASSOCIATION,
        functions=Functions(_ONE_BY_ONE),
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
        numeric=NumericPromise.APPROXIMATE,
        operators=Operators(
            "relax/transform/fast_math.py",
            fewer=("relax.exp", "relax.erf", "relax.tanh", "relax.nn.softmax"),
            more=("relax.call_tir",),
            said="only calls of kernels come",
        ),
        functions=Functions(_MAKES_KERNELS, may_come=True),
        postconditions=(
            less_done(
                "no expensive function is left",
                partial(common.operators_left_over, names=("relax.exp", "relax.erf", "relax.tanh", "relax.nn.softmax")),
                "its documentation: convert the expensive non linear functions to their fast counterparts",
            ),
        ),
    ),
    Contract(
        "FoldConstant",
        costly=True,
        preconditions=(no_calls_in_place,),  # an operand that a kernel overwrites becomes a constant, for all calls
        refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION),
        operators=Operators("its documentation: it evaluates", fewer=("*",)),
        functions=Functions(_MAKES_KERNELS, may_come=True),
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
        limits=(
            NumericLimit(
                NumericCheck.RESULTS, "retyped function is called inside the module", _FP16_INPUTS, retypes_a_callee
            ),
            NumericLimit(NumericCheck.DTYPES, "signature follows retyped inputs", _FP16_INPUTS, retypes_inputs),
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
        hook=rewrite.inferred_otherwise,
        functions=Functions(_ONE_BY_ONE),
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
        traits=frozenset({Trait.LOWERS_OPERATORS}),
        costly=True,
        environment=(NEEDS_TARGET,),
        operators=Operators(
            "relax/backend/dispatch_sampling.py: cumsum and a kernel",
            fewer=("relax.multinomial_from_uniform",),
            more=("relax.call_tir", "relax.cumsum"),
            said="only calls of kernels come",
        ),
        functions=Functions(_MAKES_KERNELS, may_come=True),
        postconditions=(
            Postcondition(
                "no sampling operator is left",
                partial(common.operators_left_over, names=("relax.multinomial_from_uniform",)),
                "relax/backend/dispatch_sampling.py: replaced on every target",
            ),
        ),
    ),
    Contract(
        "DispatchSortScan",
        where="relax.backend",
        traits=frozenset({Trait.LOWERS_OPERATORS}),
        costly=True,
        environment=(NEEDS_TARGET,),
        operators=Operators(
            "relax/backend/dispatch_sort_scan.py",
            fewer=("relax.sort", "relax.argsort", "relax.topk", "relax.cumsum", "relax.cumprod", "relax.bucketize"),
            more=("relax.call_tir",),
            said="only calls of kernels come",
        ),
        functions=Functions(_MAKES_KERNELS, may_come=True),
        postconditions=(
            Postcondition(
                "no operator of sorting or scanning is left",
                partial(
                    common.operators_left_over,
                    names=(
                        "relax.sort",
                        "relax.argsort",
                        "relax.topk",
                        "relax.cumsum",
                        "relax.cumprod",
                        "relax.bucketize",
                    ),
                ),
                "relax/backend/dispatch_sort_scan.py: replaced on every target",
            ),
        ),
    ),
)
