"""What the store keeps of earlier findings: what became of each, and the cases that show it.

As with ``fuzzer.finding_store``, the table is not of the store's format.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from fuzzer.cases import Case
from fuzzer.regression import Earlier, State

SCHEMA = """
CREATE TABLE IF NOT EXISTS regressions (
    source TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (source, id)
) WITHOUT ROWID;
"""


def save(database: sqlite3.Connection, earlier: Earlier) -> None:
    """Record what became of one, inside a transaction."""
    body = {
        "signature": earlier.signature, "oracle": earlier.oracle, "culprit": earlier.culprit,
        "message": earlier.message, "fixed_in": earlier.fixed_in, "failed_on": earlier.failed_on,
        "note": earlier.note, "cases": [case.to_json() for case in earlier.cases], "script": earlier.script,
        "bindings": earlier.bindings,
    }  # fmt: skip
    database.execute(
        "INSERT OR REPLACE INTO regressions VALUES (?, ?, ?, ?)",
        (earlier.source, earlier.id, earlier.state.value, json.dumps(body)),
    )


def read(query: Callable[[str], Iterator[Any]]) -> list[Earlier]:
    """All that are recorded."""
    if not next(query("SELECT count(*) FROM sqlite_master WHERE name = 'regressions'"))[0]:
        return []
    return [_earlier(*row) for row in query("SELECT source, id, state, body FROM regressions ORDER BY source, id")]


def _earlier(source: str, name: str, state: str, text: str) -> Earlier:
    body = json.loads(text)
    cases = tuple(Case.from_json(each) for each in body.pop("cases"))
    return Earlier(source, name, state=State(state), cases=cases, **body)
