"""Stages of passes, and walks over them: which pass may follow which.

What a pass needs and gives is in its contract (``oracles.contract.Stage``), which this package does not know: here is
the part of it that a walk needs, as names, and a test compares the two.

Nearly every order is legal. A pass on the high-level graph may run after others have legalized or fused: it finds
``call_tir`` where operators were. A pass that needs a later stage than the module has reached is brought there by the
passes of its preparation, which the plan of a subject puts in front of it. What remains is that nothing of an earlier
stage may follow what lowers calls to memory and packed functions, but for passes that work at any stage.
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

    def _fits(self, name: str) -> bool:
        if self._lowered and not for_lowered(name):
            return False
        return not any(name == later and first in self._done for first, later in NOT_BEFORE)
