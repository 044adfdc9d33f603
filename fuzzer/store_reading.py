"""Reading a campaign's records, finished or running."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fuzzer import budget_store, coverage_store, finding_store, regression_store, timeline
from fuzzer.bisection import Bisected
from fuzzer.budget import Account, Yield
from fuzzer.cases import Case
from fuzzer.coverage import Coverage
from fuzzer.families import UNKNOWN, Traits
from fuzzer.guidance import Guide, Report, pool_from_json, reports_of
from fuzzer.pool import Pool
from fuzzer.records import CampaignInfo, FindingRecord, FindingState, Tally
from fuzzer.regression import Earlier
from fuzzer.store_file import StoreError, told
from oracles.verdict import Evidence, OracleName, Outcome, Verdict


class StoreReader:
    """What can be asked of a campaign's database."""

    def __init__(self, directory: Path, connection: sqlite3.Connection) -> None:
        self.directory = directory
        self._db = connection

    def meta(self) -> dict[str, str]:
        """All facts of the campaign, as text."""
        return dict(self._query("SELECT key, value FROM meta"))

    def info(self) -> CampaignInfo:
        """The campaign as a whole."""
        meta = self.meta()
        examples, modules = next(self._query("SELECT total(examples), total(modules) FROM shards"))
        return CampaignInfo(
            seed=int(meta.get("seed", "0")),
            started_at=meta["started_at"],
            elapsed_seconds=float(meta["elapsed"]),
            examples=int(examples),
            modules=int(modules),
            workers=int(meta.get("workers", "1")),
            tvm_version=meta.get("tvm_version", ""),
            ffi_version=meta.get("ffi_version", ""),
            passes=tuple(json.loads(meta.get("passes", "[]"))),
            oracles=tuple(json.loads(meta.get("oracles", "[]"))),
            state=meta["state"],
            budget_text=meta.get("budget", ""),
        )

    def tallies(self) -> list[Tally]:
        """All counts, in a fixed order."""
        return [Tally(*row) for row in self._query("SELECT oracle, culprit, outcome, reason, count FROM tallies")]

    def features(self) -> dict[str, int]:
        """Modules per feature name."""
        return dict(self._query("SELECT name, count FROM features ORDER BY count DESC, name"))

    def coverage(self) -> Coverage:
        """What was generated, and what the passes did with it; the most frequent first."""
        return coverage_store.read(self._query)

    def timeline(self) -> timeline.Timeline:
        """How the campaign went over time."""
        return timeline.read(self._query)

    def discarded(self) -> int:
        """Draws that gave no module."""
        return int(next(self._query("SELECT total(discarded) FROM shards"))[0])

    def shards(self) -> dict[int, int]:
        """Numbers of the shards that are recorded, each with the index up to which it is."""
        return dict(self._query("SELECT number, max(stop) FROM shards GROUP BY number"))

    def findings(self) -> list[FindingRecord]:
        """All findings, first seen first."""
        return self._findings(self._query("SELECT * FROM findings ORDER BY shard, number, id"))

    def finding_ids(self) -> set[str]:
        """Ids of all findings."""
        return {row[0] for row in self._query("SELECT id FROM findings")}

    def regressions(self) -> list[Earlier]:
        """What became of earlier findings and known cases that the campaign began with."""
        return regression_store.read(self._query)

    def costs(self) -> dict[str, finding_store.Cost]:
        """What findings cost, by id; empty for a campaign that was recorded before this was."""
        return finding_store.read_costs(self._query)

    def finding(self, finding_id: str) -> FindingRecord:
        """The finding whose id begins with ``finding_id``; raises ``StoreError`` when there is not exactly one."""
        query = "SELECT * FROM findings WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 7"
        rows = list(self._query(query, (finding_id,))) if finding_id else []
        if len(rows) != 1:
            there = rows or self._query("SELECT id FROM findings ORDER BY shard, number, id LIMIT 6")
            ids = ", ".join([row["id"] for row in there][:6]) or "none"
            what = "more than one finding begins" if rows else "no finding begins"
            raise StoreError(f"{what} with '{finding_id}' in '{self.directory}' (there: {ids})")
        return self._findings(rows)[0]

    def untriaged(self) -> list[tuple[int, str]]:
        """Findings that triage has not seen: the shard of their case, and their id."""
        query = "SELECT shard, id FROM findings WHERE state = ? ORDER BY shard, number, id"
        return [(row["shard"], row["id"]) for row in self._query(query, (FindingState.NEW.value,))]

    def guide(self) -> Guide:
        """What guidance had learnt when it was last saved."""
        rows = list(self._query("SELECT body FROM guide"))
        counts = dict(self._query("SELECT key, count FROM behaviours"))
        return Guide.from_json(rows[0][0], counts) if rows else Guide()

    def pools(self) -> dict[int, Pool]:
        """The pools that are kept, by epoch."""
        return {epoch: pool_from_json(body) for epoch, body in self._query("SELECT epoch, body FROM pools")}

    def reports(self, shards: range) -> list[Report]:
        """What the pieces of these shards told guidance."""
        query = "SELECT shard, body FROM pieces WHERE shard >= ? AND shard < ? ORDER BY shard, first"
        rows = list(self._query(query, (shards.start, shards.stop)))
        return [
            report
            for shard, group in itertools.groupby(rows, key=lambda row: int(row[0]))
            for report in reports_of(shard, [body for _, body in group])
        ]

    def account(self) -> Account:
        """What was known of the passes' yields when it was last saved."""
        return budget_store.read_account(self._query)

    def shares(self) -> dict[int, dict[str, int]]:
        """The shares of passes that are kept, by epoch."""
        return budget_store.read_shares(self._query)

    def yields(self, shards: range) -> list[Yield]:
        """What the pieces of these shards gave, as far as no epoch has counted it."""
        return budget_store.read_yields(self._query, shards)

    def _findings(self, rows: Iterable[sqlite3.Row]) -> list[FindingRecord]:
        """Findings with what is kept of them in other tables."""
        traits = finding_store.read_traits(self._query)
        bisected = finding_store.read_bisections(self._query)
        return [_finding(row, traits.get(row["id"], UNKNOWN), bisected.get(row["id"])) for row in rows]

    def _query(self, text: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        try:
            return iter(self._db.execute(text, values).fetchall())
        except sqlite3.Error as error:
            raise told(error, self.directory) from error


def verdict_of(finding: FindingRecord) -> Verdict:
    """The failing verdict that a finding was recorded with."""
    return Verdict(OracleName(finding.oracle), Outcome.FAIL, finding.culprit, evidence=finding.evidence)


def _finding(row: sqlite3.Row, traits: Traits, bisected: Bisected | None) -> FindingRecord:
    frames = tuple(json.loads(row["frames"]))
    minimized = row["minimized_json"]
    return FindingRecord(
        id=row["id"], signature=row["signature"], oracle=row["oracle"], culprit=row["culprit"], kind=row["kind"],
        message=row["message"], frames=frames, count=row["count"], state=FindingState(row["state"]),
        first_seen_seconds=row["first_seen"], last_seen_seconds=row["last_seen"],
        case=Case.from_json(row["case_json"]), minimized=None if minimized is None else Case.from_json(minimized),
        bindings=row["bindings"], repro=row["repro"], note=row["note"],
        evidence=Evidence(row["kind"], row["message"], frames, row["expected"], row["observed"]),
        traits=traits, bisected=bisected,
    )  # fmt: skip
