"""What an idiom is: a small piece of code that makes particular passes act, with near misses that should not."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from strategies.features import Feature
from strategies.scope import Scope
from strategies.values import Value

Draw = Callable[[Scope], Value]
"""Plants something and gives its result; raises ``Unfit`` when it cannot be had under the features of the case."""

SUFFIX = "!"
"""Between the name of an idiom and that of its near miss."""


class Place(enum.Enum):
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
        near_misses: What looks like it.
        needs: Features without which it cannot be planted.
        place: Kind of block in which the passes look for it.
        top_level: Whether it cannot stand in a branch of an ``If``.
        alone: Names of the passes that act on it only with arguments that say so, or where nothing else stands in the
            way: planted for them, but no promise about them is tested on a module with the idiom alone.
        clears: Features that are switched off for it where nothing else asks for them: what makes the pass raise, by a
            known defect or because it supports nothing of the kind, before it comes to the idiom.
    """

    name: str
    draw: Draw
    acts_on: tuple[str, ...]
    near_misses: tuple[NearMiss, ...] = ()
    needs: tuple[Feature, ...] = ()
    place: Place = Place.DATAFLOW
    top_level: bool = False
    alone: tuple[str, ...] = ()
    clears: tuple[Feature, ...] = ()
