"""Contracts of the stock pipelines, judged as one pass each; a failure is blamed on the pass inside."""

from __future__ import annotations

from dataclasses import replace

from relaxkit.passes.claims import fusion, lowering
from relaxkit.passes.contract import Contract, Idempotence, Kept, Stage, Trait, stated
from relaxkit.passes.contracts.shared import (
    MAY_GIVE_BACK,
    NEEDS_TARGET,
    PARTS_OF_LEVEL_ONE,
    PLANNED_OUTPUTS,
    UNSUPPORTED_DTYPE,
    VAGUE_VIEW,
    WINDOWED_ATTENTION,
)
from relaxkit.passes.pass_ref import PassRef

PIPELINES: dict[str, str] = {
    "build:default": 'relax.get_pipeline("default_build")',
    "build:cpu": 'relax.get_default_pipeline(tvm.target.Target("llvm"))',
    "build:zero": 'relax.get_pipeline("zero")',
}


def pipeline(name: str) -> PassRef:
    """Return the reference to a stock pipeline, ``build:default``, ``build:cpu`` or ``build:zero``."""
    return PassRef(name, PIPELINES[name])


# The stock pipelines contain neither pass, and document neither: hints and local functions would be refused at
# the end (VMShapeLower: "do not work for local functions, make sure to run it after LambdaLift").
_BEFORE = ("RealizeVDevice", "LambdaLift")

_DEFAULT = Contract(
    "build:default",
    limits=(MAY_GIVE_BACK,),
    traits=frozenset({Trait.LOWERS_OPERATORS}),
    postconditions=(*lowering.LOWERED_CLAIMS, *stated(lowering.code_read_back_otherwise)),
    prepare=_BEFORE,
    gives=Stage.LOWERED,
    idempotence=Idempotence.UNKNOWN,
    address_ordered=True,
    costly=True,
    composed=True,
    refusals=(UNSUPPORTED_DTYPE, WINDOWED_ATTENTION, *VAGUE_VIEW),
    changes=frozenset({Kept.KERNELS}),  # AnnotateTIROpPattern, AttachGlobalSymbol
    attributes=(PLANNED_OUTPUTS,),  # StaticPlanBlockMemory
    environment=(NEEDS_TARGET,),
)
ROWS: tuple[Contract, ...] = (
    _DEFAULT,
    replace(_DEFAULT, name="build:cpu", merges_kernels=True, environment=(*PARTS_OF_LEVEL_ONE, NEEDS_TARGET)),
    replace(
        _DEFAULT,
        name="build:zero",
        limits=(),
        postconditions=stated(lowering.legalizable_left_by_pipeline, fusion.groups_left, source=lowering.STAGES),
        prepare=(),
        gives=Stage.FUSED,
        attributes=(),
        address_ordered=False,
        merges_kernels=True,
        environment=PARTS_OF_LEVEL_ONE,
    ),
)
