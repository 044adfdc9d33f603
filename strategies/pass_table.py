"""The table of passes: how to draw the source text that constructs each, given what a module has."""

from __future__ import annotations

from releases.gaps import lacking_passes
from strategies.gradient import draw_gradient
from strategies.pass_arguments.binding import (
    append_loss,
    bind_params,
    bind_symbols,
    dead_code,
    lazy_transform,
    lift,
    mixed_precision,
    one_function,
    update_device,
    update_types,
)
from strategies.pass_arguments.configured import bounded_fusion, consuming_lift, cuda_graph
from strategies.pass_arguments.kernels import alter, run_codegen, split
from strategies.pass_arguments.layouts import convert_layout
from strategies.pass_arguments.legalizing import legalize
from strategies.pass_arguments.names import Constructor, options, plain
from strategies.pass_arguments.patterns import fuse_by_pattern

_BACKEND = "relax.backend"
_DISTRIBUTED = "relax.distributed.transform"

CONSTRUCTORS: dict[str, Constructor] = {
    "AdjustMatmulOrder": plain("AdjustMatmulOrder"),
    "AllocateWorkspace": plain("AllocateWorkspace"),
    "AlterOpImpl": alter,
    "AnnotateTIROpPattern": plain("AnnotateTIROpPattern"),
    "AppendLoss": append_loss,
    "AttachAttrLayoutFreeBuffers": plain("AttachAttrLayoutFreeBuffers"),
    "AttachExternModules": options("AttachExternModules", "[]"),
    "AttachGlobalSymbol": plain("AttachGlobalSymbol"),
    "BindParams": bind_params,
    "BindSymbolicVars": bind_symbols,
    "BundleModelParams": options("BundleModelParams", "", '"bundled"'),
    "CallTIRRewrite": plain("CallTIRRewrite"),
    "CanonicalizeBindings": plain("CanonicalizeBindings"),
    "CombineParallelMatmul": options(
        "CombineParallelMatmul",
        "",
        "check=lambda lhs, rhs, bias, bindings: len(rhs) == 2",
        "check=lambda lhs, rhs, bias, bindings: not bias",
        "check=lambda *_: False",
    ),
    "ComputePrimValue": plain("ComputePrimValue"),
    "ConvertLayout": convert_layout,
    "ConvertToDataflow": options("ConvertToDataflow", "", "min_size=1", "min_size=3", "min_size=5"),
    "DataflowUseInplaceCalls": plain("DataflowUseInplaceCalls"),
    "DeadCodeElimination": dead_code,
    "DecomposeOpsForInference": one_function("DecomposeOpsForInference"),
    "DecomposeOpsForTraining": one_function("DecomposeOpsForTraining"),
    "DispatchSampling": plain("DispatchSampling", _BACKEND),
    "DispatchSortScan": plain("DispatchSortScan", _BACKEND),
    "EliminateCommonSubexpr": options("EliminateCommonSubexpr", "", "call_only=True"),
    "ExpandMatmulOfSum": plain("ExpandMatmulOfSum"),
    "ExpandTupleArguments": plain("ExpandTupleArguments"),
    "FastMathTransform": plain("FastMathTransform"),
    "FoldBatchnormToConv2D": plain("FoldBatchnormToConv2D"),
    "FoldConstant": plain("FoldConstant"),
    "FoldVDeviceScopeChange": plain("FoldVDeviceScopeChange", "relax.backend.adreno.transform"),
    "FuseOps": bounded_fusion(options("FuseOps", "", *(f"fuse_opt_level={level}" for level in range(5)))),
    "FuseOpsByPattern": fuse_by_pattern,
    "FuseTIR": plain("FuseTIR"),
    "FuseTransposeMatmul": plain("FuseTransposeMatmul"),
    "Gradient": lambda choices, facts: draw_gradient(choices, facts.losses, facts.names),
    "IPCAllReduceRewrite": options("IPCAllReduceRewrite", "1", "2"),
    "InlinePrivateFunctions": plain("InlinePrivateFunctions"),
    "KillAfterLastUse": plain("KillAfterLastUse"),
    "LambdaLift": plain("LambdaLift"),
    "LazyGetInput": plain("LazyGetInput"),
    "LazySetOutput": plain("LazySetOutput"),
    "LazyTransformParams": lazy_transform,
    "LegalizeOps": legalize,
    "LegalizeRedistribute": plain("LegalizeRedistribute", _DISTRIBUTED),
    "LiftTransformParams": consuming_lift(lift),
    "LowerAllocTensor": plain("LowerAllocTensor"),
    "LowerDistIR": plain("LowerDistIR", _DISTRIBUTED),
    "LowerGPUIPCAllocStorage": plain("LowerGPUIPCAllocStorage"),
    "LowerGlobalViewToLocalView": plain("LowerGlobalViewToLocalView", _DISTRIBUTED),
    "LowerRuntimeBuiltin": plain("LowerRuntimeBuiltin"),
    "MergeCompositeFunctions": plain("MergeCompositeFunctions"),
    "Normalize": plain("Normalize"),
    "NormalizeGlobalVar": plain("NormalizeGlobalVar"),
    "OptimizeLayoutTransform": plain("OptimizeLayoutTransform"),
    "PropagateSharding": plain("PropagateSharding", _DISTRIBUTED),
    "RealizeVDevice": plain("RealizeVDevice"),
    "RemovePurityChecking": plain("RemovePurityChecking"),
    "RemoveRedundantReshape": plain("RemoveRedundantReshape"),
    "RemoveUnusedOutputs": plain("RemoveUnusedOutputs"),
    "RemoveUnusedParameters": plain("RemoveUnusedParameters"),
    "ReorderPermuteDimsAfterConcat": plain("ReorderPermuteDimsAfterConcat"),
    "ReorderTakeAfterMatmul": plain("ReorderTakeAfterMatmul"),
    "RewriteCUDAGraph": cuda_graph,
    "RewriteDataflowReshape": plain("RewriteDataflowReshape"),
    "RunCodegen": run_codegen,
    "SpecializePrimFuncBasedOnCallSite": plain("SpecializePrimFuncBasedOnCallSite"),
    "SplitCallTIRByPattern": split,
    "SplitLayoutRewritePreproc": plain("SplitLayoutRewritePreproc"),
    "StaticPlanBlockMemory": plain("StaticPlanBlockMemory"),
    "ToMixedPrecision": mixed_precision,
    "ToNonDataflow": plain("ToNonDataflow"),
    "TopologicalSort": options(
        "TopologicalSort",
        'order="depth-first", direction="from-inputs"',
        'order="breadth-first", direction="from-inputs"',
        'order="depth-first", direction="from-outputs"',
        'order="breadth-first", direction="from-outputs"',
    ),
    "UpdateParamType": update_types,
    "UpdateVDevice": update_device,
    "VMShapeLower": options("VMShapeLower", "", "emit_err_ctx=False"),
    "build:cpu": lambda choices, facts: 'relax.get_default_pipeline(tvm.target.Target("llvm"))',
    "build:default": lambda choices, facts: 'relax.get_pipeline("default")',
    "build:zero": lambda choices, facts: 'relax.get_pipeline("zero")',
}
"""Name of a pass -> how to draw the text that constructs it."""

LACKING: dict[str, str] = lacking_passes(CONSTRUCTORS)
"""Passes of the table that the installed TVM does not have, each with the reason; none with the newest release."""
for _name in LACKING:
    del CONSTRUCTORS[_name]
