"""The store of a campaign: one SQLite file in its directory, one writer, any number of readers."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from fuzzer import budget_store, coverage_store, finding_store, regression_store, timeline
from fuzzer.bisection import Bisected
from fuzzer.budget import Account
from fuzzer.budget_store import PieceYield
from fuzzer.cases import Case
from fuzzer.families import UNKNOWN, Traits
from fuzzer.finding_store import Cost
from fuzzer.guidance import Guide, piece_to_json, pool_to_json
from fuzzer.pool import Pool
from fuzzer.records import CampaignInfo, FindingRecord, FindingState, Hit, ShardResult, Tally
from fuzzer.regression import Earlier
from fuzzer.store_file import FILE_NAME, LOCK_NAME, StoreError, connect, take_lock, told
from fuzzer.store_reading import StoreReader, verdict_of
from oracles.plugins import announce

__all__ = [
    "FILE_NAME",
    "CampaignInfo",
    "FindingRecord",
    "FindingState",
    "Store",
    "StoreError",
    "Tally",
    "told",
    "verdict_of",
]

FORMAT = "relaxfuzz-campaign-4"
MET_SHARD = 1 << 40
"""Added to the shard of a finding whose minimization met another one: behind all that are drawn."""
MOST_MET = 20
"""Findings of a campaign that only minimization met: each is triaged like any other."""
_NEW = f"{FILE_NAME}.new"
_INDEX = "CREATE INDEX IF NOT EXISTS findings_by_state ON findings (state, shard, number, id);"
"""What waits for triage is asked after each shard; without it all evidence would be read."""
_ADDED = timeline.SCHEMA + finding_store.SCHEMA + regression_store.SCHEMA + budget_store.SCHEMA + _INDEX


class Store(StoreReader):
    """A campaign's records.

    Use :meth:`create`, :meth:`open`; close it when done (it is a context manager).
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        super().__init__(directory, connection)
        self._lock = lock
        self._growth = timeline.Growth()

    # -- opening ------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, directory: Path, meta: dict[str, str]) -> Store:
        """A new campaign in an empty or missing directory; raises ``StoreError``."""
        directory = Path(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if any(not _is_begun(entry.name) for entry in directory.iterdir()):
                raise StoreError(f"'{directory}' is not empty and holds no campaign")
            lock = take_lock(directory)
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"cannot write '{directory}': {error.strerror}") from error
        path, partial = directory / FILE_NAME, directory / _NEW
        try:
            # Under another name first: a killed creation leaves no half-made campaign behind.
            for left in directory.glob(f"{partial.name}*"):
                left.unlink()
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
        if (config := store.meta().get("config")) is not None:
            announce(json.loads(config).get("plugins", ()))
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

    # -- writing ------------------------------------------------------------------------------------------------

    def set_meta(self, **facts: str) -> None:
        """Change facts of the campaign."""
        with self._writing():
            self._growth = self._growth.flushed(self._db)
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def record_shard(self, result: ShardResult, elapsed: float) -> list[str]:
        """As :meth:`record_shards`, of one piece."""
        return self.record_shards([result], result, elapsed)

    def record_shards(
        self, results: Sequence[ShardResult], total: ShardResult, elapsed: float, yields: Sequence[PieceYield] = ()
    ) -> list[str]:
        """Record pieces of shards at once, or nothing; returns the ids that are new.

        The pieces of one shard must come in order. ``total``: ``total_of(results)``. ``elapsed``: campaign time in s.
        ``yields``: What each gave, where the budget follows it.

        Raises:
            StoreError: when they cannot be written, or one is recorded already.
        """
        fresh: list[str] = []
        with self._writing():
            self._db.executemany(
                "INSERT INTO shards VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        result.number, result.first, result.stop, result.examples, result.modules, result.discarded,
                        result.coverage.bindings, result.coverage.neighbours, result.coverage.repeated,
                        result.coverage.outdone,
                    )
                    for result in results
                ],
            )  # fmt: skip
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('elapsed', ?)", (f"{elapsed:.3f}",))
            self._db.executemany(
                "INSERT INTO tallies VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(*key, count) for key, count in total.tallies.items()],
            )
            coverage_store.add(self._db, total.coverage)
            for result in results:
                if result.origins or result.deeds:
                    piece = piece_to_json(result.origins, result.deeds)
                    self._db.execute("INSERT INTO pieces VALUES (?, ?, ?)", (result.number, result.first, piece))
            for finding_id, (number, hit) in _earliest(results).items():
                if self._record_hit(finding_id, number, hit.counted(total.hits[finding_id].count), elapsed):
                    fresh.append(finding_id)
            budget_store.add(self._db, yields)
            growth = self._growth.add(self._db, total, elapsed)
            finding_store.add_cost(self._db, {key: Cost(judging=taken) for key, taken in total.failing.items()})
        self._growth = growth
        return fresh

    def _record_hit(self, finding_id: str, shard: int, hit: Hit, elapsed: float) -> bool:
        query = "SELECT shard, number, state, repro IS NULL FROM findings WHERE id = ?"
        row = self._db.execute(query, (finding_id,)).fetchone()
        if row is not None:
            self._db.execute(
                "UPDATE findings SET count = count + ?, last_seen = ? WHERE id = ?",
                (hit.count, elapsed, finding_id),
            )
            unseen = row[2] == FindingState.NEW.value or (row[2] == FindingState.KNOWN.value and row[3])
            if not unseen or (row[0], row[1]) <= (shard, hit.index):
                return False
            # An earlier case of a finding that nobody looked into: it speaks for it, whichever worker was faster.
        evidence = hit.verdict.evidence
        assert evidence is not None
        values: dict[str, str | int | float] = {
            "signature": hit.signature.text, "oracle": hit.signature.oracle.value, "culprit": hit.signature.culprit,
            "kind": hit.signature.kind, "message": evidence.message, "frames": json.dumps(evidence.frames),
            "expected": evidence.expected, "observed": evidence.observed, "shard": shard, "number": hit.index,
            "case_json": hit.case.to_json(),
        }  # fmt: skip
        if row is None:
            values |= {"id": finding_id, "count": hit.count, "state": FindingState.NEW.value,
                       "first_seen": elapsed, "last_seen": elapsed}  # fmt: skip
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            self._db.execute(f"INSERT INTO findings ({names}) VALUES ({marks})", tuple(values.values()))
            return True
        changes = ", ".join(f"{name} = ?" for name in values)
        self._db.execute(f"UPDATE findings SET {changes} WHERE id = ?", (*values.values(), finding_id))
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
                met_id = hit.signature.id
                if there + len(fresh) < MOST_MET and self._record_hit(met_id, shard, hit, elapsed):
                    fresh.append((shard, met_id))
        return fresh

    def save_bisection(self, finding_id: str, bisected: Bisected) -> None:
        """Record in which releases of TVM a finding is."""
        with self._writing():
            finding_store.save_bisection(self._db, finding_id, bisected)

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

    def save_regression(self, earlier: Earlier) -> None:
        """Record what became of an earlier finding."""
        with self._writing():
            regression_store.save(self._db, earlier)

    # -- guidance -----------------------------------------------------------------------------------------------

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

    # -- budget -------------------------------------------------------------------------------------------------

    def save_account(self, account: Account, shards: range, epoch: int, shares: Mapping[str, int], oldest: int) -> None:
        """Record what passes yielded, and the shares that follow from it (``fuzzer.budget_store.save``)."""
        with self._writing():
            budget_store.save(self._db, account, shards, epoch, shares, oldest)

    # -- inside -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield
        except (sqlite3.Error, OSError) as error:
            raise told(error, self.directory) from error


def _earliest(results: Sequence[ShardResult]) -> dict[str, tuple[int, Hit]]:
    """The first sighting of each finding in the order of shards, and its shard; in the order in which they came."""
    found: dict[str, tuple[int, Hit]] = {}
    for result in results:
        for finding_id, hit in result.hits.items():
            known = found.get(finding_id)
            if known is None or (result.number, hit.index) < (known[0], known[1].index):
                found[finding_id] = result.number, hit
    return found


def _is_begun(name: str) -> bool:
    """Whether a file is what a killed creation leaves behind."""
    return name == LOCK_NAME or name.startswith(_NEW)
