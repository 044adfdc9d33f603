"""The store of a campaign: one SQLite file in its directory, one writer, any number of readers."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from fuzzer import coverage_store, finding_store, timeline
from fuzzer.cases import Case
from fuzzer.coverage import Coverage
from fuzzer.families import UNKNOWN, Traits
from fuzzer.finding_store import Cost
from fuzzer.guidance import Guide, Report, piece_to_json, pool_from_json, pool_to_json, reports_of
from fuzzer.pool import Pool
from fuzzer.records import CampaignInfo, FindingRecord, FindingState, Hit, ShardResult, Tally
from fuzzer.store_file import FILE_NAME, LOCK_NAME, StoreError, connect, take_lock, told
from oracles.verdict import Evidence, OracleName, Outcome, Verdict

__all__ = ["FILE_NAME", "CampaignInfo", "FindingRecord", "FindingState", "Store", "StoreError", "Tally", "told"]

FORMAT = "relaxfuzz-campaign-4"
MET_SHARD = 1 << 40
"""Added to the shard of a finding whose minimization met another one: behind all that are drawn."""
MOST_MET = 20
"""Findings of a campaign that only minimization met: each is triaged like any other."""
_ADDED = timeline.SCHEMA + finding_store.SCHEMA


class Store:
    """A campaign's records.

    Use :meth:`create`, :meth:`open`; close it when done (it is a context manager).
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.directory = directory
        self._db = connection
        self._lock = lock

    # -- opening ------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, directory: Path, meta: dict[str, str]) -> Store:
        """A new campaign in an empty or missing directory; raises ``StoreError``."""
        directory = Path(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if any(entry.name != LOCK_NAME for entry in directory.iterdir()):
                raise StoreError(f"'{directory}' is not empty and holds no campaign")
            lock = take_lock(directory)
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"cannot write '{directory}': {error.strerror}") from error
        path, partial = directory / FILE_NAME, directory / f"{FILE_NAME}.new"
        try:
            # Under another name first: a killed creation leaves no half-made campaign behind.
            partial.unlink(missing_ok=True)
            fresh = sqlite3.connect(partial)
            fresh.executescript(resources.files("fuzzer").joinpath("schema.sql").read_text() + _ADDED)
            begun = {"format": FORMAT, "started_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
                     "elapsed": "0", "state": "running", **meta}  # fmt: skip
            with fresh:
                fresh.executemany("INSERT INTO meta VALUES (?, ?)", begun.items())
            fresh.close()
            partial.replace(path)
            return cls(directory, connect(path), lock)
        except (sqlite3.Error, OSError) as error:
            os.close(lock)
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise told(error, directory) from error

    @classmethod
    def open(cls, directory: Path, read_only: bool = True) -> Store:
        """An existing campaign; raises ``StoreError`` when there is none, it is damaged, or another writes it."""
        directory = Path(directory)
        path = directory / FILE_NAME
        if not directory.exists():
            raise StoreError(f"'{directory}' does not exist")
        if not directory.is_dir():
            raise StoreError(f"'{directory}' is not a directory")
        if not path.is_file():
            raise StoreError(f"'{directory}' holds no campaign (no {FILE_NAME})")
        lock = None
        try:
            lock = None if read_only else take_lock(directory)
            # Looked at by a reader first: a file that is not ours, or damaged, is left as it is.
            with cls(directory, connect(path, read_only=True), None) as reader:
                reader._check()
            store = cls(directory, connect(path, read_only), lock)
            if not read_only:
                store._db.executescript(_ADDED)  # a campaign of before these tables goes on with them
        except StoreError:
            if lock is not None:
                os.close(lock)
            raise
        except (sqlite3.Error, OSError) as error:
            if lock is not None:
                os.close(lock)
            raise told(error, directory) from error
        return store

    def _check(self) -> None:
        found = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if found is None or found[0] != "ok":
            raise StoreError(f"'{self.directory / FILE_NAME}' is damaged: {found[0] if found else 'empty'}")
        if self.meta().get("format") != FORMAT:
            raise StoreError(f"'{self.directory / FILE_NAME}' is not a campaign of this version")

    def close(self) -> None:
        """Close the file and let other campaigns have the directory."""
        self._db.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading ------------------------------------------------------------------------------------------------

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
        traits = finding_store.read_traits(self._query)
        rows = self._query("SELECT * FROM findings ORDER BY shard, number, id")
        return [_finding(row, traits.get(row["id"], UNKNOWN)) for row in rows]

    def costs(self) -> dict[str, finding_store.Cost]:
        """What findings cost, by id; empty for a campaign that was recorded before this was."""
        return finding_store.read_costs(self._query)

    def finding(self, finding_id: str) -> FindingRecord:
        """The finding whose id begins with ``finding_id``; raises ``StoreError`` when there is not exactly one."""
        rows = [finding for finding in self.findings() if finding_id and finding.id.startswith(finding_id)]
        if len(rows) != 1:
            ids = ", ".join(finding.id for finding in (rows or self.findings())[:6]) or "none"
            what = "more than one finding begins" if rows else "no finding begins"
            raise StoreError(f"{what} with '{finding_id}' in '{self.directory}' (there: {ids})")
        return rows[0]

    def untriaged(self) -> list[tuple[int, str]]:
        """Findings that triage has not seen: the shard of their case, and their id."""
        query = "SELECT shard, id FROM findings WHERE state = ? ORDER BY shard, number, id"
        return [(row["shard"], row["id"]) for row in self._query(query, (FindingState.NEW.value,))]

    # -- writing ------------------------------------------------------------------------------------------------

    def set_meta(self, **facts: str) -> None:
        """Change facts of the campaign."""
        with self._writing():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def record_shard(self, result: ShardResult, elapsed: float) -> list[str]:
        """Record a piece of a shard at once, or nothing; returns the ids that are new.

        The pieces of one shard must come in order. ``elapsed``: campaign time in s.

        Raises:
            StoreError: when it cannot be written, or is recorded already.
        """
        fresh: list[str] = []
        coverage = result.coverage
        with self._writing():
            self._db.execute(
                "INSERT INTO shards VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    result.number, result.first, result.stop, result.examples, result.modules, result.discarded,
                    coverage.bindings, coverage.neighbours, coverage.repeated, coverage.outdone,
                ),
            )  # fmt: skip
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('elapsed', ?)", (f"{elapsed:.3f}",))
            self._db.executemany(
                "INSERT INTO tallies VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(*key, count) for key, count in result.tallies.items()],
            )
            coverage_store.add(self._db, coverage)
            if result.origins or result.deeds:
                piece = piece_to_json(result.origins, result.deeds)
                self._db.execute("INSERT INTO pieces VALUES (?, ?, ?)", (result.number, result.first, piece))
            for hit in result.hits.values():
                if self._record_hit(result.number, hit, elapsed):
                    fresh.append(hit.signature.id)
            timeline.add(self._db, result, elapsed)
            finding_store.add_cost(self._db, {key: Cost(judging=taken) for key, taken in result.failing.items()})
        return fresh

    def _record_hit(self, shard: int, hit: Hit, elapsed: float) -> bool:
        row = self._db.execute("SELECT shard, number, state FROM findings WHERE id = ?", (hit.signature.id,)).fetchone()
        if row is not None:
            self._db.execute(
                "UPDATE findings SET count = count + ?, last_seen = ? WHERE id = ?",
                (hit.count, elapsed, hit.signature.id),
            )
            if row[2] != FindingState.NEW.value or (row[0], row[1]) <= (shard, hit.index):
                return False
            # An earlier case of a finding that nobody looked into yet: it speaks for it, whichever worker was faster.
        evidence = hit.verdict.evidence
        assert evidence is not None
        values: dict[str, str | int | float] = {
            "signature": hit.signature.text, "oracle": hit.signature.oracle.value, "culprit": hit.signature.culprit,
            "kind": hit.signature.kind, "message": evidence.message, "frames": json.dumps(evidence.frames),
            "expected": evidence.expected, "observed": evidence.observed, "shard": shard, "number": hit.index,
            "case_json": hit.case.to_json(),
        }  # fmt: skip
        if row is None:
            values |= {"id": hit.signature.id, "count": hit.count, "state": FindingState.NEW.value,
                       "first_seen": elapsed, "last_seen": elapsed}  # fmt: skip
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            self._db.execute(f"INSERT INTO findings ({names}) VALUES ({marks})", tuple(values.values()))
            return True
        changes = ", ".join(f"{name} = ?" for name in values)
        self._db.execute(f"UPDATE findings SET {changes} WHERE id = ?", (*values.values(), hit.signature.id))
        return False

    def spend(self, seconds: Mapping[tuple[str, str], float]) -> None:
        """Add workers' seconds by step and pass (``fuzzer.stopwatch``)."""
        with self._writing():
            timeline.spend(self._db, seconds)

    def record_met(self, finding_id: str, met: Sequence[Hit], elapsed: float) -> list[tuple[int, str]]:
        """Record failures that the minimization of a finding met; returns the new ones, as :meth:`untriaged` does.

        Nothing was counted: a finding that only minimization met has the count 0, and one that was found so leads to no
        further ones. They come behind all others, and a case that was drawn takes the place of theirs.
        """
        row = self._db.execute("SELECT shard, number, count FROM findings WHERE id = ?", (finding_id,)).fetchone()
        if row is None or row["count"] == 0:
            return []
        (there,) = next(self._query("SELECT count(*) FROM findings WHERE shard >= ?", (MET_SHARD,)))
        shard = MET_SHARD + row["shard"]
        fresh: list[tuple[int, str]] = []
        with self._writing():
            for hit in (replace(each, index=row["number"], count=0) for each in met):
                if there + len(fresh) < MOST_MET and self._record_hit(shard, hit, elapsed):
                    fresh.append((shard, hit.signature.id))
        return fresh

    def save_best(self, finding_id: str, minimized: Case) -> None:
        """Record how far the minimization of a finding has come, so that it can be gone on with."""
        with self._writing():
            self._db.execute(
                "UPDATE findings SET minimized_json = ? WHERE id = ? AND state = ?",
                (minimized.to_json(), finding_id, FindingState.NEW.value),
            )

    def save_triage(
        self,
        finding_id: str,
        state: FindingState,
        minimized: Case | None,
        bindings: int | None,
        repro: str | None,
        note: str,
        traits: Traits = UNKNOWN,
        seconds: float = 0.0,
    ) -> None:
        """Record what triage found out, and the seconds that it took."""
        text = None if minimized is None else minimized.to_json()
        with self._writing():
            self._db.execute(
                "UPDATE findings SET state = ?, minimized_json = ?, bindings = ?, repro = ?, note = ? WHERE id = ?",
                (state.value, text, bindings, repro, note, finding_id),
            )
            finding_store.save_traits(self._db, finding_id, traits)
            if seconds:
                finding_store.add_cost(self._db, {finding_id: Cost(triage=seconds)})

    # -- guidance -----------------------------------------------------------------------------------------------

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

    def save_guide(
        self, guide: Guide, counts: Mapping[int, int], shards: range, epoch: int, pool: Pool, oldest: int
    ) -> None:
        """Record what guidance has learnt from an epoch, and the pool that follows from it.

        Args:
            guide: What it knows now.
            counts: The behaviours whose counts have changed.
            shards: Shards of the epoch, of which nothing more need be kept.
            epoch: The epoch that the pool is for.
            pool: The pool.
            oldest: Pools of epochs before this one are no longer needed.
        """
        with self._writing():
            self._db.execute("DELETE FROM guide")
            self._db.execute("INSERT INTO guide VALUES (?, ?)", (guide.epochs, guide.to_json()))
            self._db.executemany("INSERT OR REPLACE INTO behaviours VALUES (?, ?)", counts.items())
            self._db.execute("DELETE FROM pieces WHERE shard >= ? AND shard < ?", (shards.start, shards.stop))
            self._db.execute("INSERT OR REPLACE INTO pools VALUES (?, ?)", (epoch, pool_to_json(pool)))
            self._db.execute("DELETE FROM pools WHERE epoch < ?", (oldest,))

    # -- inside -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield
        except (sqlite3.Error, OSError) as error:
            raise told(error, self.directory) from error

    def _query(self, text: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        try:
            return iter(self._db.execute(text, values).fetchall())
        except sqlite3.Error as error:
            raise told(error, self.directory) from error


def verdict_of(finding: FindingRecord) -> Verdict:
    """The failing verdict that a finding was recorded with."""
    return Verdict(OracleName(finding.oracle), Outcome.FAIL, finding.culprit, evidence=finding.evidence)


def _finding(row: sqlite3.Row, traits: Traits) -> FindingRecord:
    frames = tuple(json.loads(row["frames"]))
    minimized = row["minimized_json"]
    return FindingRecord(
        id=row["id"], signature=row["signature"], oracle=row["oracle"], culprit=row["culprit"], kind=row["kind"],
        message=row["message"], frames=frames, count=row["count"], state=FindingState(row["state"]),
        first_seen_seconds=row["first_seen"], last_seen_seconds=row["last_seen"],
        case=Case.from_json(row["case_json"]), minimized=None if minimized is None else Case.from_json(minimized),
        bindings=row["bindings"], repro=row["repro"], note=row["note"],
        evidence=Evidence(row["kind"], row["message"], frames, row["expected"], row["observed"]),
        traits=traits,
    )  # fmt: skip
