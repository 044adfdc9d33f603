"""Contracts of high-level passes that rewrite operators: algebra, layouts, decomposition, precision."""

from __future__ import annotations

from oracles.contract import (
    NEEDS_TARGET,
    UNSUPPORTED_DTYPE,
    Contract,
    Idempotence,
    NumericPromise,
    Refusal,
    Stage,
)

REASSOCIATION = NumericPromise.REASSOCIATION

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
    Contract("DispatchSampling", costly=True, environment=(NEEDS_TARGET,)),
    Contract("DispatchSortScan", costly=True, environment=(NEEDS_TARGET,)),
)
