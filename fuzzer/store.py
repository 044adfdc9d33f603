"""The store of a campaign: one SQLite database, one writer, any number of readers."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fuzzer import store_schema
from fuzzer.cases import Case
from fuzzer.records import (
    CampaignInfo,
    CampaignState,
    Failures,
    FindingRecord,
    FindingState,
    ShardResult,
    Tally,
)
from fuzzer.store_schema import DATABASE, StoreError, StoreFull, is_campaign, translated
from oracles.verdict import Evidence, OracleName, Outcome, Verdict

__all__ = [
    "DATABASE",
    "CampaignInfo",
    "CampaignState",
    "FindingRecord",
    "FindingState",
    "Store",
    "StoreError",
    "StoreFull",
    "Tally",
    "is_campaign",
]


class Store:
    """A campaign's store.

    Readers may open it while a campaign writes; they see whole pieces of shards only.
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection) -> None:
        self.directory = directory
        self._path = directory / DATABASE
        self._db = connection

    @classmethod
    def create(cls, directory: Path, config: Mapping[str, Any], about: Mapping[str, Any]) -> Store:
        """A new store in an existing directory.

        Args:
            directory: The campaign's directory.
            config: What decides the campaign's results (seed, passes, oracles, ...), JSON values.
            about: The other facts of ``info``: versions, passes, oracles, budget, workers; JSON values.

        Raises:
            StoreError: when it cannot be written.
        """
        store = cls(directory, store_schema.create(directory))
        store.set(config=dict(config), about=dict(about), started_at=time.time(), elapsed=0.0, state="running")
        return store

    @classmethod
    def open(cls, directory: Path | str, read_only: bool = True) -> Store:
        """Open a campaign's store and check that it is whole; raises ``StoreError``, one line."""
        place = Path(directory)
        store = cls(place, store_schema.open_database(place, read_only))
        if "config" not in store._meta():
            raise StoreError(f"{store._path}: the campaign was never begun")
        return store

    def close(self) -> None:
        """Close; a writer leaves one self-contained file behind."""
        try:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            pass  # a reader, or a full disk: the log file stays beside the database and is valid
        finally:
            self._db.close()

    # -- reading ------------------------------------------------------------------------------------------------

    def config(self) -> dict[str, Any]:
        """What decides the campaign's results."""
        return dict(self._meta()["config"])

    def info(self) -> CampaignInfo:
        """What was run so far."""
        meta = self._meta()
        about = meta["about"]
        pieces = self._rows(
            "SELECT coalesce(sum(stop - start), 0), coalesce(sum(modules), 0), coalesce(sum(discarded), 0), count(*) "
            "FROM pieces"
        )[0]
        return CampaignInfo(
            seed=int(meta["config"]["seed"]),
            started_at=float(meta["started_at"]),
            elapsed_seconds=float(meta["elapsed"]),
            examples=pieces[0],
            modules=pieces[1],
            discarded=pieces[2],
            workers=int(about["workers"]),
            tvm_version=str(about["tvm_version"]),
            ffi_version=str(about["ffi_version"]),
            passes=tuple(about["passes"]),
            oracles=tuple(OracleName(name) for name in about["oracles"]),
            state=CampaignState(meta["state"]),
            budget_text=str(about["budget"]),
            shards=pieces[3],
        )

    def tallies(self) -> list[Tally]:
        """Verdicts by oracle, pass, outcome and reason."""
        rows = self._rows("SELECT oracle, culprit, outcome, reason, count FROM tallies ORDER BY 1, 2, 3, 4")
        return [Tally(OracleName(row[0]), row[1], Outcome(row[2]), row[3], row[4]) for row in rows]

    def features(self) -> dict[str, int]:
        """Modules by feature that they had."""
        return self.counts("feature")

    def counts(self, kind: str) -> dict[str, int]:
        """Counts of a kind: ``feature`` and ``operator`` by module, ``pass`` by example."""
        return dict(self._rows("SELECT name, count FROM counts WHERE kind = ? ORDER BY name", kind))

    def findings(self) -> list[FindingRecord]:
        """One record a signature, in the order of their first cases."""
        rows = self._rows(
            "SELECT id, signature, count, state, first_seen, last_seen, shard, example, verdict, module, subject, "
            "minimized, bindings, repro, note FROM findings ORDER BY shard, example, id"
        )
        return [_finding(row) for row in rows]

    def finding(self, finding_id: str) -> FindingRecord | None:
        """The finding whose id starts with ``finding_id``; ``None`` when there is none or more than one."""
        found = [record for record in self.findings() if record.id.startswith(finding_id)]
        return found[0] if len(found) == 1 else None

    def progress(self) -> dict[int, int]:
        """For each shard begun, up to which index its examples are recorded without a gap."""
        done: dict[int, int] = {}
        for shard, start, stop in self._rows("SELECT shard, start, stop FROM pieces ORDER BY shard, start"):
            if start <= done.get(shard, 0):
                done[shard] = max(stop, done.get(shard, 0))
        return done

    # -- writing ------------------------------------------------------------------------------------------------

    def set(self, **values: Any) -> None:
        """Set meta values, JSON values by key."""
        with translated(self._path), self._transaction():
            self._set(values)

    def record_shard(self, result: ShardResult, elapsed: float) -> None:
        """Record a piece of a shard in one transaction; recording it again changes nothing.

        Raises:
            StoreFull: when the disk is full; nothing of the piece is recorded then.
        """
        with translated(self._path), self._transaction():
            piece = (result.shard, result.start, result.stop, result.modules, result.discarded, result.seconds)
            added = self._db.execute("INSERT OR IGNORE INTO pieces VALUES (?, ?, ?, ?, ?, ?)", piece)
            if not added.rowcount:
                return
            self._db.executemany(
                "INSERT INTO tallies VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(str(key[0]), key[1], str(key[2]), key[3], count) for key, count in result.tallies.items()],
            )
            self._db.executemany(
                "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(*key, count) for key, count in result.counts.items()],
            )
            for failures in result.failures.values():
                self._record_failures(failures, result.shard, elapsed)
            self._set({"elapsed": elapsed})

    def save_triage(
        self,
        finding_id: str,
        state: FindingState,
        minimized: Case | None = None,
        bindings: int | None = None,
        repro: str | None = None,
        note: str = "",
    ) -> None:
        """Record what triage found out."""
        reduced = None if minimized is None else minimized.to_json()
        with translated(self._path), self._transaction():
            self._db.execute(
                "UPDATE findings SET state = ?, minimized = ?, bindings = ?, repro = ?, note = ? WHERE id = ?",
                (str(state), reduced, bindings, repro, note, finding_id),
            )

    # -- inside -------------------------------------------------------------------------------------------------

    def _record_failures(self, failures: Failures, shard: int, elapsed: float) -> None:
        found = failures.signature
        verdict, module, subject = _stored(failures)
        known = self._db.execute("SELECT shard, example FROM findings WHERE id = ?", (found.id,)).fetchone()
        if known is None:
            self._db.execute(
                "INSERT INTO findings (id, signature, count, state, first_seen, last_seen, shard, example, verdict, "
                "module, subject) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (found.id, found.text, failures.count, str(FindingState.NEW), elapsed, elapsed, shard, failures.index,
                 verdict, module, subject),
            )  # fmt: skip
            return
        self._db.execute(
            "UPDATE findings SET count = count + ?, last_seen = ? WHERE id = ?", (failures.count, elapsed, found.id)
        )
        # The first case in the campaign's own order speaks for the finding, whichever worker was faster.
        if (shard, failures.index) < (known[0], known[1]):
            self._db.execute(
                "UPDATE findings SET shard = ?, example = ?, verdict = ?, module = ?, subject = ? WHERE id = ?",
                (shard, failures.index, verdict, module, subject, found.id),
            )

    def _set(self, values: Mapping[str, Any]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [(key, json.dumps(value)) for key, value in values.items()]
        )

    def _meta(self) -> dict[str, Any]:
        return {key: json.loads(value) for key, value in self._rows("SELECT key, value FROM meta")}

    def _rows(self, query: str, *arguments: object) -> list[Any]:
        with translated(self._path):
            return self._db.execute(query, arguments).fetchall()

    def _transaction(self) -> _Transaction:
        return _Transaction(self._db)


