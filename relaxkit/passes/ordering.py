"""Walks over passes: which pass may follow which in a drawn pipeline, by the contracts of both.

Nearly every order is legal. A pass on the high-level graph may run after others have legalized or fused: it finds
``call_tir`` where operators were. A pass that needs a later stage than the module has reached is brought there by the
passes of its preparation, which the plan of a subject puts in front of it. What remains is that nothing of an earlier
stage may follow what lowers calls to memory and packed functions, but for passes that work at any stage.

Of the legal orders some are never drawn: those in which a pass meets what its contract says nothing about. Of 1,321
findings of five campaigns that kept one pass when they were minimized 0.9% were errors of ours, of the 112 that kept
two or more 13%, and half of these had one of the orders below: a pass whose arguments speak of another module than the
one it gets, or one that meets what lowering leaves in an order that no pipeline of TVM has. Of TVM's defects three were
seen in such an order only: 999744d6d0, 141a9251b3 and a28341f585 (docs/audit.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from relaxkit.passes.contract import Contract, Stage, Trait
from relaxkit.passes.contracts import CONTRACTS, the_pass, with_trait

BUILDS = tuple(sorted(name for name, row in CONTRACTS.items() if row.composed))
"""Whole pipelines, which are tried on their own."""

LOWERING = tuple(
    name for name, row in CONTRACTS.items() if row.gives is Stage.LOWERED and not (row.composed or row.any_stage)
)
"""Passes that lower, in the order of TVM's own pipelines (``tvm.relax.backend.cuda.pipeline``), which is that of the
table: a walk never goes back."""

_KILLS = LOWERING.index(the_pass(Trait.KILLS))

LEGALIZING = frozenset(
    name
    for name, row in CONTRACTS.items()
    if row.composed or Trait.LEGALIZES in row.traits or with_trait(Trait.LEGALIZES) & {*row.prepare}
)
"""Passes whose preparation, or own work, is to legalize the whole module."""


def for_lowered(name: str) -> bool:
    """Say whether a pass is meant for modules whose calls are lowered already."""
    return CONTRACTS[name].any_stage or CONTRACTS[name].needs is Stage.LOWERED


class PipelineWalk:
    """The state of a pipeline that is being drawn.

    Args:
        lowered: Whether the module is lowered already.
    """

    def __init__(self, names: Sequence[str], lowered: bool = False) -> None:
        self._names = tuple(names)
        self._lowered = lowered
        self._done: set[str] = set()
        self._rank = 0  # of the last step that lowered
        self._in_place = False  # behind it only what lowers may follow: other passes do not ask for the moment

    def legal(self, early: bool) -> tuple[str, ...]:
        """Return the passes that may come next.

        Where there are some, only those that do not lower (``early``), or only those that lower or come after that.
        """
        legal = [name for name in self._names if self._fits(name, CONTRACTS[name])]
        if not self._lowered:
            wanted = [name for name in legal if (name not in LOWERING) is early]
            legal = wanted or legal
        return tuple(legal) or self._names

    def step(self, name: str) -> None:
        """Take note that a pass was chosen."""
        self._done.add(name)
        self._in_place = self._in_place or Trait.IN_PLACE in CONTRACTS[name].traits
        if name in LOWERING:
            self._lowered = True
            self._rank = max(self._rank, LOWERING.index(name))

    def _fits(self, name: str, row: Contract) -> bool:
        if Trait.RETYPES_THE_GIVEN in row.traits or (Trait.NAMES_THE_GIVEN in row.traits and self._done):
            return False
        if self._lowered and not for_lowered(name):
            return False
        if name in LOWERING:
            return LOWERING.index(name) >= self._rank
        if self._rank >= _KILLS or self._in_place:
            return Trait.KEEPS_KILLS in row.traits
        return not self._done & {*row.not_after}
