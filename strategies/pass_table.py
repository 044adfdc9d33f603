"""The table of passes: how to draw the source text that constructs each, given what a module has."""

from __future__ import annotations

from collections.abc import Callable

from strategies.choices import Choices
from strategies.composites import EXTERNAL
from strategies.module_facts import Facts, array_text
from strategies.replacements import draw_alteration

Constructor = Callable[[Choices, Facts], str]


def _plain(name: str, where: str = "relax.transform") -> Constructor:
    return lambda choices, facts: f"{where}.{name}()"


def _call(name: str, arguments: str) -> str:
    return f"relax.transform.{name}({arguments})"


def _options(name: str, *arguments: str) -> Constructor:
    """A pass whose arguments are one of a few texts, the simplest first."""
    return lambda choices, facts: _call(name, choices.pick(arguments))


def _bind_params(choices: Choices, facts: Facts) -> str:
    able = [f for f in facts.functions if any(None not in p.dims for p in f.parameters)]
    if not able:
        return _call("BindParams", f'"{facts.names[0]}", {{}}')
    function = choices.pick(able)
    fitting = [p for p in function.parameters if None not in p.dims]
    bound = choices.subset(fitting)
    size = 1 + choices.index(4)
    entries = ", ".join(f'"{p.name}": {array_text(p, size)}' for p in bound)
    return _call("BindParams", f'"{function.name}", {{{entries}}}')


def _bind_symbols(choices: Choices, facts: Facts) -> str:
    able = [f for f in facts.functions if f.symbols]
    if not able:
        return _call("BindSymbolicVars", f'{{}}, "{facts.names[0]}"')
    function = choices.pick(able)
    bound = choices.subset(function.symbols)
    entries = ", ".join(f'"{name}": {1 + choices.index(4)}' for name in bound)
    where = f', "{function.name}"' if len(able) > 1 or choices.index(2) else ""
    return _call("BindSymbolicVars", f"{{{entries}}}{where}")


def _decompose(name: str) -> Constructor:
    def draw(choices: Choices, facts: Facts) -> str:
        return _call(name, f'"{choices.pick(facts.names)}"' if choices.index(2) else "")

    return draw


def _dead_code(choices: Choices, facts: Facts) -> str:
    if not choices.index(2):
        return _call("DeadCodeElimination", "")
    names = ", ".join(f'"{name}"' for name in choices.subset(facts.names))
    return _call("DeadCodeElimination", f"[{names}]")


def _lift(choices: Choices, facts: Facts) -> str:
    weighted = [f.name for f in facts.functions if f.num_input >= 0]
    way = choices.index(4) if weighted else 0
    if way == 2:
        return _call("LiftTransformParams", "shared_transform=True")
    if way == 3:
        names = ", ".join(f'"{name}"' for name in weighted)
        return _call("LiftTransformParams", f"shared_transform=[{names}]")
    return _call("LiftTransformParams", "")


_LAYOUTS = (
    '{"relax.nn.conv2d": ["NHWC", "OHWI"]}',
    '{"relax.nn.conv2d": ["NHWC", "HWIO"]}',
    '{"relax.nn.conv1d": ["NWC", "OWI"], "relax.nn.conv2d": ["NHWC", "OHWI"]}',
    '{"relax.nn.conv3d": ["NDHWC", "ODHWI"], "relax.nn.conv2d": ["NHWC", "OHWI"]}',
    '{"relax.nn.conv2d_transpose": ["NHWC", "IHWO"], "relax.nn.conv2d": ["NHWC", "OHWI"]}',
    '{"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}',
)


def _legalize(choices: Choices, facts: Facts) -> str:
    called = sorted(facts.operators)
    if not called or choices.index(4) < 3:
        return _call("LegalizeOps", "")
    names = ", ".join(f'"{name}"' for name in choices.subset(called[:8]))
    return _call("LegalizeOps", f"skip_ops=[{names}]")


def _mixed(choices: Choices, facts: Facts) -> str:
    out = choices.pick(("float32", "float16"))
    floats = [p.name for f in facts.functions for p in f.parameters if p.dtype == "float32"]
    if floats and choices.index(4) == 3:
        names = ", ".join(f'"{name}"' for name in dict.fromkeys(choices.subset(floats[:6])))
        return _call("ToMixedPrecision", f'out_dtype="{out}", fp16_input_names=[{names}]')
    return _call("ToMixedPrecision", f'out_dtype="{out}"')


def _update_device(choices: Choices, facts: Facts) -> str:
    index = choices.index(max(1, facts.vdevices))
    number = choices.index(2)
    return _call("UpdateVDevice", f'relax.VDevice("llvm", {number}, "global"), {index}')


