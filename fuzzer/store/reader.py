"""Reading a campaign's records, finished or running."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fuzzer.core.case import Case
from fuzzer.core.coverage import Coverage
from fuzzer.findings.assessment import Assessment
from fuzzer.findings.family import UNKNOWN, Traits
from fuzzer.findings.releases import Bisected
from fuzzer.findings.script_parts import ScriptParts
from fuzzer.store import timeline
from fuzzer.store.database import COVERAGE, StoreError, is_locked, store_error
from fuzzer.store.door import COLUMNS
from fuzzer.store.records import CampaignInfo, CampaignState, Cost, Earlier, FindingRecord, FindingState, Tally
from oracles.core.verdict import Evidence

_Record = TypeVar("_Record")


class StoreReader:
    """Reader of a campaign's database."""

    def __init__(self, directory: Path, connection: sqlite3.Connection) -> None:
        self.directory = directory
        self._db = connection

    def meta(self) -> dict[str, str]:
        """All facts of the campaign, as text."""
        return dict(self._query("SELECT key, value FROM meta"))

    def info(self) -> CampaignInfo:
        """The campaign as a whole."""
        meta = self.meta()
        state = CampaignState(meta["state"])
        killed = state is CampaignState.RUNNING and not is_locked(self.directory)
        examples, modules = next(self._query("SELECT total(examples), total(modules) FROM shards"))
        return CampaignInfo(
            seed=int(meta["seed"]),
            started_at=meta["started_at"],
            elapsed_seconds=float(meta["elapsed"]),
            examples=int(examples),
            modules=int(modules),
            workers=int(meta["workers"]),
            tvm_version=meta["tvm_version"],
            ffi_version=meta["ffi_version"],
            passes=tuple(json.loads(meta["passes"])),
            oracles=tuple(json.loads(meta["oracles"])),
            state=CampaignState.KILLED if killed else state,
            budget_text=meta["budget"],
            relaxfuzz_version=meta.get("relaxfuzz_version", ""),
            seeds=tuple(each["seed"] for each in json.loads(meta.get("merged", "[]"))),
        )

    def tallies(self) -> list[Tally]:
        """All counts, in a fixed order."""
        return [Tally(*row) for row in self._query("SELECT oracle, culprit, outcome, reason, count FROM tallies")]

    def features(self) -> dict[str, int]:
        """Modules per feature name."""
        return dict(self._query("SELECT name, count FROM features ORDER BY count DESC, name"))

    def coverage(self) -> Coverage:
        """Counts of what was generated, and of what the passes did with it; the most frequent first."""
        counts: dict[str, Counter[Any]] = {}
        for table, keys in COVERAGE.items():
            rows = self._query(f"SELECT * FROM {table} ORDER BY count DESC, 1")
            counts[table] = Counter({row[0] if keys == 1 else tuple(row[:-1]): row[-1] for row in rows})
        return Coverage(bindings=int(next(self._query("SELECT total(bindings) FROM shards"))[0]), **counts)

    def timeline(self) -> timeline.Timeline:
        """Course of the campaign over time."""
        return timeline.read(self._query)

    def discarded(self) -> int:
        """Draws that gave no module."""
        return int(next(self._query("SELECT total(discarded) FROM shards"))[0])

    def shards(self) -> dict[int, int]:
        """Numbers of the shards that are recorded, each with the index up to which it is."""
        return dict(self._query("SELECT number, max(stop) FROM shards GROUP BY number"))

    def reached(self) -> dict[int, int]:
        """Addresses of the blocks of TVM's compiler that were reached, each with the first shard that reached it."""
        return dict(self._query("SELECT block, shard FROM reached"))

    def entered(self) -> dict[int, tuple[int, int]]:
        """Addresses of functions of TVM's compiler, each with shard and number of the first case that entered it."""
        return {address: (shard, at) for address, shard, at in self._query("SELECT * FROM entered")}

    def lines(self) -> dict[str, dict[int, bool]]:
        """Lines of the statements of the user's passes, in order, and whether any case ran them, by file or module."""
        found: dict[str, dict[int, bool]] = {}
        for place, line, ran in self._query("SELECT place, line, ran FROM lines ORDER BY place, line"):
            found.setdefault(place, {})[line] = bool(ran)
        return found

    def reached_by_cases(self) -> list[tuple[int, int]]:
        """Cases and reached blocks so far behind each shard, in the order of shards; empty where none was reached."""
        new = Counter(self.reached().values())
        sizes = list(self._query("SELECT number, sum(examples) FROM shards GROUP BY number")) if new else []
        cases = accumulate(int(count) for _, count in sizes)
        return list(zip(cases, accumulate(new[number] for number, _ in sizes), strict=True))

    def findings(self) -> list[FindingRecord]:
        """All findings, first seen first."""
        return [record_of(row) for row in self._query("SELECT * FROM findings ORDER BY shard, number, id")]

    def finding_ids(self) -> set[str]:
        """Ids of all findings."""
        return {row[0] for row in self._query("SELECT id FROM findings")}

    def regressions(self) -> list[Earlier]:
        """Earlier findings and known cases that the campaign began with, and what became of them."""
        rows = self._query("SELECT body FROM regressions ORDER BY source, id")
        return [msgspec.json.decode(body, type=Earlier) for (body,) in rows]

    def costs(self) -> dict[str, Cost]:
        """Seconds that findings cost, by id."""
        return {row[0]: Cost(*row[1:]) for row in self._query("SELECT id, judging, triage FROM costs")}

    def finding(self, finding_id: str) -> FindingRecord:
        """The finding whose id begins with ``finding_id``; raises ``StoreError`` when there is not exactly one."""
        query = "SELECT * FROM findings WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 7"
        rows = list(self._query(query, (finding_id,))) if finding_id else []
        if len(rows) != 1:
            there = [row["id"] for row in rows or self._query("SELECT id FROM findings")]
            ids = ", ".join(get_close_matches(finding_id, there, 3, 0.0)) or "none"
            what = "more than one finding" if rows else "no finding"
            raise StoreError(f"{what} in '{self.directory}' has an id that begins with '{finding_id}' (closest: {ids})")
        return record_of(rows[0])

    def untriaged(self) -> list[tuple[int, str]]:
        """Findings that triage has not seen: the shard of their case, and their id."""
        query = "SELECT shard, id FROM findings WHERE state = ? ORDER BY shard, number, id"
        return [(row["shard"], row["id"]) for row in self._query(query, (FindingState.NEW.value,))]

    def table(self, name: str) -> list[dict[str, Any]]:
        """All of a table."""
        return [dict(row) for row in self._query(f"SELECT * FROM {name}")]

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """All tables at one moment."""
        try:
            self._db.execute("BEGIN")
            found = {table: self.table(table) for table in COLUMNS}
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise store_error(error, self.directory) from error
        return found

    def _query(self, text: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        try:
            return iter(self._db.execute(text, values).fetchall())
        except sqlite3.Error as error:
            raise store_error(error, self.directory) from error


def record_of(row: Mapping[str, Any]) -> FindingRecord:
    """Return the record that a row of the findings is."""
    return FindingRecord(
        id=row["id"], signature=row["signature"], oracle=row["oracle"], culprit=row["culprit"],
        evidence=msgspec.json.decode(row["evidence"], type=Evidence), count=row["count"],
        state=FindingState(row["state"]), first_seen_seconds=row["first_seen"], last_seen_seconds=row["last_seen"],
        case=Case.from_json(row["case_json"]), minimized=_record(row["minimized_json"], Case), bindings=row["bindings"],
        repro=row["repro"], note=row["note"], traits=_record(row["traits"], Traits) or UNKNOWN,
        bisected=_record(row["bisected"], Bisected),
        parts=_record(row["parts"], ScriptParts), assessed=_record(dict(row).get("assessment"), Assessment),
    )  # fmt: skip


def _record(text: str | None, kind: type[_Record]) -> _Record | None:
    return None if text is None else msgspec.json.decode(text, type=kind)
