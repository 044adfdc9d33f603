"""The pool: what earlier epochs taught, as the shards of one epoch need it to draw.

An *epoch* is a run of whole shards.  The pool of an epoch is decided by the results of all epochs up to the one before
the last, whoever ran them and in whatever order: so that what is drawn depends on no number of workers, and that nobody
waits for the slowest shard of the epoch before.
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

EPOCH_SHARDS = 16
"""Shards in an epoch: about ten seconds of one worker."""
LAG = 2
"""The pool of an epoch is decided by the results up to so many epochs before it."""
LEAST_EFFORT, EVEN_EFFORT, MOST_EFFORT = 2, 4, 12
"""Weights of passes when single passes are drawn."""

Place = tuple[int, int]
"""Number of a shard, and of a module in it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a judged module came from, and what it shows.

    Attributes:
        data: Bytes that it was drawn from.
        fingerprint: Structural hash of the module.
        behaviours: Keys of what it shows, before any pass ran.
        parent: Place of the kept module that it is a neighbour of, if it is one.
    """

    data: bytes
    fingerprint: int
    behaviours: tuple[int, ...]
    parent: Place | None


@dataclass(frozen=True, slots=True)
class Deed:
    """What became of one subject.

    Attributes:
        number: Number of its module in the shard.
        judged: The pass, or ``pipeline``.
        rewrite: What it did; empty when it changed nothing.
    """

    number: int
    judged: str
    rewrite: str


@dataclass(frozen=True, slots=True)
class Parent:
    """A kept module.

    Attributes:
        place: Where it was drawn.
        data: Bytes that it was drawn from.
        fingerprint: Structural hash of the module, to know a neighbour that is equal.
        passes: Passes that did something new on it.
    """

    place: Place
    data: bytes
    fingerprint: int
    passes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """What guides the shards of one epoch.

    Attributes:
        parents: Modules whose neighbours are drawn.
        weights: How often, relative to each other.
        effort: Weights of passes, :data:`EVEN_EFFORT` where nothing is said.
        seen: The behaviours that were seen, as a map of ``fuzzer.behaviours.Seen``.
    """

    parents: tuple[Parent, ...] = ()
    weights: tuple[int, ...] = ()
    effort: Mapping[str, int] = field(default_factory=dict)
    seen: bytes = b""

    def pick(self, chance: random.Random) -> Parent:
        """Draw a parent; there must be one."""
        sums = list(itertools.accumulate(self.weights))
        return self.parents[bisect.bisect_right(sums, chance.randrange(sums[-1]))]


def epoch_of(shard: int, size: int = EPOCH_SHARDS) -> int:
    """Number of the epoch that a shard belongs to."""
    return shard // size
