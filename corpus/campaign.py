"""Read one finding out of a campaign's SQLite file, without the code that wrote it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.case import CaseError

FILE_NAME = "campaign.sqlite"
FORMAT = "relaxfuzz-campaign-4"
_FINDINGS = "SELECT id, oracle, culprit, state, count, kind, message, frames FROM findings ORDER BY oracle, culprit, id"
_QUERY = (
    "SELECT id, oracle, coalesce(minimized_json, case_json) FROM findings "
    "WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id"
)


@dataclass(frozen=True, slots=True)
class FoundCase:
    """A finding as far as a case needs it.

    Attributes:
        id: Id of its signature.
        oracle: Name of the oracle.
        module_json: The module, minimized if it was.
        passes: ``{"name", "expression"}`` of each pass.
        input_seed: Seed of the numeric oracle's inputs.
    """

    id: str
    oracle: str
    module_json: str
    passes: list[dict[str, str]]
    input_seed: int


@dataclass(frozen=True, slots=True)
class FoundFailure:
    """A finding as far as it can be compared with what a case expects.

    Attributes:
        id: Id of its signature.
        oracle: Name of the oracle.
        culprit: The pass that is to blame.
        state: What became of it: ``confirmed``, ``flaky``, ...
        count: How often it was met.
        seen: ``kind: message`` and the frames, a line each, as ``corpus.check`` compares them.
    """

    id: str
    oracle: str
    culprit: str
    state: str
    count: int
    seen: str


def read_failures(directory: Path) -> list[FoundFailure]:
    """All findings of a campaign; raises ``CaseError`` when there is no campaign that can be read."""
    failures = []
    for name, oracle, culprit, state, count, kind, message, frames in _rows(directory, _FINDINGS, ()):
        seen = "\n".join([f"{kind}: {message}", *json.loads(frames)])
        failures.append(FoundFailure(name, oracle, culprit, state, count, seen))
    return failures


def _rows(directory: Path, query: str, values: tuple[str, ...]) -> list[tuple[Any, ...]]:
    path = directory / FILE_NAME
    if not path.is_file():
        raise CaseError(f"'{directory}' holds no campaign (no {FILE_NAME})")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)) as db:
            found = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
            if found is None or found[0] != FORMAT:
                raise CaseError(f"'{path}' is not a campaign of this version")
            return db.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise CaseError(f"cannot read '{path}': {error}") from error


def read_finding(directory: Path, finding_id: str) -> FoundCase:
    """The finding whose id begins with ``finding_id``; raises ``CaseError`` when there is not exactly one."""
    rows = _rows(directory, _QUERY, (finding_id,)) if finding_id else []
    if len(rows) != 1:
        what = "more than one finding begins" if rows else "no finding begins"
        raise CaseError(f"{what} with '{finding_id}' in '{directory}'")
    ((full_id, oracle, text),) = rows
    try:
        case = json.loads(text)
        return FoundCase(full_id, oracle, case["module_json"], list(case["passes"]), int(case["input_seed"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CaseError(f"finding {full_id} in '{directory}' holds no case: {error}") from error
