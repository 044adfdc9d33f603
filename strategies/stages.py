"""Stages of passes, and walks over them: which pass may follow which.

What a pass needs and gives is in its contract (``oracles.contract.Stage``), which this package does not know: here is
the part of it that a walk needs, as names, and a test compares the two.

Nearly every order is legal. A pass on the high-level graph may run after others have legalized or fused: it finds
``call_tir`` where operators were. A pass that needs a later stage than the module has reached is brought there by the
passes of its preparation, which the plan of a subject puts in front of it. What remains is that nothing of an earlier
stage may follow what lowers calls to memory and packed functions, but for passes that work at any stage.

Of the legal orders some are never drawn: those in which a pass meets what its contract says nothing about. Of 1,321
findings of five campaigns that kept one pass when they were minimized 0.9 % were errors of ours, of the 112 that kept
two or more 13 %, and half of these had one of the orders below: a pass whose arguments speak of another module than the
one it gets, or one that meets what lowering leaves in an order that no pipeline of TVM has. Of TVM's defects three were
seen in such an order only: 999744d6d0, 141a9251b3 and a28341f585 (docs/audit.md).
"""

from __future__ import annotations

from collections.abc import Sequence

ANY_STAGE = frozenset(
    {
        "AttachGlobalSymbol",
        "CanonicalizeBindings",
        "DeadCodeElimination",
        "EliminateCommonSubexpr",
        "FoldVDeviceScopeChange",
        "IPCAllReduceRewrite",
        "LambdaLift",
        "LegalizeRedistribute",
        "LowerDistIR",
        "LowerGPUIPCAllocStorage",
        "LowerGlobalViewToLocalView",
        "Normalize",
        "NormalizeGlobalVar",
        "PropagateSharding",
        "RealizeVDevice",
        "RemovePurityChecking",
        "ToNonDataflow",
    }
)
"""Passes that work at any stage."""

NEED_LOWERED = frozenset(
    {
        "ComputePrimValue",
        "KillAfterLastUse",
        "LowerAllocTensor",
        "LowerRuntimeBuiltin",
        "RewriteCUDAGraph",
        "StaticPlanBlockMemory",
        "VMShapeLower",
    }
)
"""Passes that need calls lowered."""

GIVE_LOWERED = NEED_LOWERED | {"CallTIRRewrite"}
"""Passes after which calls are lowered."""

LOWERING = (
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "RewriteCUDAGraph",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
)
"""What lowers, in the order of TVM's own pipelines (``tvm.relax.backend.cuda.pipeline``): a walk never goes back."""

_KILLS = LOWERING.index("KillAfterLastUse")

ON_KILLS = frozenset({"AttachGlobalSymbol", "Normalize", "RemovePurityChecking", "ToNonDataflow"})
"""What may come between passes that lower from the first kill on: others put another name or an equal value for one
that is killed by then, or count a kill as a use."""

IN_PLACE = "DataflowUseInplaceCalls"
"""Behind it a value is right at its moment only, which passes on the graph do not ask: only what lowers may follow."""

FIRST = frozenset({"AlterOpImpl", "BindParams", "UpdateVDevice"})
"""Passes whose arguments name kernels, parameters or devices of the module that was drawn, so that they come first."""

ALONE = frozenset({"UpdateParamType"})
"""Its arguments are types that the caller chose: what follows would be judged on a program that nobody wrote."""

BUILDS = ("build:cpu", "build:default", "build:zero")
"""Whole pipelines, which are tried on their own."""

NOT_BEFORE: tuple[tuple[str, str], ...] = (("RewriteDataflowReshape", "FuseTIR"),)
"""Pairs of which the first must not come before the second: FuseTIR takes no ``R.reshape`` in a fused function."""


def for_lowered(name: str) -> bool:
    """Whether a pass is meant for modules whose calls are lowered already."""
    return name in ANY_STAGE or name in NEED_LOWERED


class Walk:
    """What may come next in a pipeline.

    Args:
        names: Passes to choose from.
        lowered: Whether the module is lowered already.
    """

    def __init__(self, names: Sequence[str], lowered: bool = False) -> None:
        self._names = tuple(names)
        self._lowered = lowered
        self._done: set[str] = set()
        self._rank = 0  # of the last step that lowered

    def legal(self, early: bool) -> tuple[str, ...]:
        """Passes that may come next; where there are some, only those that do not lower (``early``), or only those
        that lower or come after that."""
        legal = [name for name in self._names if self._fits(name)]
        if not self._lowered:
            wanted = [name for name in legal if (name not in GIVE_LOWERED) is early]
            legal = wanted or legal
        return tuple(legal) or self._names

    def step(self, name: str) -> None:
        """A pass was chosen."""
        self._done.add(name)
        self._lowered = self._lowered or name in GIVE_LOWERED
        if name in LOWERING:
            self._rank = max(self._rank, LOWERING.index(name))

    def _fits(self, name: str) -> bool:
        if name in ALONE or (name in FIRST and self._done):
            return False
        if self._lowered and not for_lowered(name):
            return False
        if name in LOWERING:
            return LOWERING.index(name) >= self._rank
        if self._rank >= _KILLS or IN_PLACE in self._done:
            return name in ON_KILLS
        return not any(name == later and first in self._done for first, later in NOT_BEFORE)