class _Transaction:
    """All or nothing, also when the disk is full or the process is killed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            try:
                self._db.execute("COMMIT")
            except sqlite3.Error:
                self._rollback()
                raise
        else:
            self._rollback()

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")


def _stored(failures: Failures) -> tuple[str, bytes, str]:
    """Verdict, module and the rest of the case as they are stored; modules compress to a tenth."""
    case = failures.case
    rest = Case("", case.passes, case.input_seed).to_json()
    return json.dumps(asdict(failures.verdict)), zlib.compress(case.module_json.encode()), rest


def _finding(row: Any) -> FindingRecord:
    verdict = _verdict(row[8])
    evidence = verdict.evidence or Evidence("", "")
    rest = Case.from_json(row[10])
    return FindingRecord(
        id=row[0],
        signature=row[1],
        oracle=verdict.oracle,
        culprit=verdict.culprit,
        kind=evidence.kind,
        message=evidence.message,
        frames=evidence.frames,
        count=row[2],
        state=FindingState(row[3]),
        first_seen_seconds=row[4],
        last_seen_seconds=row[5],
        case=Case(zlib.decompress(row[9]).decode(), rest.passes, rest.input_seed),
        minimized=None if row[11] is None else Case.from_json(row[11]),
        bindings=row[12],
        repro=row[13],
        evidence=verdict,
        note=row[14],
        shard=row[6],
        index=row[7],
    )


def _verdict(text: str) -> Verdict:
    raw = json.loads(text)
    found = raw["evidence"]
    evidence = None if found is None else Evidence(**{**found, "frames": tuple(found["frames"])})
    return Verdict(OracleName(raw["oracle"]), Outcome(raw["outcome"]), raw["culprit"], raw["reason"], evidence)