PATTERNS: tuple[tuple[str, str, str], ...] = (
    ("relax.add", "add", 'is_op("relax.add")(wildcard(), wildcard())'),
    ("relax.multiply", "multiply", 'is_op("relax.multiply")(wildcard(), wildcard())'),
    ("relax.exp", "exp", 'is_op("relax.exp")(wildcard())'),
    ("relax.tanh", "tanh", 'is_op("relax.tanh")(wildcard())'),
    ("relax.abs", "abs", 'is_op("relax.abs")(wildcard())'),
    ("relax.permute_dims", "permute_dims", 'is_op("relax.permute_dims")(wildcard())'),
    ("relax.reshape", "reshape", 'is_op("relax.reshape")(wildcard(), wildcard())'),
    ("relax.maximum", "maximum", 'is_op("relax.maximum")(wildcard(), wildcard())'),
    ("relax.matmul", "matmul", 'is_op("relax.matmul")(wildcard(), wildcard())'),
    ("relax.matmul", "matmul_add",
     'is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())'),
    ("relax.add", "add_multiply", 'is_op("relax.multiply")(is_op("relax.add")(wildcard(), wildcard()), wildcard())'),
    ("relax.nn.conv2d", "conv2d", 'is_op("relax.nn.conv2d")(wildcard(), wildcard())'),
    ("relax.nn.relu", "relu", 'is_op("relax.nn.relu")(wildcard())'),
)  # fmt: skip
"""Operator that a pattern needs, its name behind the backend's, and its text."""


def _fuse_by_pattern(choices: Choices, facts: Facts) -> str:
    fitting = [entry for entry in PATTERNS if entry[0] in facts.operators] or list(PATTERNS[:3])
    # Longer patterns have priority when they come first.
    chosen = choices.subset(fitting[:8])[::-1]
    patterns = ", ".join(f'("{EXTERNAL}.{name}", {text})' for _, name, text in chosen)
    flags = ", ".join(flag for flag in ("bind_constants=False", "annotate_codegen=True") if choices.index(2))
    return _call("FuseOpsByPattern", f"[{patterns}]" + (f", {flags}" if flags else ""))


def _alter(choices: Choices, facts: Facts) -> str:
    if not facts.replaceable:
        return _call("AlterOpImpl", "{}, {}")
    made = [(name, *draw_alteration(choices, name)) for name in choices.subset(facts.replaceable[:4])]
    kernels = ", ".join(f'"{name}": {kernel}' for name, kernel, _ in made)
    layouts = ", ".join(f'"{name}": {layout}' for name, _, layout in made)
    return _call("AlterOpImpl", f"{{{kernels}}}, {{{layouts}}}")


def _run_codegen(choices: Choices, facts: Facts) -> str:
    arguments = []
    if choices.index(3) == 2:
        arguments.append(f'{{"{EXTERNAL}": {{"level": {1 + choices.index(3)}}}}}')
    if choices.index(4) == 3:
        names = ", ".join(f'"{name}"' for name in choices.subset(facts.names))
        arguments.append(f"entry_functions=[{names}]")
    return _call("RunCodegen", ", ".join(arguments))


def _combine(choices: Choices, facts: Facts) -> str:
    return _call("CombineParallelMatmul", choices.pick(("", "", "check=lambda *_: False")))


_UPDATES = (
    "lambda var: None",
    (
        'lambda var: relax.TensorType(var.ty.shape, "float16") if isinstance(var.ty, relax.TensorType)'
        ' and isinstance(var.ty.shape, relax.ShapeExpr) and var.ty.dtype == "float32" else None'
    ),
)

