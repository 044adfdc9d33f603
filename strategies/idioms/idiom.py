"""Idioms: small pieces of code that make particular passes act, with near misses that should not."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

Draw = Callable[[Scope], Value]
"""Plants something and gives its result; raises ``Infeasible`` when it cannot be had under the features of the case."""

Planter = TypeVar("Planter", bound=Draw)

SUFFIX = "!"
"""Between the name of an idiom and that of its near miss."""


class BlockKind(enum.Enum):
    """The kind of block that an idiom is planted in."""

    ANYWHERE = "anywhere"
    DATAFLOW = "dataflow"
    ORDINARY = "ordinary"


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Code that looks like an idiom and must not be taken for one.

    Attributes:
        name: Says what is amiss (``mixed_dtype``).
        draw: Plants it.
        spares: The passes that must leave it alone; ``None``: those of the idiom.
        defect: The pass takes the bait in TVM 0.27: what it does wrongly, for reports. Empty where it behaves.
        needs: Features without which it cannot be planted, besides the idiom's.
    """

    name: str
    draw: Draw
    spares: tuple[str, ...] | None = None
    defect: str = ""
    needs: tuple[Feature, ...] = ()


@dataclass(frozen=True, slots=True)
class Idiom:
    """A pattern for which passes exist.

    Attributes:
        name: Name in reports.
        draw: Plants it.
        acts_on: Names of the passes that it makes act.
        needs: Features without which it cannot be planted.
        place: Kind of block in which the passes look for it.
        top_level: Whether it cannot stand in a branch of an ``If``.
        also_for: Names of the passes that act on it only with arguments that say so, or where nothing else stands in
            the way: planted for them, but no promise about them is tested on a module with the idiom alone.
        clears: Features that are switched off for it where nothing else asks for them: what makes the pass raise, by a
            known defect or because it supports nothing of the kind, before it comes to the idiom.
        near_misses: What looks like it.
        weight: How often a rare one is asked for, next to the others.
    """

    name: str
    draw: Draw
    acts_on: tuple[str, ...]
    needs: tuple[Feature, ...] = ()
    place: BlockKind = BlockKind.DATAFLOW
    top_level: bool = False
    also_for: tuple[str, ...] = ()
    clears: tuple[Feature, ...] = ()
    near_misses: list[NearMiss] = field(default_factory=list)
    weight: int = 1


class IdiomTable(list[Idiom]):
    """The idioms of one theme, in the order in which choices shrink."""

    def idiom(self, *acts_on: str, **more: Any) -> Callable[[Planter], Planter]:
        """Add the function below as the idiom of its name; for the arguments see :class:`Idiom`."""

        def add(draw: Planter) -> Planter:
            self.append(Idiom(draw.__name__, draw, acts_on, **more))
            return draw

        return add

    def near_miss(self, name: str, **more: Any) -> Callable[[Planter], Planter]:
        """Add the function below as a near miss of the last idiom; for the arguments see :class:`NearMiss`."""

        def add(draw: Planter) -> Planter:
            self[-1].near_misses.append(NearMiss(name, draw, **more))
            return draw

        return add
