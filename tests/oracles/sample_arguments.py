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
    if name in PIPELINES:
        return (PIPELINES[name],)
    room = ROOMS.get(name, "relax.transform")
    return tuple(f"{room}.{name}({arguments})" for arguments in ARGUMENTS.get(name, ("",)))
