"""The store of a campaign: one SQLite file in its directory, one writer, any number of readers."""

from __future__ import annotations

import contextlib
import datetime
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

import msgspec

from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment
from fuzzer.findings.family import UNKNOWN, Traits
from fuzzer.findings.releases import Bisected
from fuzzer.findings.script_parts import ScriptParts
from fuzzer.store import door, timeline, trust
from fuzzer.store.database import (
    COVERAGE,
    FILE_NAME,
    LOCK_NAME,
    StoreError,
    add_rows,
    connect,
    open_file,
    store_error,
    take_lock,
)  # fmt: skip
from fuzzer.store.reader import StoreReader
from fuzzer.store.records import (
    CampaignInfo,
    CampaignState,
    Earlier,
    FindingRecord,
    FindingState,
    ShardResult,
    SignatureHits,
    Tally,
)
from relaxkit.files import make_directory

__all__ = ["FILE_NAME", "CampaignInfo", "FindingRecord", "FindingState", "Store", "StoreError", "Tally", "store_error"]

MET_SHARD = 1 << 40
"""Added to the shard of a finding whose minimization met another one: behind all that are drawn."""
MOST_MET = 20
"""Findings of a campaign that only minimization met: each is triaged like any other."""
_NEW = f"{FILE_NAME}.new"


