"""The pipelines that TVM ships, as lists of passes: which passes a default pipeline runs, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

_DISPATCH = ("DispatchSampling", "DispatchSortScan")
_FUSE = ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR")
_DATAFLOW = ("RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite")
_FINAL = ("LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower",
          "AttachGlobalSymbol")  # fmt: skip
_PLAN = ("StaticPlanBlockMemory", "RewriteCUDAGraph")
_ADRENO = ("DecomposeOpsForInference", "ConvertLayout", "Normalize", "FoldConstant", "LegalizeOps",
           "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", "DeadCodeElimination",
           "SpecializePrimFuncBasedOnCallSite", "Normalize")  # fmt: skip
_TUNE = ("DecomposeOpsForInference", "CanonicalizeBindings", *_FUSE, "AttachAttrLayoutFreeBuffers",
         "SplitLayoutRewritePreproc", "LiftTransformParams", "FoldConstant")  # fmt: skip

DEFAULT: dict[str, tuple[str, ...]] = {
    # python/tvm/relax/pipeline.py: default_build_pipeline
    "default_build": (*_DISPATCH, "LegalizeOps", *_DATAFLOW, *_PLAN, *_FINAL),
    # python/tvm/relax/backend/{cpu,gpu}_generic, cuda, rocm: get_default_pipeline
    "target": (*_DISPATCH, *_FUSE, *_DATAFLOW, *_PLAN, *_FINAL),
    # python/tvm/relax/pipeline.py: zero_pipeline
    "zero": _FUSE,
}
"""What is run where nobody asks for anything else."""
SHIPPED: dict[str, tuple[str, ...]] = {
    **DEFAULT,
    # python/tvm/relax/backend/adreno/pipeline.py
    "adreno": (*_ADRENO, *_DATAFLOW, *_PLAN, *_FINAL),
    # python/tvm/relax/pipeline.py: static_shape_tuning_pipeline
    "static_shape_tuning": (*_TUNE, *_DISPATCH, *_DATAFLOW, *_PLAN, *_FINAL),
}
"""All pipelines that run these passes in an order of their own."""


def in_default_pipeline(name: str) -> bool:
    """Say whether a default pipeline runs a pass, or is it."""
    return name.startswith("build:") or any(name in passes for passes in DEFAULT.values())


def in_shipped_order(names: Sequence[str]) -> bool:
    """Say whether a shipped pipeline runs these passes in this order, others between them or not."""
    return any(_within(names, passes) for passes in SHIPPED.values())


def _within(names: Sequence[str], passes: Sequence[str]) -> bool:
    left = iter(passes)
    return all(name in left for name in names)
