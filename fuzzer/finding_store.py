"""What the store keeps of findings beside their evidence: their origin, cost, and releases.

The tables are not of the store's format: a campaign that was recorded before they were is read without them, and gets
them when it goes on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fuzzer.bisection import Bisected
from fuzzer.families import UNKNOWN, Traits

SCHEMA = """
CREATE TABLE IF NOT EXISTS traits (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS costs (id TEXT PRIMARY KEY, judging REAL NOT NULL, triage REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS bisections (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of workers that a finding took.

    Attributes:
        judging: Judging the cases that showed it; a case that showed several findings counts in equal parts.
        triage: Confirming and minimizing it.
    """

    judging: float = 0.0
    triage: float = 0.0

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.judging + self.triage


def save_traits(database: sqlite3.Connection, finding_id: str, traits: Traits) -> None:
    """Record where a finding comes from, inside a transaction."""
    if traits != UNKNOWN:
        database.execute("INSERT OR REPLACE INTO traits VALUES (?, ?)", (finding_id, traits.to_json()))


def add_cost(database: sqlite3.Connection, costs: Mapping[str, Cost]) -> None:
    """Add to what findings cost, inside a transaction."""
    database.executemany(
        "INSERT INTO costs VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET judging = judging + excluded.judging, "
        "triage = triage + excluded.triage",
        [(finding_id, cost.judging, cost.triage) for finding_id, cost in costs.items()],
    )


def save_bisection(database: sqlite3.Connection, finding_id: str, bisected: Bisected) -> None:
    """Record in which releases a finding is, inside a transaction; in the place of what was known before."""
    database.execute("INSERT OR REPLACE INTO bisections VALUES (?, ?)", (finding_id, bisected.to_json()))


def read_bisections(query: Callable[[str], Iterator[Any]]) -> dict[str, Bisected]:
    """In which releases findings are, by id, of those that were bisected."""
    return {row[0]: Bisected.from_json(row[1]) for row in _rows(query, "bisections")}


def read_traits(query: Callable[[str], Iterator[Any]]) -> dict[str, Traits]:
    """Where findings come from, by id."""
    return {row[0]: Traits.from_json(row[1]) for row in _rows(query, "traits")}


def read_costs(query: Callable[[str], Iterator[Any]]) -> dict[str, Cost]:
    """What findings cost, by id."""
    return {row[0]: Cost(row[1], row[2]) for row in _rows(query, "costs")}


def _rows(query: Callable[[str], Iterator[Any]], table: str) -> Iterator[Any]:
    there = next(query(f"SELECT count(*) FROM sqlite_master WHERE name = '{table}'"))[0]
    return query(f"SELECT * FROM {table}") if there else iter(())
