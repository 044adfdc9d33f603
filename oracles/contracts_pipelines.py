"""Contracts of the stock pipelines, judged as one pass each; a failure is blamed on the pass inside."""

from __future__ import annotations

from oracles.contract import (
    NEEDS_TARGET,
    PARTS_OF_LEVEL_ONE,
    UNSUPPORTED_DTYPE,
    WINDOWED_ATTENTION,
    Contract,
    Idempotence,
    Kept,
    Stage,
)
from oracles.passref import PassRef
from oracles.postconditions.pipelines import PIPELINE_CLAIMS

PIPELINES: dict[str, str] = {
    "build:default": 'relax.get_pipeline("default_build")',
    "build:cpu": 'relax.get_default_pipeline(tvm.target.Target("llvm"))',
    "build:zero": 'relax.get_pipeline("zero")',
}


def pipeline(name: str) -> PassRef:
    """Reference to a stock pipeline, ``build:default``, ``build:cpu`` or ``build:zero``."""
    return PassRef(name, PIPELINES[name])


# The stock pipelines contain neither pass, and document neither: hints and local functions would be refused at
# the end (VMShapeLower: "do not work for local functions, make sure to run it after LambdaLift").
_BEFORE = ("RealizeVDevice", "LambdaLift")

ROWS: tuple[Contract, ...] = (
    Contract(
        "build:default",
        postconditions=PIPELINE_CLAIMS["build:default"],
        prepare=_BEFORE,
        gives=Stage.LOWERED,
        idempotence=Idempotence.UNKNOWN,
        address_ordered=True,
        costly=True,
        composed=True,
        refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION),
        changes=frozenset({Kept.KERNELS}),  # AnnotateTIROpPattern, AttachGlobalSymbol
        environment=(NEEDS_TARGET,),
    ),
    Contract(
        "build:cpu",
        postconditions=PIPELINE_CLAIMS["build:cpu"],
        merges_kernels=True,
        prepare=_BEFORE,
        gives=Stage.LOWERED,
        idempotence=Idempotence.UNKNOWN,
        address_ordered=True,
        costly=True,
        composed=True,
        refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION),
        changes=frozenset({Kept.KERNELS}),  # AnnotateTIROpPattern, AttachGlobalSymbol
        environment=(*PARTS_OF_LEVEL_ONE, NEEDS_TARGET),
    ),
    Contract(
        "build:zero",
        postconditions=PIPELINE_CLAIMS["build:zero"],
        merges_kernels=True,
        gives=Stage.FUSED,
        idempotence=Idempotence.UNKNOWN,
        costly=True,
        composed=True,
        refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION),
        changes=frozenset({Kept.KERNELS}),  # AnnotateTIROpPattern, AttachGlobalSymbol
        environment=PARTS_OF_LEVEL_ONE,
    ),
)
