"""Contracts of high-level passes that rewrite operators: algebra, layouts, decomposition, precision."""

from __future__ import annotations

from functools import partial

from oracles.contract import (
    NEEDS_TARGET,
    UNSUPPORTED_DTYPE,
    WINDOWED_ATTENTION,
    Contract,
    Idempotence,
    NumericPromise,
    Postcondition,
    Refusal,
    Stage,
)
from oracles.postconditions import common, rewrite
from oracles.preconditions import no_calls_in_place

REASSOCIATION = NumericPromise.REASSOCIATION
_ONE_BY_ONE = "it works on each function of the module by itself"
_MAKES_KERNELS = "it makes kernels, and drops nothing"

ROWS: tuple[Contract, ...] = (
    Contract(
        "ConvertLayout",
        numeric=REASSOCIATION,
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
        postconditions=(
            Postcondition(
                "convolutions have the layouts asked for",
                rewrite.other_layout_left,
                "its documentation of desired_layouts; tests/python/relax/test_transform_convert_layout.py",
            ),
            Postcondition(
                "only changes of layout come",
                partial(
                    common.operators_changed,
                    fewer=(
                        "relax.permute_dims",
                        "relax.layout_transform",
                    ),
                    more=(
                        "relax.permute_dims",
                        "relax.layout_transform",
                    ),
                ),
                "src/relax/transform/convert_layout.cc: RewriteExpr",
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "DataflowUseInplaceCalls",
        costly=True,
        postconditions=(
            Postcondition(
                "only in-place calls come",
                partial(common.operators_changed, fewer=("*",), more=("relax.call_tir_inplace",)),
                "its documentation: replace calls that may be done in place by call_tir_inplace",
            ),
            Postcondition("no function goes", partial(common.functions_changed, may_come=True), _MAKES_KERNELS),
        ),
    ),
    Contract(
        "DecomposeOpsForInference",
        postconditions=(
            Postcondition(
                "no composite operator is left",
                partial(
                    rewrite.composite_left,
                    names=(
                        "relax.nn.batch_norm",
                        "relax.tensor_to_shape",
                    ),
                ),
                "its documentation; src/relax/transform/decompose_ops.cc: OpDecomposer",
            ),
            Postcondition("other functions stay", rewrite.other_function_decomposed, "its documentation of func_name"),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "DecomposeOpsForTraining",
        numeric=REASSOCIATION,
        postconditions=(
            Postcondition(
                "no composite operator is left",
                partial(
                    rewrite.composite_left,
                    names=(
                        "relax.nn.batch_norm",
                        "relax.nn.layer_norm",
                        "relax.tensor_to_shape",
                    ),
                ),
                "its documentation; src/relax/transform/decompose_ops.cc",
            ),
            Postcondition("other functions stay", rewrite.other_function_decomposed, "its documentation of func_name"),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "FastMathTransform",
        numeric=NumericPromise.APPROXIMATE,
        postconditions=(
            Postcondition(
                "no expensive function is left",
                partial(
                    common.operators_left_over,
                    names=(
                        "relax.exp",
                        "relax.erf",
                        "relax.tanh",
                        "relax.nn.softmax",
                    ),
                ),
                "its documentation: convert the expensive non linear functions to their fast counterparts",
            ),
            Postcondition(
                "only calls of kernels come",
                partial(
                    common.operators_changed,
                    fewer=(
                        "relax.exp",
                        "relax.erf",
                        "relax.tanh",
                        "relax.nn.softmax",
                    ),
                    more=("relax.call_tir",),
                ),
                "relax/transform/fast_math.py",
            ),
            Postcondition("no function goes", partial(common.functions_changed, may_come=True), _MAKES_KERNELS),
        ),
    ),
    Contract(
        "FoldConstant",
        costly=True,
        preconditions=(no_calls_in_place,),  # an operand that a kernel overwrites becomes a constant, for all calls
        refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION),
        postconditions=(
            Postcondition(
                "no simple call over constants is left",
                rewrite.foldable_left,
                "its documentation: fold constant expressions within dataflow blocks",
            ),
            Postcondition(
                "no operator comes", partial(common.operators_changed, fewer=("*",)), "its documentation: it evaluates"
            ),
            Postcondition("no function goes", partial(common.functions_changed, may_come=True), _MAKES_KERNELS),
        ),
    ),
    Contract(
        "LegalizeOps",
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
        postconditions=(
            Postcondition(
                "no operator that legalizes is left",
                rewrite.legalizable_left,
                "its documentation: legalize high-level operator calls; skipped where shapes are unknown",
            ),
            Postcondition(
                "no other operator goes",
                rewrite.unlegalized_lost,
                "its documentation: operators without legalization are kept",
            ),
            Postcondition(
                "no Relax function comes or goes",
                rewrite.relax_functions_changed,
                "its documentation: kernels only are added",
            ),
        ),
    ),
    Contract(
        "ToMixedPrecision",
        idempotence=Idempotence.NEVER,
        numeric=NumericPromise.LOSSY,
        notes="each run adds casts",
        postconditions=(
            Postcondition(
                "operands of narrow operators are narrow",
                rewrite.wide_operand_left,
                "its documentation: the policy kAlways; src/relax/transform/to_mixed_precision.cc",
            ),
            Postcondition(
                "only casts come",
                partial(
                    common.operators_changed,
                    fewer=(
                        "relax.wrap_param",
                        "relax.astype",
                    ),
                    more=("relax.astype",),
                ),
                "its documentation: it inserts astype",
            ),
            Postcondition(
                "narrow operators keep their attributes",
                rewrite.narrowed_otherwise,
                "its documentation: it changes element types",
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "DispatchSampling",
        costly=True,
        environment=(NEEDS_TARGET,),
        postconditions=(
            Postcondition(
                "no sampling operator is left",
                partial(common.operators_left_over, names=("relax.multinomial_from_uniform",)),
                "relax/backend/dispatch_sampling.py: replaced on every target",
            ),
            Postcondition(
                "only calls of kernels come",
                partial(
                    common.operators_changed,
                    fewer=("relax.multinomial_from_uniform",),
                    more=(
                        "relax.call_tir",
                        "relax.cumsum",
                    ),
                ),
                "relax/backend/dispatch_sampling.py: cumsum and a kernel",
            ),
            Postcondition("no function goes", partial(common.functions_changed, may_come=True), _MAKES_KERNELS),
        ),
    ),
    Contract(
        "DispatchSortScan",
        costly=True,
        environment=(NEEDS_TARGET,),
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
            Postcondition(
                "only calls of kernels come",
                partial(
                    common.operators_changed,
                    fewer=(
                        "relax.sort",
                        "relax.argsort",
                        "relax.topk",
                        "relax.cumsum",
                        "relax.cumprod",
                        "relax.bucketize",
                    ),
                    more=("relax.call_tir",),
                ),
                "relax/backend/dispatch_sort_scan.py",
            ),
            Postcondition("no function goes", partial(common.functions_changed, may_come=True), _MAKES_KERNELS),
        ),
    ),
)
