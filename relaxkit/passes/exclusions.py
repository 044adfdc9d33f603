"""Passes, and what looks like one, that have no contract: each with the reason.

A pass that TVM offers (``tests/oracles/installed_passes.py`` looks) is in ``relaxkit.passes.contracts`` or here.  An
exclusion says why nothing can be judged on a CPU, or by which contract it is judged already.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Why(enum.Enum):
    """Kind of reason for which something has no contract."""

    GPU = "needs a GPU"
    TUNING = "tunes kernels"
    WRITES_FILES = "writes files"
    SAME_AS = "tested under another name"
    MADE_OF = "consists of passes with contracts"
    NO_PASS = "is not a pass"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Something that the installed TVM offers and that is not judged under its own name.

    Attributes:
        name: Its name, as ``tests/oracles/installed_passes.py`` has it.
        why: Kind of reason.
        reason: What it does, and why that cannot be judged here.
        source: What establishes that.
        judged_as: Names of the contracts that judge the same code; empty when nothing does.
    """

    name: str
    why: Why
    reason: str
    source: str
    judged_as: tuple[str, ...] = ()


_GPU_BACKENDS = ("adreno", "cuda", "gpu_generic", "rocm")
_LISTS = ("dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "legalize_passes")


def _no_pass(name: str, reason: str) -> Exclusion:
    return Exclusion(name, Why.NO_PASS, reason, "its definition")


def _of_cpu(name: str, *passes: str) -> Exclusion:
    return Exclusion(
        f"cpu_generic.{name}",
        Why.MADE_OF,
        "a list of passes; together, these lists form the pipeline build:cpu",
        "tvm/relax/backend/cpu_generic/pipeline.py",
        ("build:cpu", *passes),
    )


ROWS: tuple[Exclusion, ...] = (
    Exclusion(
        "AppendReshapeToBNRewriterPass",
        Why.GPU,
        "a step of OpenCLMLOffLoad, for a kernel library for Adreno GPUs",
        "tvm/relax/backend/adreno/clml.py",
    ),
    Exclusion(
        "OpenCLMLOffLoad",
        Why.GPU,
        "offloads operators to a kernel library for Adreno GPUs, which the wheel does not contain",
        "tvm/relax/backend/adreno/clml.py",
        ("FuseOpsByPattern", "MergeCompositeFunctions", "RunCodegen"),
    ),
    Exclusion(
        "OpenCLMLOffLoadForLLM",
        Why.GPU,
        "offloads operators to a kernel library for Adreno GPUs, which the wheel does not contain",
        "tvm/relax/backend/adreno/clml.py",
        ("FuseOpsByPattern", "RunCodegen"),
    ),
    Exclusion(
        "annotate_workspace",
        Why.GPU,
        "sets the attribute WorkspaceSize on functions for CUTLASS or cuDNN; AllocateWorkspace, which reads the "
        "attribute, is tested on generated functions that have it",
        "tvm/relax/backend/cuda/cutlass.py, tvm/relax/backend/cuda/cudnn.py",
        ("AllocateWorkspace",),
    ),
    *(
        Exclusion(
            name,
            Why.TUNING,
            "builds and times hundreds of variants of each kernel, which takes minutes, gives a different result each "
            "time, and needs psutil; with a tuner that measures nothing, it runs before MetaScheduleApplyDatabase",
            "its documentation and its imports",
            ("MetaScheduleApplyDatabase",),
        )
        for name in ("MetaScheduleTuneIRMod", "MetaScheduleTuneTIR")
    ),
    Exclusion(
        "pipeline static_shape_tuning",
        Why.WRITES_FILES,
        "writes a database of schedules to a directory of the user, tunes kernels, and applies the schedules; the "
        "passes that it runs before and after that are tested",
        "tvm/relax/pipeline.py",
        ("DecomposeOpsForInference", "CanonicalizeBindings", "build:zero", "AttachAttrLayoutFreeBuffers",
         "SplitLayoutRewritePreproc", "LiftTransformParams", "FoldConstant"),
    ),
    Exclusion(
        "SetupTrainer",
        Why.MADE_OF,
        "needs a module with a function `backbone` and the attributes `param_num` and `state_num`; the passes that "
        "it runs are tested, but not the optimizer function that it adds",
        "tvm/relax/training/setup_trainer.py",
        ("AppendLoss", "DecomposeOpsForInference", "DecomposeOpsForTraining", "Gradient", "LegalizeOps"),
    ),
    Exclusion(
        "VMBuiltinLower", Why.SAME_AS, "the old name of LowerRuntimeBuiltin; warns, and returns the same pass",
        "tvm/relax/transform/transform.py", ("LowerRuntimeBuiltin",),
    ),
    Exclusion(
        "pipeline default", Why.SAME_AS, "the pipeline that relax.build runs for a CPU", "tvm/relax/pipeline.py",
        ("build:default",),
    ),
    Exclusion(
        "pipeline default_build", Why.SAME_AS, "the same function as the pipeline default", "tvm/relax/pipeline.py",
        ("build:default",),
    ),
    Exclusion("pipeline zero", Why.SAME_AS, "legalizes and fuses", "tvm/relax/pipeline.py", ("build:zero",)),
    _of_cpu("get_default_pipeline"),
    _of_cpu("library_dispatch_passes", "DispatchSampling", "DispatchSortScan"),
    _of_cpu("legalize_passes", "LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    _of_cpu(
        "dataflow_lower_passes", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"
    ),
    _of_cpu(
        "finalize_passes", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin",
        "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol",
    ),
    *(
        Exclusion(
            f"{backend}.{name}", Why.GPU, "passes of a GPU backend, with schedules that only a GPU can run",
            f"tvm/relax/backend/{backend}/pipeline.py",
        )
        for backend in _GPU_BACKENDS
        for name in (*_LISTS, "library_dispatch_passes")
    ),
    *(
        Exclusion(name, Why.SAME_AS, f"the rewriter that PatternMatchingRewriter returns for {of}",
                  "tvm/relax/dpl/rewrite.py", ("PatternMatchingRewriter",))
        for name, of in (
            ("ExprPatternRewriter", "a pattern"), ("OrRewriter", "two rewriters"),
            ("TupleRewriter", "a tuple of patterns"),
        )
    ),
    _no_pass("DataflowBlockPass", "base class of the passes that `dataflowblock_pass` makes"),
    _no_pass("FunctionPass", "base class of the passes that `function_pass` makes"),
    _no_pass("FusionPattern", "an argument of FuseOpsByPattern"),
    _no_pass("MakeDataflowBlockPass", "makes a pass from a Python function, for `dataflowblock_pass`"),
    _no_pass("MakeFunctionPass", "makes a pass from a Python function, for `function_pass`"),
    _no_pass("GetPattern", "reads the registry of patterns"),
    _no_pass("GetPatternsWithPrefix", "reads the registry of patterns"),
    _no_pass("RegisterPatterns", "writes to the registry of patterns"),
    _no_pass("RemovePatterns", "removes entries from the registry of patterns"),
    _no_pass("MetaScheduleExtractTask", "lists a module's kernels for tuning"),
)  # fmt: skip

EXCLUDED: dict[str, Exclusion] = {row.name: row for row in ROWS}
"""Name -> why it has no contract of its own."""