CONSTRUCTORS: dict[str, Constructor] = {
    "AdjustMatmulOrder": _plain("AdjustMatmulOrder"),
    "AllocateWorkspace": _plain("AllocateWorkspace"),
    "AlterOpImpl": _alter,
    "AnnotateTIROpPattern": _plain("AnnotateTIROpPattern"),
    "AttachAttrLayoutFreeBuffers": _plain("AttachAttrLayoutFreeBuffers"),
    "AttachExternModules": _options("AttachExternModules", "[]"),
    "AttachGlobalSymbol": _plain("AttachGlobalSymbol"),
    "BindParams": _bind_params,
    "BindSymbolicVars": _bind_symbols,
    "BundleModelParams": _options("BundleModelParams", "", '"bundled"'),
    "CallTIRRewrite": _plain("CallTIRRewrite"),
    "CanonicalizeBindings": _plain("CanonicalizeBindings"),
    "CombineParallelMatmul": _combine,
    "ComputePrimValue": _plain("ComputePrimValue"),
    "ConvertLayout": _options("ConvertLayout", *_LAYOUTS),
    "ConvertToDataflow": _options("ConvertToDataflow", "", "min_size=1", "min_size=3"),
    "DataflowUseInplaceCalls": _plain("DataflowUseInplaceCalls"),
    "DeadCodeElimination": _dead_code,
    "DecomposeOpsForInference": _decompose("DecomposeOpsForInference"),
    "DecomposeOpsForTraining": _decompose("DecomposeOpsForTraining"),
    "DispatchSampling": _plain("DispatchSampling", "relax.backend"),
    "DispatchSortScan": _plain("DispatchSortScan", "relax.backend"),
    "EliminateCommonSubexpr": _options("EliminateCommonSubexpr", "", "call_only=True"),
    "ExpandMatmulOfSum": _plain("ExpandMatmulOfSum"),
    "ExpandTupleArguments": _plain("ExpandTupleArguments"),
    "FastMathTransform": _plain("FastMathTransform"),
    "FoldBatchnormToConv2D": _plain("FoldBatchnormToConv2D"),
    "FoldConstant": _plain("FoldConstant"),
    "FuseOps": _options("FuseOps", "", "fuse_opt_level=0", "fuse_opt_level=1", "fuse_opt_level=2"),
    "FuseOpsByPattern": _fuse_by_pattern,
    "FuseTIR": _plain("FuseTIR"),
    "FuseTransposeMatmul": _plain("FuseTransposeMatmul"),
    "InlinePrivateFunctions": _plain("InlinePrivateFunctions"),
    "KillAfterLastUse": _plain("KillAfterLastUse"),
    "LambdaLift": _plain("LambdaLift"),
    "LazyGetInput": _plain("LazyGetInput"),
    "LazySetOutput": _plain("LazySetOutput"),
    "LazyTransformParams": _plain("LazyTransformParams"),
    "LegalizeOps": _legalize,
    "LiftTransformParams": _lift,
    "LowerAllocTensor": _plain("LowerAllocTensor"),
    "LowerRuntimeBuiltin": _plain("LowerRuntimeBuiltin"),
    "MergeCompositeFunctions": _plain("MergeCompositeFunctions"),
    "Normalize": _plain("Normalize"),
    "NormalizeGlobalVar": _plain("NormalizeGlobalVar"),
    "OptimizeLayoutTransform": _plain("OptimizeLayoutTransform"),
    "RealizeVDevice": _plain("RealizeVDevice"),
    "RemovePurityChecking": _plain("RemovePurityChecking"),
    "RemoveRedundantReshape": _plain("RemoveRedundantReshape"),
    "RemoveUnusedOutputs": _plain("RemoveUnusedOutputs"),
    "RemoveUnusedParameters": _plain("RemoveUnusedParameters"),
    "ReorderPermuteDimsAfterConcat": _plain("ReorderPermuteDimsAfterConcat"),
    "ReorderTakeAfterMatmul": _plain("ReorderTakeAfterMatmul"),
    "RewriteCUDAGraph": _plain("RewriteCUDAGraph"),
    "RewriteDataflowReshape": _plain("RewriteDataflowReshape"),
    "RunCodegen": _run_codegen,
    "SpecializePrimFuncBasedOnCallSite": _plain("SpecializePrimFuncBasedOnCallSite"),
    "SplitLayoutRewritePreproc": _plain("SplitLayoutRewritePreproc"),
    "StaticPlanBlockMemory": _plain("StaticPlanBlockMemory"),
    "ToMixedPrecision": _mixed,
    "ToNonDataflow": _plain("ToNonDataflow"),
    "TopologicalSort": _options(
        "TopologicalSort",
        'order="depth-first", direction="from-inputs"',
        'order="breadth-first", direction="from-inputs"',
        'order="depth-first", direction="from-outputs"',
        'order="breadth-first", direction="from-outputs"',
    ),
    "UpdateParamType": _options("UpdateParamType", *_UPDATES),
    "UpdateVDevice": _update_device,
    "VMShapeLower": _options("VMShapeLower", "", "emit_err_ctx=False"),
    "build:cpu": lambda choices, facts: 'relax.get_default_pipeline(tvm.target.Target("llvm"))',
    "build:default": lambda choices, facts: 'relax.get_pipeline("default")',
    "build:zero": lambda choices, facts: 'relax.get_pipeline("zero")',
}
"""Name of a pass -> how to draw the text that constructs it."""
