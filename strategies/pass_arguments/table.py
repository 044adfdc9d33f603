"""The table of passes: how each is drawn, for which modules, and how often."""

from __future__ import annotations

from relaxkit.compat.known import lacking_passes
from strategies.detect.module_facts import Facts
from strategies.idioms.idiom import SUFFIX
from strategies.idioms.planting import passes_for
from strategies.pass_arguments.analyses import ask, in_blocks, inline, mutate
from strategies.pass_arguments.binding import (
    append_loss,
    bind_params,
    bind_symbols,
    dead_code,
    gradient,
    lazy_transform,
    lift,
    mixed_precision,
    one_function,
    update_device,
    update_types,
)
from strategies.pass_arguments.lowering import (
    alter,
    attach_symbol,
    bounded_fusion,
    convert_layout,
    cuda_graph,
    legalize,
    relay,
    run_codegen,
    split,
    textures,
    tune,
)
from strategies.pass_arguments.patterns import fuse_by_pattern
from strategies.pass_arguments.rewriters import bindings, calls, edits, rewriter, rewrites_something
from strategies.pass_arguments.row import AIMED, NEAR, NEVER, UNLIKELY, PassRow, calls_all, calls_any

_CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose")
_SORTS = ("sort", "argsort", "topk", "cumsum", "cumprod")
_RESHAPES = ("reshape", "expand_dims", "squeeze", "flatten", "nn.batch_flatten")


def _weighted(facts: Facts) -> bool:
    return any(f.num_input >= 0 for f in facts.functions)


def _transforms(facts: Facts) -> bool:
    return any(f.name.endswith("transform_params") for f in facts.functions)


def _several_functions(facts: Facts) -> bool:
    return facts.relax_functions > 1


def _spread(facts: Facts) -> bool:
    return facts.meshes > 0


def _function_calls(facts: Facts) -> bool:
    return facts.function_calls


