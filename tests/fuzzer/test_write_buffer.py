"""The ledger: results that are recorded together are what they are one by one, and none is left behind."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.campaign.campaign import Campaign
from fuzzer.campaign.progress import Progress
from fuzzer.campaign.write_buffer import WAIT_SECONDS, WriteBuffer
from fuzzer.cluster.executor import CampaignStopped
from fuzzer.core.config import Config
from fuzzer.shard.shard import ShardTask
from fuzzer.store.records import ShardResult
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from fuzzer.triage.finding import TriageJob, TriageResult
from relaxkit.passes.contract import OracleName


def results() -> list[ShardResult]:
    """Pieces of four shards; findings that come again, and one whose case a later result takes over."""
    found = [
        shard(1, hit("boom", 3, 1, "module 1"), stop=10),
        shard(1, hit("bang", 12), first=10),
        shard(0, hit("boom", 1, 4, "module 0")),
        shard(3, hit("boom", 9, 2), hit("bang", 10, 3)),
        shard(2),
    ]
    for number, result in enumerate(found):
        result.failing = dict.fromkeys(result.hits, 0.25 * (number + 1))
        result.spent = {("crash", "FuseOps"): 1.0 + number, ("draw", ""): 0.5}
    return found


def everything(directory: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables."""
    with sqlite3.connect(directory / FILE_NAME) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        database.execute("UPDATE findings SET seal = ''")  # tells campaigns apart
        rows = {name: sorted(database.execute(f"SELECT * FROM {name}").fetchall(), key=str) for name in names}
        database.rollback()
    rows["meta"] = [row for row in rows["meta"] if row[0] not in ("started_at", "seal")]
    return rows


def test_results_that_are_recorded_together_are_what_they_are_one_by_one(tmp_path: Path) -> None:
    with Store.create(tmp_path / "one", META) as store:
        single = [finding_id for result in results() for finding_id in store.record_shard(result, 5.0)]
        store.set_meta(state="finished")
    with Store.create(tmp_path / "two", META) as store:
        ledger = WriteBuffer(store)
        for result in results():
            ledger.add(result)
        entry = ledger.write(5.0)
        store.set_meta(state="finished")
    assert entry is not None
    assert list(entry.fresh) == single
    assert entry.results == tuple(results())
    assert entry.total.examples == 4 * 64
    assert everything(tmp_path / "two") == everything(tmp_path / "one")


def test_all_or_nothing_is_recorded(tmp_path: Path) -> None:
    with Store.create(tmp_path / "out", META) as store:
        ledger = WriteBuffer(store)
        store.record_shard(shard(2), 1.0)
        before = everything(tmp_path / "out")
        for result in results():
            ledger.add(result)
        with pytest.raises(StoreError):  # shard 2 is recorded already
            ledger.write(5.0)
        assert everything(tmp_path / "out") == before


def test_shards_wait_for_each_other_and_a_new_finding_does_not(tmp_path: Path) -> None:
    now = 100.0
    with Store.create(tmp_path / "out", META) as store:
        ledger = WriteBuffer(store, lambda: now)
        assert ledger.write(1.0) is None
        assert not ledger.due, "nothing waits"
        ledger.add(shard(0, hit("boom", 1)))
        assert ledger.due, "the first one is recorded as it comes"
        assert ledger.write(1.0)
        ledger.add(shard(1, hit("boom", 1)))
        now += WAIT_SECONDS / 2
        ledger.add(shard(2))
        assert not ledger.due
        now += WAIT_SECONDS / 2
        assert ledger.due
        assert ledger.write(2.0)
        ledger.add(shard(3))
        ledger.add(shard(4, hit("bang", 1)))
        assert ledger.due, "triage has to be told of it"
        assert ledger.write(2.0)
        assert store.shards() == dict.fromkeys(range(5), 64)
    with Store.open(tmp_path / "out", read_only=False) as store:
        ledger = WriteBuffer(store, lambda: now)
        ledger.add(shard(5))
        assert ledger.write(3.0)
        ledger.add(shard(6, hit("bang", 1)))
        assert not ledger.due, "of a session before"


SLOW = 1
"""A shard that is under way until the last one is: what comes meanwhile waits."""
SHARDS = 20


class _Crew:
    """Gives results at once, but for one."""

    workers = slots = 2
    judged = 0

    def __init__(self, result: Callable[[ShardTask], ShardResult]) -> None:
        self._result = result
        self._slow: list[tuple[Future[ShardResult], ShardTask]] = []

    def shard(self, task: ShardTask) -> Future[ShardResult]:
        done: Future[ShardResult] = Future()
        if task.number == SLOW and task.first == 0:
            self._slow.append((done, task))
            return done
        if task.number == SHARDS - 1 and self._slow:
            future, slow = self._slow.pop()
            future.set_result(self._result(slow))
        try:
            done.set_result(self._result(task))
        except RuntimeError as error:
            done.set_exception(error)
        return done

    def triage(self, job: TriageJob) -> Future[TriageResult]:
        raise AssertionError("nothing is found here that triage would look into")

    def kill(self) -> None:
        while self._slow:
            self._slow.pop()[0].set_exception(CampaignStopped())

    def close(self) -> None:
        pass


def campaign(store: Store, result: Callable[[ShardTask], ShardResult]) -> Campaign:
    what = Config(7, ("FuseOps",), (), (OracleName.CRASH,), 64 * SHARDS, None, 2)
    return Campaign(store, what, Progress(what, io.StringIO()), executor=lambda *_: _Crew(result))


def test_a_campaign_records_what_waits_when_it_ends(tmp_path: Path) -> None:
    with Store.create(tmp_path / "out", META) as store:
        assert campaign(store, lambda task: shard(task.number)).run() == "finished"
        assert store.shards() == dict.fromkeys(range(SHARDS), 64)


def test_a_campaign_records_what_waits_when_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzer.campaign.campaign.STOP_SECONDS", 0.1)
    came: list[int] = []

    def result(task: ShardTask) -> ShardResult:
        came.append(task.number)
        if len(came) == 10:
            begun.stop()
        return shard(task.number)

    with Store.create(tmp_path / "out", META) as store:
        begun = campaign(store, result)
        assert begun.run() == "interrupted"
        assert store.shards() == dict.fromkeys(came, 64)
        assert len(came) == 10


def test_a_campaign_records_what_waits_when_an_error_ends_it(tmp_path: Path) -> None:
    def result(task: ShardTask) -> ShardResult:
        if task.number == 8:
            raise RuntimeError("an error of ours")
        return shard(task.number)

    with Store.create(tmp_path / "out", META) as store:
        with pytest.raises(RuntimeError, match="of ours"):
            campaign(store, result).run()
        assert store.shards() == dict.fromkeys(set(range(8)) - {SLOW}, 64)


def test_pieces_of_a_shard_that_wait_together_are_in_order(tmp_path: Path) -> None:
    def result(task: ShardTask) -> ShardResult:
        return shard(task.number, first=task.first, stop=min(task.first + 20, 64))

    with Store.create(tmp_path / "out", META) as store:
        running = campaign(store, result)
        assert running.run() == "finished"
        assert store.shards() == running._done == dict.fromkeys(range(SHARDS), 64)
        assert store.info().examples == SHARDS * 64
        assert sum(tally.count for tally in store.tallies()) == SHARDS * 64
