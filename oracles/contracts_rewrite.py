"""Contracts of high-level passes that rewrite operators: algebra, layouts, decomposition, precision, gradients."""

from __future__ import annotations

from oracles.contract import (
    NO_SUCH_FUNCTION,
    UNSUPPORTED_DTYPE,
    Abi,
    Contract,
    Idempotence,
    NumericPromise,
    Refusal,
    Stage,
)

REASSOCIATION = NumericPromise.REASSOCIATION

_GRADIENT_SOURCE = "documentation of relax.transform.Gradient: one dataflow block, a scalar float target"

ROWS: tuple[Contract, ...] = (
    Contract("AdjustMatmulOrder", numeric=REASSOCIATION),
    Contract("CombineParallelMatmul", numeric=REASSOCIATION),
    Contract(
        "ConvertLayout",
        numeric=REASSOCIATION,
        notes="idempotent for permutations; a second run of sub-indexed layouts throws (a defect)",
    ),
    Contract("DataflowUseInplaceCalls", costly=True),
    Contract("DecomposeOpsForInference"),
    Contract("DecomposeOpsForTraining", numeric=REASSOCIATION),
    Contract("ExpandMatmulOfSum", numeric=REASSOCIATION),
    Contract("FastMathTransform", numeric=NumericPromise.APPROXIMATE),
    Contract("FoldBatchnormToConv2D", numeric=REASSOCIATION),
    Contract("FoldConstant", costly=True, refusals=(UNSUPPORTED_DTYPE,)),
    Contract("FuseTransposeMatmul"),
    Contract(
        "Gradient",
        numeric=REASSOCIATION,
        abi=Abi.ADDS_FUNCTIONS,
        refusals=(
            NO_SUCH_FUNCTION,
            *(
                Refusal("InternalError", pattern, reason, _GRADIENT_SOURCE)
                for pattern, reason in (
                    (r"only support one dataflow block", "not exactly one dataflow block"),
                    (r"target must be a (float )?scalar", "target is not a float scalar"),
                    (r"no Var named", "no such variable"),
                    (r"must be Var or Tuple|should be a Var or a Tuple|return value", "return value is not variables"),
                    (r"target_index", "no such target"),
                    (r"FPrimalGradient", "operator without a gradient"),
                    # CheckpointCollector meets a match_cast before the number of blocks is looked at
                    (r"\(var_binding\) is false", "match_cast"),
                    (r"not a Relax Function|is not a relax\.Function", "not a Relax function"),
                )
            ),
        ),
    ),
    Contract(
        "LegalizeOps",
        gives=Stage.LEGALIZED,
        costly=True,
        refusals=(
            UNSUPPORTED_DTYPE,
            Refusal(
                "RuntimeError",
                r"Legalization of \w+ op is not supported yet",
                "operator without a legalization",
                "relax/transform/legalize_ops/nn.py raises it on purpose, for attention_var_len",
            ),
        ),
    ),
    Contract("OptimizeLayoutTransform"),
    Contract("ReorderPermuteDimsAfterConcat"),
    Contract("ReorderTakeAfterMatmul", numeric=REASSOCIATION),
    Contract(
        "ToMixedPrecision",
        idempotence=Idempotence.NEVER,
        numeric=NumericPromise.LOSSY,
        notes="each run adds casts",
    ),
    Contract("DispatchSampling", costly=True),
    Contract("DispatchSortScan", costly=True),
)
