"""How well a pass and a module go together: whether the pass is meant for it, and whether it finds something to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from strategies.idioms.idiom import SUFFIX
from strategies.idioms.table import passes_for
from strategies.module_facts import Facts

NEVER = 0
"""The pass is not meant for such a module, or cannot do anything with it."""
UNLIKELY = 1
"""Nothing of what the pass looks for is there. Some such modules are tried all the same: they must stay as they are."""
IDLE = 4
"""The pass finds nothing in any module that is drawn: what is judged is that it leaves modules as they are."""
LIKELY = 12
"""What the pass looks for is there, or it always finds something."""
NEAR = 18
"""A near miss of an idiom for the pass was planted."""
AIMED = 36
"""An idiom for the pass was planted."""

_CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose")
_SORTS = ("sort", "argsort", "topk", "cumsum", "cumprod")
_RESHAPES = ("reshape", "expand_dims", "squeeze", "flatten", "nn.batch_flatten")

Ask = Callable[[Facts], bool]


def _any(*names: str) -> Ask:
    return lambda facts: any(facts.called(name) for name in names)


def _all(**least: int) -> Ask:
    wanted = {name.replace("__", "."): count for name, count in least.items()}
    return lambda facts: all(facts.called(name) >= count for name, count in wanted.items())


def _weighted(facts: Facts) -> bool:
    return any(f.num_input >= 0 for f in facts.functions)


def _transforms(facts: Facts) -> bool:
    return any(f.name.endswith("transform_params") for f in facts.functions)


MEANT_FOR: Mapping[str, Ask] = {
    "BindParams": lambda facts: any(None not in p.dims for f in facts.functions for p in f.parameters),
    "BindSymbolicVars": lambda facts: any(f.symbols for f in facts.functions),
    "BundleModelParams": _weighted,
    "LiftTransformParams": _weighted,
    "LazyTransformParams": lambda facts: _weighted(facts) or _transforms(facts),
    "UpdateVDevice": lambda facts: facts.vdevices > 0,
    "MergeCompositeFunctions": lambda facts: "main" in facts.names,
    "InlinePrivateFunctions": lambda facts: facts.relax_functions > 1,
    "ExpandTupleArguments": lambda facts: facts.relax_functions > 1,
    "RemoveUnusedParameters": lambda facts: facts.relax_functions > 1,
    "RemoveUnusedOutputs": lambda facts: facts.relax_functions > 1,
    "AllocateWorkspace": lambda facts: facts.workspace,
    "RunCodegen": lambda facts: facts.external,
    "AlterOpImpl": lambda facts: bool(facts.replaceable),
    "Gradient": lambda facts: bool(facts.losses),
}
"""What a pass needs to change anything or to accept the module at all; any module where nothing is said."""

SELDOM_MEANT = frozenset({"AlterOpImpl"})
"""Passes that no idiom is planted for and few modules suit: those are theirs."""

IDLES = frozenset(
    {
        "AttachExternModules",
        "IPCAllReduceRewrite",
        "LegalizeRedistribute",
        "LowerDistIR",
        "LowerGPUIPCAllocStorage",
        "LowerGlobalViewToLocalView",
        "PropagateSharding",
        "SplitCallTIRByPattern",
    }
)
"""Passes for which no module is drawn that they have something to do on: nothing to attach, machines that are not
there."""

FINDS: Mapping[str, Ask] = {
    "AdjustMatmulOrder": _all(matmul=2),
    "CombineParallelMatmul": lambda facts: facts.shared_left,
    "ExpandMatmulOfSum": _all(matmul=1, add=1),
    "FuseTransposeMatmul": _all(matmul=1, permute_dims=1),
    "ReorderTakeAfterMatmul": _all(matmul=1, take=1),
    "ReorderPermuteDimsAfterConcat": _all(concat=1, permute_dims=2),
    "RemoveRedundantReshape": _any("reshape"),
    "OptimizeLayoutTransform": _all(layout_transform=2),
    "FoldBatchnormToConv2D": _all(nn__conv2d=1, nn__batch_norm=1),
    "DecomposeOpsForInference": _any("nn.batch_norm", "tensor_to_shape"),
    "DecomposeOpsForTraining": _any("nn.batch_norm", "nn.layer_norm"),
    "ConvertLayout": _any(*_CONVOLUTIONS),
    "ToMixedPrecision": _any("matmul", *_CONVOLUTIONS),
    "FastMathTransform": _any("exp", "tanh", "erf", "nn.softmax"),
    "DispatchSortScan": _any(*_SORTS),
    "DispatchSampling": _any("multinomial_from_uniform"),
    "RewriteDataflowReshape": _any(*_RESHAPES),
    "EliminateCommonSubexpr": lambda facts: facts.repeated,
    "RealizeVDevice": _any("hint_on_device", "to_vdevice"),
    "LambdaLift": lambda facts: facts.local_functions,
    "MergeCompositeFunctions": lambda facts: facts.composites,
    "ComputePrimValue": lambda facts: facts.prims,
    "FoldConstant": lambda facts: facts.constants,
    "RemoveUnusedParameters": lambda facts: facts.function_calls,
    "InlinePrivateFunctions": lambda facts: facts.function_calls,
    "ExpandTupleArguments": lambda facts: facts.function_calls,
    "RemoveUnusedOutputs": lambda facts: facts.function_calls,
    "Gradient": lambda facts: any(loss.differentiable for loss in facts.losses),
    "AppendLoss": lambda facts: any(f.outputs and "float" in f.outputs[0].dtype for f in facts.functions),
    "FoldVDeviceScopeChange": lambda facts: facts.vdevices > 0,
    "FuseOpsByPattern": lambda facts: bool(facts.chains),
}
"""What a pass looks for; a pass that is not named finds something in most modules."""


RAISES: Mapping[str, Ask] = {
    "FastMathTransform": lambda facts: facts.function_calls,
    "MergeCompositeFunctions": lambda facts: not facts.simple or facts.relax_functions > 1,
    "CombineParallelMatmul": lambda facts: facts.constant_left,
}
"""Where a pass of TVM 0.27 raises whatever else is in the module, by defects that are known (``docs/bugs.md``): a few
such modules keep an eye on them, many would leave nothing for what the pass does otherwise.  FastMathTransform asks the
callee of each call for its ``name``; MergeCompositeFunctions knows neither ``If`` nor ``match_cast`` nor a second
function; CombineParallelMatmul takes every left side for a variable."""


def fitness(name: str, facts: Facts) -> int:
    """How often a pass should be tried on a module, next to others; :data:`NEVER` where it cannot do anything."""
    meant = MEANT_FOR.get(name)
    if meant is not None and not meant(facts):
        return NEVER
    raises = RAISES.get(name)
    if raises is not None and raises(facts):
        return UNLIKELY
    for planted in facts.idioms:
        if name in passes_for(planted):
            return NEAR if SUFFIX in planted else AIMED
    if name in IDLES:
        return IDLE
    if name in SELDOM_MEANT:
        return NEAR
    finds = FINDS.get(name)
    return LIKELY if finds is None or finds(facts) else UNLIKELY