ROWS: tuple[PassRow, ...] = (
    PassRow("AdjustMatmulOrder", weight=58, aimed_weight=5, finds=calls_all(matmul=2)),
    PassRow("AllocateWorkspace", weight=5000, aimed_weight=50, meant_for=lambda facts: facts.workspace),
    PassRow("AlterOpImpl", alter, weight=4500, meant_for=lambda facts: bool(facts.replaceable), fitness=NEAR),
    PassRow(
        "AnnotateCustomMemoryScope",
        textures,
        weight=1700,
        finds=calls_any("nn.conv2d", "nn.max_pool2d", "nn.adaptive_avg_pool2d", "layout_transform"),
        raises=lambda facts: facts.function_calls or facts.local_functions,
    ),
    PassRow("AnnotateTIROpPattern", weight=70),
    PassRow(
        "AppendLoss",
        append_loss,
        weight=36,
        finds=lambda facts: any(f.outputs and "float" in f.outputs[0].dtype for f in facts.functions),
    ),
    PassRow("AttachAttrLayoutFreeBuffers", weight=69),
    PassRow("AttachExternModules", texts=("[]",), weight=10),
    PassRow("AttachGlobalSymbol", attach_symbol, weight=9),
    PassRow(
        "BindParams",
        bind_params,
        weight=10,
        meant_for=lambda facts: any(None not in p.dims for f in facts.functions for p in f.parameters),
    ),
    PassRow(
        "BindSymbolicVars", bind_symbols, weight=45, meant_for=lambda facts: any(f.symbols for f in facts.functions)
    ),
    PassRow("BundleModelParams", texts=("", '"bundled"'), weight=58, meant_for=_weighted),
    PassRow("CallTIRRewrite", weight=95),
    PassRow("CanonicalizeBindings", weight=8, aimed_weight=2),
    PassRow(
        "CombineParallelMatmul",
        texts=(
            "",
            "check=lambda lhs, rhs, bias, bindings: len(rhs) == 2",
            "check=lambda lhs, rhs, bias, bindings: not bias",
            "check=lambda *_: False",
        ),
        weight=94,
        aimed_weight=8,
        finds=lambda facts: facts.shared_left,
        raises=lambda facts: facts.constant_left,
    ),
    PassRow("ComputePrimValue", weight=775, aimed_weight=12, finds=lambda facts: facts.prims),
    PassRow("ConvertLayout", convert_layout, weight=47, aimed_weight=6, finds=calls_any(*_CONVOLUTIONS)),
    PassRow("ConvertToDataflow", texts=("", "min_size=1", "min_size=3", "min_size=5"), weight=7, aimed_weight=2),
    PassRow("DataflowUseInplaceCalls", weight=11, aimed_weight=2),
    PassRow("DeadCodeElimination", dead_code, weight=8, aimed_weight=2),
    PassRow(
        "DecomposeOpsForInference",
        one_function("DecomposeOpsForInference"),
        weight=60,
        finds=calls_any("nn.batch_norm", "tensor_to_shape"),
    ),
    PassRow(
        "DecomposeOpsForTraining",
        one_function("DecomposeOpsForTraining"),
        weight=76,
        aimed_weight=8,
        finds=calls_any("nn.batch_norm", "nn.layer_norm"),
    ),
    PassRow("DispatchSampling", weight=80, aimed_weight=10, finds=calls_any("multinomial_from_uniform")),
    PassRow("DispatchSortScan", weight=70, aimed_weight=5, finds=calls_any(*_SORTS)),
    PassRow(
        "EliminateCommonSubexpr",
        texts=("", "call_only=True"),
        weight=41,
        aimed_weight=5,
        finds=lambda facts: facts.repeated,
    ),
    PassRow("ExpandMatmulOfSum", weight=53, aimed_weight=8, finds=calls_all(matmul=1, add=1)),
    PassRow("ExpandTupleArguments", weight=21, aimed_weight=3, meant_for=_several_functions, finds=_function_calls),
    PassRow(
        "FastMathTransform",
        weight=224,
        aimed_weight=18,
        finds=calls_any("exp", "tanh", "erf", "nn.softmax"),
        raises=_function_calls,
    ),
    PassRow("FoldBatchnormToConv2D", weight=74, aimed_weight=5, finds=calls_all(nn__conv2d=1, nn__batch_norm=1)),
    PassRow("FoldConstant", weight=8, aimed_weight=2, finds=lambda facts: facts.constants),
    PassRow("FoldVDeviceScopeChange", weight=35, finds=lambda facts: facts.vdevices > 0),
    PassRow("FuseOps", bounded_fusion, weight=83),
    PassRow("FuseOpsByPattern", fuse_by_pattern, weight=13, aimed_weight=2, finds=lambda facts: bool(facts.chains)),
    PassRow("FuseTIR", weight=89),
    PassRow("FuseTransposeMatmul", weight=53, aimed_weight=5, finds=calls_all(matmul=1, permute_dims=1)),
    PassRow(
        "Gradient",
        gradient,
        weight=1560,
        aimed_weight=70,
        meant_for=lambda facts: bool(facts.losses),
        finds=lambda facts: any(loss.differentiable for loss in facts.losses),
    ),
    PassRow("IPCAllReduceRewrite", texts=("1", "2"), weight=280, finds=calls_any("ccl.allreduce")),
    PassRow("InlinePrivateFunctions", weight=23, aimed_weight=2, meant_for=_several_functions, finds=_function_calls),
    PassRow("KillAfterLastUse", weight=79, aimed_weight=3),
    PassRow("LambdaLift", weight=20, aimed_weight=2, finds=lambda facts: facts.local_functions),
    PassRow("LazyGetInput", weight=14),
    PassRow("LazySetOutput", weight=11),
    PassRow(
        "LazyTransformParams",
        lazy_transform,
        weight=148,
        aimed_weight=6,
        meant_for=lambda facts: _weighted(facts) or _transforms(facts),
    ),
    PassRow("LegalizeOps", legalize, weight=105),
    PassRow("LegalizeRedistribute", weight=44, aimed_weight=8, finds=_spread),
    PassRow(
        "LiftTransformParams",
        lift,
        weight=94,
        aimed_weight=6,
        meant_for=lambda facts: _weighted(facts) and not _transforms(facts),
    ),
    PassRow("LowerAllocTensor", weight=103),
    PassRow("LowerDistIR", weight=115, aimed_weight=4, finds=_spread),
    PassRow("LowerGPUIPCAllocStorage", weight=9),
    PassRow("LowerGlobalViewToLocalView", weight=230, aimed_weight=4, finds=_spread),
    PassRow("LowerRuntimeBuiltin", weight=112),
    PassRow(
        "MergeCompositeFunctions",
        weight=951,
        aimed_weight=25,
        meant_for=lambda facts: "main" in facts.names,
        finds=lambda facts: facts.composites,
        raises=lambda facts: not facts.simple or facts.relax_functions > 1,
    ),
    PassRow("Normalize", weight=5, aimed_weight=2),
    PassRow("NormalizeGlobalVar", weight=8, aimed_weight=2),
    PassRow("OptimizeLayoutTransform", weight=86, aimed_weight=9, finds=calls_all(layout_transform=2)),
    PassRow("PropagateSharding", weight=60, aimed_weight=14, finds=_spread),
    PassRow("RealizeVDevice", weight=43, aimed_weight=6, finds=calls_any("hint_on_device", "to_vdevice")),
    PassRow("RemovePurityChecking", weight=9),
    PassRow("RemoveRedundantReshape", weight=50, aimed_weight=6, finds=calls_any("reshape")),
    PassRow("RemoveUnusedOutputs", weight=20, aimed_weight=3, meant_for=_several_functions, finds=_function_calls),
    PassRow("RemoveUnusedParameters", weight=24, aimed_weight=2, meant_for=_several_functions, finds=_function_calls),
    PassRow("ReorderPermuteDimsAfterConcat", weight=95, aimed_weight=7, finds=calls_all(concat=1, permute_dims=2)),
    PassRow("ReorderTakeAfterMatmul", weight=84, aimed_weight=7, finds=calls_all(matmul=1, take=1)),
    PassRow("RewriteCUDAGraph", cuda_graph, weight=158),
    PassRow("RewriteDataflowReshape", weight=397, aimed_weight=13, finds=calls_any(*_RESHAPES)),
    PassRow("RunCodegen", run_codegen, weight=1720, aimed_weight=39, meant_for=lambda facts: facts.external),
    PassRow("SpecializePrimFuncBasedOnCallSite", weight=89, aimed_weight=3),
    PassRow("SplitCallTIRByPattern", split, weight=1600, finds=lambda facts: "matched_kernel" in facts.idioms),
    PassRow("SplitLayoutRewritePreproc", weight=144),
    PassRow("StaticPlanBlockMemory", weight=95, aimed_weight=7),
    PassRow("ToMixedPrecision", mixed_precision, weight=38, aimed_weight=3, finds=calls_any("matmul", *_CONVOLUTIONS)),
    PassRow("ToNonDataflow", weight=8),
    PassRow(
        "TopologicalSort",
        texts=(
            'order="depth-first", direction="from-inputs"',
            'order="breadth-first", direction="from-inputs"',
            'order="depth-first", direction="from-outputs"',
            'order="breadth-first", direction="from-outputs"',
        ),
        weight=10,
        aimed_weight=2,
    ),
    PassRow("UpdateParamType", update_types, weight=51),
    PassRow("UpdateVDevice", update_device, weight=143, aimed_weight=6, meant_for=lambda facts: facts.vdevices > 0),
    PassRow("VMShapeLower", texts=("", "emit_err_ctx=False"), weight=107),
    PassRow("ApplyEmptyCppMutator", mutate, weight=5),
    PassRow("analysis", ask, weight=11),
    PassRow("dataflowblock_pass", in_blocks, weight=11),
    PassRow("inline_functions", inline, weight=23, meant_for=_several_functions, finds=_function_calls),
    PassRow("DataflowBlockRewrite", edits, weight=11),
    PassRow("PatternMatchingRewriter", rewriter, weight=19, finds=rewrites_something),
    PassRow("rewrite_bindings", bindings, weight=18, finds=lambda facts: bool(facts.chains)),
    PassRow("rewrite_call", calls, weight=26, finds=rewrites_something),
    PassRow("MetaScheduleApplyDatabase", tune, weight=65),
    PassRow("suggest_layout_transforms", relay, weight=100),
    PassRow("build:cpu", lambda choices, facts: 'relax.get_default_pipeline(tvm.target.Target("llvm"))', weight=62),
    PassRow("build:default", lambda choices, facts: 'relax.get_pipeline("default")', weight=56),
    PassRow("build:zero", lambda choices, facts: 'relax.get_pipeline("zero")', weight=47),
)

LACKING: dict[str, str] = lacking_passes(row.name for row in ROWS)
"""Passes of the table that the installed TVM does not have, each with the reason; none with the newest release."""

PASS_ROWS: dict[str, PassRow] = {row.name: row for row in ROWS if row.name not in LACKING}
"""The rows of the passes that the installed TVM has, by name."""


def fitness(name: str, facts: Facts) -> int:
    """Return how often a pass should be tried on a module, next to others; ``NEVER`` where it cannot do anything."""
    row = PASS_ROWS[name]
    if row.meant_for is not None and not row.meant_for(facts):
        return NEVER
    if row.raises is not None and row.raises(facts):
        return UNLIKELY
    for planted in facts.idioms:
        if name in passes_for(planted):
            return NEAR if SUFFIX in planted else AIMED
    return row.fitness if row.finds is None or row.finds(facts) else UNLIKELY


def aimed_weights() -> dict[str, int]:
    """Return how often an idiom is planted for each pass."""
    return {row.name: row.aimed_weight for row in ROWS}
