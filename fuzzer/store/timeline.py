"""Course of a campaign over time: what it had found and covered when, sightings of findings, where time went.

Moments are rounded down to buckets that grow with the campaign, so that a night needs hundreds of rows and not a row a
shard.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fuzzer.store.database import add_rows
from fuzzer.store.records import ShardResult

_BUCKETS = 64
"""Buckets in the first half of a campaign, whatever its length is."""


@dataclass(frozen=True, slots=True)
class Point:
    """A campaign at one moment.

    Attributes:
        at: Campaign time in s.
        examples: Cases judged so far.
        modules: Modules drawn.
        findings: Distinct signatures.
        operators, operands, pairs, rewrites: Distinct ones, as in ``fuzzer.core.coverage.Coverage``.
    """

    at: float
    examples: int
    modules: int
    findings: int
    operators: int
    operands: int
    pairs: int
    rewrites: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Records over time.

    Attributes:
        growth: The campaign at some moments, in order.
        sightings: By finding: moments, and how often it was seen since the moment before.
        spent: Seconds of workers by step (``fuzzer.shard.shard``) and pass; the pass is empty where none is meant.
    """

    growth: tuple[Point, ...] = ()
    sightings: Mapping[str, tuple[tuple[float, int], ...]] = field(default_factory=dict)
    spent: Mapping[tuple[str, str], float] = field(default_factory=dict)


def bucket(seconds: float) -> float:
    """The moment that stands for ``seconds``: at most ``seconds``, and one of few."""
    width = 2.0 ** max(0, math.floor(math.log2(max(seconds, 1.0) / _BUCKETS)))
    return math.floor(seconds / width) * width


@dataclass(frozen=True, slots=True)
class Growth:
    """Keeps the table of growth of one writer's database.

    A campaign records dozens of shards a second, and has hundreds of thousands of them in the end: what there is so far
    is not counted anew for each.

    Attributes:
        totals: Examples and modules so far; ``None``: they have to be read.
        written: Campaign time when a point was last written.
        owed: The moment of the point that is not written yet.
    """

    totals: tuple[int, int] | None = None
    written: float = -1.0
    owed: float | None = None

    def add(self, database: sqlite3.Connection, result: ShardResult, elapsed: float) -> Growth:
        """Record a piece of a shard, inside the transaction that has recorded everything else of it.

        Returns what holds once the transaction is done.
        """
        moment = bucket(elapsed)
        if self.totals is None:
            row = database.execute("SELECT total(examples), total(modules) FROM shards").fetchone()
            totals = int(row[0]), int(row[1])
        else:
            totals = self.totals[0] + result.examples, self.totals[1] + result.modules
        add_rows(database, "sightings", [(each, moment, hit.count) for each, hit in result.hits.items()])
        add_rows(database, "spent", [(*key, taken) for key, taken in result.spent.items()])
        before = self if self.owed in (None, moment) else self.flushed(database)
        after = replace(before, totals=totals, owed=moment)
        return after if 0 <= elapsed - after.written < _SECONDS else replace(after.flushed(database), written=elapsed)

    def flushed(self, database: sqlite3.Connection) -> Growth:
        """Write the point that is owed, inside a transaction."""
        if self.owed is None or self.totals is None:
            return self
        counted = ", ".join(f"(SELECT count(*) FROM {table})" for table in _COUNTED)
        database.execute(f"INSERT OR REPLACE INTO growth VALUES (?, ?, ?, {counted})", (self.owed, *self.totals))
        return replace(self, owed=None)


_SECONDS = 1.0
"""Campaign time between two points."""
_COUNTED = tuple(each.name for each in fields(Point))[3:]
"""Tables with a row for each distinct thing, in the order of ``Point``."""


def read(query: Callable[[str], Iterator[Any]]) -> Timeline:
    """Read everything over time; ``query`` gives the rows of a statement."""
    sightings: dict[str, list[tuple[float, int]]] = {}
    for finding, at, count in query("SELECT finding, at, count FROM sightings ORDER BY at"):
        sightings.setdefault(finding, []).append((at, count))
    return Timeline(
        tuple(Point(row[0], *(int(value) for value in tuple(row)[1:])) for row in query(_GROWTH)),
        {finding: tuple(rows) for finding, rows in sightings.items()},
        {(step, culprit): taken for step, culprit, taken in query("SELECT step, culprit, seconds FROM spent")},
    )


_GROWTH = f"SELECT {', '.join(each.name for each in fields(Point))} FROM growth ORDER BY at"
