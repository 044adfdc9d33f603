"""Expressions that build each pass of the contract table, with arguments that suit the modules here."""

from __future__ import annotations

from relaxkit.passes.contracts.pipelines import PIPELINES

_PATTERNS = '[("pyext.exp", is_op("relax.exp")(wildcard())), ("pyext.add", is_op("relax.add")(wildcard(), wildcard()))]'

_LIKE = 'relax.TensorType((2, 3), "float32")'

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "AlterOpImpl": ("{}, {}",),
    "AttachExternModules": ("[]",),
    "AppendLoss": (f'"main", relax.training.loss.L1Loss("sum")({_LIKE}, {_LIKE})',),
    "BindParams": ('"main", {"x": np.ones((2, 3), "float32")}',),
    "BindSymbolicVars": ('{"n": 4}',),
    "BundleModelParams": ("", '"weights"'),
    "CombineParallelMatmul": ("", "lambda *_: False"),
    "ConvertLayout": ('{"relax.nn.conv2d": ["NHWC", "OHWI"]}', '{"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}'),
    "ConvertToDataflow": ("1", "2"),
    "EliminateCommonSubexpr": ("", "call_only=True"),
    "FuseOpsByPattern": (f"{_PATTERNS}", f"{_PATTERNS}, annotate_codegen=True"),
    "Gradient": ('"main"',),
    "IPCAllReduceRewrite": ("1", "2"),
    "LegalizeOps": ("", 'skip_ops=["relax.add"]'),
    "LiftTransformParams": ("", "shared_transform=True"),
    "SplitCallTIRByPattern": ('[], lambda found: ["", 0, []]',),
    "ToMixedPrecision": ("", 'out_dtype="float16"'),
    "TopologicalSort": (
        "",
        '"depth-first", "from-outputs"',
        '"breadth-first", "from-inputs"',
        '"breadth-first", "from-outputs"',
    ),
    "UpdateParamType": ("lambda param: None",),
    "UpdateVDevice": ('relax.VDevice("llvm", 2, "global"), 0',),
}
_EXP = 'is_op("relax.exp")(wildcard()), lambda call, found: call'
_TEXTURE = 'tvm.target.Target("qcom/adreno-opencl-texture")'
_ADRENO = "relax.backend.adreno.transform"
_OTHERS = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR", "DeadCodeElimination")
_CALLS = (
    "for k in f.body.blocks if isinstance(k, relax.DataflowBlock) for b in reversed(k.bindings) "
    "if isinstance(b, relax.VarBinding) and isinstance(b.value, relax.Call)"
)
_EDIT = 'edit := relax.DataflowBlockRewrite(k, f), edit.add(b.value, "again", True), edit.remove_all_unused()'


def _of_functions(name: str, body: str) -> str:
    return f'relax.transform.function_pass(lambda f, mod, _: {body}, opt_level=0, name="{name}")'


def _of_modules(name: str, body: str) -> str:
    return f'tvm.transform.module_pass(lambda mod, _: {body}, opt_level=0, name="{name}")'


WHOLE: dict[str, str] = {
    "AnnotateCustomMemoryScope": "tvm.transform.Sequential([relax.transform.LegalizeOps(), relax.transform."
    f"AnnotateTIROpPattern(), {_ADRENO}.AnnotateCustomMemoryScope({_TEXTURE}), "
    f"{', '.join(f'relax.transform.{each}()' for each in _OTHERS)}, {_ADRENO}.FoldVDeviceScopeChange(), "
    "relax.transform.DeadCodeElimination(), relax.transform.SpecializePrimFuncBasedOnCallSite()])",
    "ApplyEmptyCppMutator": 'tvm.get_global_func("relax.testing.transform.ApplyEmptyCppMutator")()',
    "analysis": _of_functions("analysis", "[relax.analysis.free_vars(f), f][1]"),
    "dataflowblock_pass": "relax.transform.dataflowblock_pass(lambda block, mod, _: relax.DataflowBlock(list("
    'block.bindings)), opt_level=0, name="dataflowblock_pass")',
    "inline_functions": _of_functions("inline_functions", "f.inline_functions({})"),
    "DataflowBlockRewrite": _of_functions(
        "DataflowBlockRewrite", f"next(([{_EDIT}, edit.mutated_root_fn()][-1] {_CALLS}), f)"
    ),
    "MetaScheduleApplyDatabase": _of_modules("MetaScheduleApplyDatabase", "tuned(mod, 4)"),
    "PatternMatchingRewriter": _of_modules(
        "PatternMatchingRewriter", f"relax.dpl.PatternMatchingRewriter.from_pattern({_EXP})(mod)"
    ),
    "rewrite_bindings": "(lambda ctx: [ctx.__enter__(), (lambda a, b: (a >> b, "
    + _of_functions("rewrite_bindings", "relax.dpl.rewrite_bindings(ctx, lambda found, bound: {}, f)")
    + ')[1])(is_op("relax.exp")(varg_default_wildcard=True), is_op("relax.add")(varg_default_wildcard=True)), '
    "ctx.__exit__(None, None, None)][1])(relax.dpl.PatternContext())",
    "rewrite_call": _of_functions("rewrite_call", f"relax.dpl.rewrite_call({_EXP}, f)"),
    "suggest_layout_transforms": _of_modules("suggest_layout_transforms", 'relaid(mod, "rotated")'),
}
"""Passes that users make of functions, as they are drawn."""
ROOMS = {
    "AppendLoss": "relax.training.utils",
    "DispatchSampling": "relax.backend",
    "DispatchSortScan": "relax.backend",
    "FoldVDeviceScopeChange": "relax.backend.adreno.transform",
    "LegalizeRedistribute": "relax.distributed.transform",
    "LowerDistIR": "relax.distributed.transform",
    "LowerGlobalViewToLocalView": "relax.distributed.transform",
    "PropagateSharding": "relax.distributed.transform",
}


def expressions(name: str) -> tuple[str, ...]:
    """Expressions for a pass of the table, at least one."""
    if name in WHOLE:
        return (WHOLE[name],)
    if name in PIPELINES:
        return (PIPELINES[name],)
    room = ROOMS.get(name, "relax.transform")
    return tuple(f"{room}.{name}({arguments})" for arguments in ARGUMENTS.get(name, ("",)))
