"""Shards that go to a Dask worker together: which do, and that each of them gives what it gives alone."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'relaxfuzz[dask]'")

from fuzzer.cluster import dask_executor, dask_worker
from fuzzer.cluster.dask_client import DaskConnection
from fuzzer.cluster.dask_executor import MOST_SHARDS, DaskExecutor, ShardRate
from fuzzer.cluster.executor import CampaignStopped, ExecutorError
from fuzzer.cluster.messages import ShardReply, ShardRequest
from fuzzer.core.config import Config
from fuzzer.shard.shard import ShardTask
from fuzzer.store.records import ShardResult
from relaxkit.passes.contract import OracleName

CONFIG = Config(5, ("Normalize",), (), (OracleName.CRASH,), None, 60.0, 1)


@pytest.mark.parametrize(
    ("seconds", "workers", "size"),
    [
        (4.0, 2, 1),  # a campaign on one machine
        (4.0, 16, 1),
        (0.1, 2, 10),
        (0.0, 2, MOST_SHARDS),
        (4.0, 40, 2),  # many workers have many shards a second together
        (4.0, 400, 5),
        (100.0, 400, 1),
    ],
)
def test_so_many_go_together(seconds: float, workers: int, size: int) -> None:
    pace = ShardRate()
    assert pace.size(workers) == 1, "nothing is known yet"
    pace.took(seconds)
    assert pace.size(workers) == size


def test_what_shards_took_long_ago_is_forgotten() -> None:
    pace = ShardRate()
    for seconds in (*[0.0] * 1000, *[4.0] * 32):
        pace.took(seconds)
    assert pace.size(2) == 1


# -- on the campaign's side ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def link() -> Iterator[DaskConnection]:
    with DaskConnection("local:1", lambda _: None) as link:
        yield link


@pytest.fixture
def executor(link: DaskConnection, tmp_path: Path) -> Iterator[DaskExecutor]:
    executor = DaskExecutor(link, CONFIG, tmp_path, tmp_path / "log", threading.Event(), threading.Event())
    yield executor
    executor.kill()
    executor.close()


def answering(seconds: float, share: float) -> Callable[[ShardRequest, Any], ShardReply]:
    """A worker that has time for a share of what it is given; a result tells with how many it came."""

    def answer(parcel: ShardRequest, _: Any) -> ShardReply:
        from fuzzer.store.records import ShardResult

        size = len(parcel.tasks)
        told = [
            ShardResult(task.number, task.first, task.limit, size, spent={("other", ""): seconds})
            for task in parcel.tasks
        ]
        return ShardReply(tuple(told[: max(1, int(share * size))]), b"")

    return answer


def handed_out(executor: DaskExecutor) -> list[int]:
    """With how many others each of a hundred shards was handed out, after the first one."""
    assert executor.slots == 2
    assert executor.shard(ShardTask(CONFIG, 0)).result(timeout=60).examples == 1
    futures = [executor.shard(ShardTask(CONFIG, number)) for number in range(1, 101)]
    results = [future.result(timeout=60) for future in futures]
    assert [result.number for result in results] == list(range(1, 101))
    return [result.examples for result in results]


def test_fast_shards_go_together(executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_worker, "run_shards", answering(0.01, 1.0))
    sizes = handed_out(executor)
    assert max(sizes) == MOST_SHARDS
    assert executor.slots == 2 * MOST_SHARDS
    assert sum(1 / size for size in sizes) <= 6, "few tasks"


def test_shards_that_come_one_by_one_wait_for_each_other(
    executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_worker, "run_shards", answering(0.01, 1.0))
    monkeypatch.setattr(dask_executor, "_GATHER", 0.5)
    executor.shard(ShardTask(CONFIG, 0)).result(timeout=60)
    futures = []
    for number in range(5):
        futures.append(executor.shard(ShardTask(CONFIG, number)))
        time.sleep(0.01)
    assert [future.result(timeout=60).examples for future in futures] == [5] * 5


def test_slow_shards_go_one_by_one(executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_worker, "run_shards", answering(4.0, 1.0))
    assert handed_out(executor) == [1] * 100
    assert executor.slots == 2


def test_shards_that_a_worker_had_no_time_for_are_handed_out_again(
    executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_worker, "run_shards", answering(0.01, 0.4))
    assert max(handed_out(executor)) > 1


def test_an_error_ends_all_that_went_together(executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_worker, "run_shards", answering(0.01, 1.0))
    executor.shard(ShardTask(CONFIG, 0)).result(timeout=60)

    def full(*_: object) -> None:
        raise dask_executor.WorkerFault("tcp://there", "OSError: No space left on device")

    monkeypatch.setattr(dask_worker, "run_shards", full)
    for future in [executor.shard(ShardTask(CONFIG, number)) for number in range(3)]:
        with pytest.raises(ExecutorError, match="No space left"):
            future.result(timeout=60)


# -- on the worker's side ------------------------------------------------------------------------------------------


@dataclass
class _Workers:
    """Instead of isolated processes; ``then`` is what happens after so many shards."""

    after: int
    then: Callable[[], None]
    ran: list[int] = field(default_factory=list)

    def run_shard(self, task: ShardTask, _: threading.Event) -> ShardResult:
        if len(self.ran) == self.after:
            self.then()
        self.ran.append(task.number)
        return ShardResult(task.number, task.first, task.limit, 64)


@dataclass
class _Session:
    workers: _Workers
    cut: threading.Event = field(default_factory=threading.Event)

    def places(self, _: Sequence[object]) -> dict[str, str]:
        return {}

    def printed(self) -> bytes:
        return b"said"


def replied(session: _Session, monkeypatch: pytest.MonkeyPatch, seconds: float = 60.0) -> list[tuple[int, int]]:
    """What a worker says of five shards: number and examples."""

    @contextlib.contextmanager
    def working(*_: object) -> Iterator[_Session]:
        yield session

    monkeypatch.setattr(dask_worker, "_working", working)
    parcel = ShardRequest("session", {}, tuple(ShardTask(CONFIG, number) for number in range(5)), seconds)
    reply = dask_worker.run_shards(parcel, ())
    assert reply.log == b"said"
    return [(result.number, result.examples) for result in reply.results]


def test_a_worker_runs_all_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert replied(_Session(_Workers(9, lambda: None)), monkeypatch) == [(number, 64) for number in range(5)]


def test_a_worker_begins_no_further_shard_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _Session(_Workers(9, lambda: None))
    assert replied(session, monkeypatch, seconds=0.0) == [(0, 64)]
    assert session.workers.ran == [0]


def test_shards_behind_one_that_was_cut_give_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _Session(_Workers(2, lambda: session.cut.set()))
    assert replied(session, monkeypatch) == [(0, 64), (1, 64), (2, 64), (3, 0), (4, 0)]


def test_what_was_judged_before_the_campaign_was_killed_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed() -> None:
        raise CampaignStopped

    assert replied(_Session(_Workers(2, killed)), monkeypatch) == [(0, 64), (1, 64)]
    with pytest.raises(CampaignStopped):
        replied(_Session(_Workers(0, killed)), monkeypatch)