class Store(StoreReader):
    """A campaign's records.

    Use :meth:`create`, :meth:`open`; close it when done (it is a context manager).

    Attributes:
        sealer: Seals the rows that it writes; none where something in the campaign is not the user's.
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        super().__init__(directory, connection)
        self._lock = lock
        self._place = self._found()
        self._growth = timeline.Growth()
        # What is written beside rows of others stays unsealed: a changed row keeps what others put into it.
        self.sealer = trust.Sealer() if lock is None or trust.foreign(self) else trust.Sealer.of(self.meta())

    # -- opening ------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, directory: Path, meta: dict[str, str], *, own: bool = True) -> Store:
        """A new campaign in an empty or missing directory, this user's ``own`` or not; raises ``StoreError``."""
        directory = Path(directory)
        try:
            make_directory(directory)
            names = [each.name for each in directory.iterdir() if not each.name.startswith(_NEW)]
            if names not in ([], [LOCK_NAME]):  # what a killed creation leaves behind
                raise StoreError(f"'{directory}' is not empty and contains no campaign")
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
            fresh = open_file(partial)
            fresh.executescript(resources.files("fuzzer.store").joinpath("schema.sql").read_text())
            fresh.execute("PRAGMA journal_mode = WAL")  # here: a database with a journal beside it is none of ours
            begun = {"format": door.FORMAT, "started_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
                     "elapsed": "0", "state": CampaignState.RUNNING, **meta}  # fmt: skip
            if own and (seal := trust.Sealer.of(begun).campaign):
                begun["seal"] = seal
            with fresh:
                fresh.executemany("INSERT INTO meta VALUES (?, ?)", begun.items())
            fresh.close()
            partial.replace(path)
            return cls(directory, connect(path), lock)
        except (sqlite3.Error, OSError) as error:
            os.close(lock)
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise store_error(error, directory) from error

    @classmethod
    def open(
        cls, directory: Path, read_only: bool = True, admit: Callable[[StoreReader], None] = lambda _: None
    ) -> Store:
        """An existing campaign; raises ``StoreError`` when there is none, it is damaged, or another writes it.

        ``admit`` raises what speaks against writing it, before anything in its directory is touched.
        """
        directory = Path(directory)
        lock = None
        try:
            connection = door.enter(directory)
            if read_only:
                return cls(directory, connection, None)
            with contextlib.closing(connection):  # a file that is not ours, or damaged, is left as it is
                admit(StoreReader(directory, connection))
            lock = take_lock(directory)
            return cls(directory, connect(directory / FILE_NAME), lock)
        except StoreError:
            if lock is not None:
                os.close(lock)
            raise
        except (sqlite3.Error, OSError) as error:
            if lock is not None:
                os.close(lock)
            raise store_error(error, directory) from error

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

    def record_shards(self, results: Sequence[ShardResult], total: ShardResult, elapsed: float) -> list[str]:
        """Record pieces of shards at once, or nothing; returns the ids that are new.

        The pieces of one shard must come in order. ``total``: ``total_of(results)``. ``elapsed``: campaign time in s.

        Raises:
            StoreError: when they cannot be written, or one is recorded already.
        """
        fresh: list[str] = []
        with self._writing():
            self._db.executemany(
                "INSERT INTO shards VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        result.number, result.first, result.stop, result.examples, result.modules, result.discarded,
                        result.coverage.bindings,
                    )
                    for result in results
                ],
            )  # fmt: skip
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('elapsed', ?)", (f"{elapsed:.3f}",))
            add_rows(self._db, "tallies", [(*key, count) for key, count in total.tallies.items()])
            for table, keys in COVERAGE.items():
                counts = getattr(total.coverage, table).items()
                add_rows(self._db, table, counts if keys == 1 else [(*key, count) for key, count in counts])
            for finding_id, (number, hit) in _earliest(results).items():
                if self._record_hit(finding_id, number, hit.counted(total.hits[finding_id].count), elapsed):
                    fresh.append(finding_id)
            self._db.executemany(
                "INSERT INTO reached VALUES (?, ?) ON CONFLICT DO UPDATE SET shard = excluded.shard "
                "WHERE excluded.shard < shard",
                [(block, result.number) for result in results for block in result.reached],
            )
            self._db.executemany(
                "INSERT INTO entered VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET shard = excluded.shard, "
                "example = excluded.example WHERE (excluded.shard, excluded.example) < (shard, example)",
                [(function, result.number, at) for result in results for function, at in result.entered.items()],
            )
            self._db.executemany(
                "INSERT INTO lines VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET ran = max(ran, excluded.ran)",
                [(place, line, ran) for (place, line), ran in total.lines.items()],
            )
            growth = self._growth.add(self._db, total, elapsed)
            add_rows(self._db, "costs", [(each, taken, 0.0) for each, taken in total.failing.items()])
        self._growth = growth
        return fresh

    def _record_hit(self, finding_id: str, shard: int, hit: SignatureHits, elapsed: float) -> bool:
        query = "SELECT shard, number, state, repro IS NULL FROM findings WHERE id = ?"
        row = self._db.execute(query, (finding_id,)).fetchone()
        if row is not None:
            self._db.execute(
                "UPDATE findings SET count = count + ?, last_seen = ? WHERE id = ?", (hit.count, elapsed, finding_id)
            )
            unseen = row[2] == FindingState.NEW.value or (row[2] == FindingState.KNOWN.value and row[3])
            if not unseen or (row[0], row[1]) <= (shard, hit.index):
                return False
            # An earlier case of a finding that nobody looked into: it speaks for it, whichever worker was faster.
        values: dict[str, str | int | float] = {
            "signature": hit.signature.text, "oracle": hit.signature.oracle.value, "culprit": hit.signature.culprit,
            "evidence": _text(hit.verdict.evidence), "shard": shard, "number": hit.index,
            "case_json": hit.case.to_json(),
        }  # fmt: skip
        if row is None:
            values |= {"id": finding_id, "count": hit.count, "state": FindingState.NEW.value,
                       "first_seen": elapsed, "last_seen": elapsed}  # fmt: skip
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            self._db.execute(f"INSERT INTO findings ({names}) VALUES ({marks})", tuple(values.values()))
        else:
            changes = ", ".join(f"{name} = ?" for name in values)
            self._db.execute(f"UPDATE findings SET {changes} WHERE id = ?", (*values.values(), finding_id))
        self._seal(finding_id)
        return row is None

    def spend(self, seconds: Mapping[tuple[str, str], float]) -> None:
        """Add workers' seconds by step and pass (``fuzzer.shard.shard``)."""
        with self._writing():
            add_rows(self._db, "spent", [(*key, taken) for key, taken in seconds.items()])

    def record_met(self, finding_id: str, met: Sequence[SignatureHits], elapsed: float) -> list[tuple[int, str]]:
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
            self._db.execute("UPDATE findings SET bisected = ? WHERE id = ?", (_text(bisected), finding_id))

    def save_best(self, finding_id: str, minimized: Case) -> None:
        """Record how far the minimization of a finding has come, so that it can be gone on with."""
        with self._writing():
            self._db.execute(
                "UPDATE findings SET minimized_json = ? WHERE id = ? AND state = ?",
                (minimized.to_json(), finding_id, FindingState.NEW.value),
            )
            self._seal(finding_id)

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
        parts: ScriptParts | None = None,
        assessed: Assessment | None = None,
    ) -> None:
        """Record what triage found out, and the seconds that it took."""
        text = None if minimized is None else minimized.to_json()
        if parts is not None and repro is not None:
            with contextlib.suppress(StoreError):  # without a script there is nothing to run
                parts = replace(parts, digest=trust.digest(door.read_script(self.directory, repro)))
        with self._writing():
            self._db.execute(
                "UPDATE findings SET state = ?, minimized_json = ?, bindings = ?, repro = ?, parts = ?, note = ?, "
                "traits = coalesce(?, traits), assessment = coalesce(?, assessment) WHERE id = ?",
                (
                    state.value, text, bindings, repro, parts and _text(parts), note,
                    None if traits == UNKNOWN else _text(traits), assessed and _text(assessed), finding_id,
                ),
            )  # fmt: skip
            self._seal(finding_id)
            if seconds:
                add_rows(self._db, "costs", [(finding_id, 0.0, seconds)])

    def disown(self) -> None:
        """Break the campaign's seal: what it holds from now on is trusted only because the user says so."""
        with self._writing():
            self._db.execute("DELETE FROM meta WHERE key = 'seal'")
        self.sealer = trust.Sealer()

    def save_regression(self, earlier: Earlier) -> None:
        """Record what became of an earlier finding."""
        row = {"source": earlier.source, "id": earlier.id, "state": earlier.state.value, "body": _text(earlier)}
        row["seal"] = self.sealer.row("regressions", row)
        with self._writing():
            self._db.execute("INSERT OR REPLACE INTO regressions VALUES (?, ?, ?, ?, ?)", tuple(row.values()))

    # -- inside -------------------------------------------------------------------------------------------------

    def _seal(self, finding_id: str) -> None:
        """Seal a finding as it is now, in the transaction that has changed it."""
        for row in self._db.execute("SELECT * FROM findings WHERE id = ?", (finding_id,)).fetchall():
            seal = self.sealer.row("findings", dict(row))
            self._db.execute("UPDATE findings SET seal = ? WHERE id = ?", (seal, finding_id))

    def _found(self) -> int:
        """Number of the file that stands where the database should; 0 where none does."""
        try:
            return (self.directory / FILE_NAME).stat().st_ino
        except OSError:
            return 0

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        if self._found() != self._place:  # SQLite would write on into a file that has no name any more
            raise StoreError(f"'{self.directory / FILE_NAME}' is no longer there: nothing more can be recorded")
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield
        except (sqlite3.Error, OSError) as error:
            raise store_error(error, self.directory) from error


def _text(record: object) -> str:
    return msgspec.json.encode(record, order="deterministic").decode()


def _earliest(results: Sequence[ShardResult]) -> dict[str, tuple[int, SignatureHits]]:
    """The first sighting of each finding in the order of shards, and its shard; in the order in which they came."""
    found: dict[str, tuple[int, SignatureHits]] = {}
    for result in results:
        for finding_id, hit in result.hits.items():
            known = found.get(finding_id)
            if known is None or (result.number, hit.index) < (known[0], known[1].index):
                found[finding_id] = result.number, hit
    return found
