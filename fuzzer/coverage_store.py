"""Coverage in the store: one table a count, to which each piece of a shard adds."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from fuzzer.coverage import Coverage

_NAMED = ("features", "idioms", "operators", "judged", "changed")
"""Counts by one name; the tables and the attributes of ``Coverage`` are named alike."""
_COMPOUND = {"operands": 3, "pairs": 2, "rewrites": 2}
"""Counts by so many columns."""
_ADD = "ON CONFLICT DO UPDATE SET count = count + excluded.count"


def add(database: sqlite3.Connection, coverage: Coverage) -> None:
    """Add the counts of a piece, inside a transaction."""
    for table in _NAMED:
        rows = list(getattr(coverage, table).items())
        database.executemany(f"INSERT INTO {table} VALUES (?, ?) {_ADD}", rows)
    for table, columns in _COMPOUND.items():
        marks = ", ".join("?" * (columns + 1))
        rows = [(*key, count) for key, count in getattr(coverage, table).items()]
        database.executemany(f"INSERT INTO {table} VALUES ({marks}) {_ADD}", rows)


def read(query: Callable[[str], Iterator[Any]]) -> Coverage:
    """The counts of the whole campaign."""
    totals = next(query("SELECT total(bindings), total(neighbours), total(repeated), total(outdone) FROM shards"))
    bindings, neighbours, repeated, outdone = (int(total) for total in totals)
    named = {
        table: Counter(dict(query(f"SELECT name, count FROM {table} ORDER BY count DESC, name"))) for table in _NAMED
    }
    compound: dict[str, Counter[Any]] = {
        table: Counter({tuple(row[:-1]): row[-1] for row in query(f"SELECT * FROM {table} ORDER BY count DESC")})
        for table in _COMPOUND
    }
    return Coverage(bindings=bindings, neighbours=neighbours, repeated=repeated, outdone=outdone, **named, **compound)
