"""Batches: what a shard gives does not depend on how many messages tell it, nor on when its process died."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import dying_shards
import pytest
from dying_shards import Dying

from fuzzer.shard import run as shard_run
from fuzzer.shard import run as shardrun
from fuzzer.shard.run import PartialResult, ShardAccumulator, ShardEvent, batched
from fuzzer.shard.shard import ExampleBegun, ExampleDone, ModuleDrawn, ShardTask, run_shard
from fuzzer.store.records import ShardResult, total_of
from fuzzer.worker.worker import IsolatedWorker

TASK = ShardTask(dying_shards.config(), 2)


@pytest.fixture(scope="module")
def said() -> list[ShardEvent]:
    return list(run_shard(TASK))


def collected(items: list[ShardEvent | PartialResult]) -> ShardResult:
    collector = ShardAccumulator(TASK)
    for item in items:
        collector.add(item)
    return collector.result


def test_batches_give_what_their_items_give(said: list[ShardEvent], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = collected([*said])
    assert any(hit.count > 2 for hit in expected.hits.values()), "or else this test says little"
    (whole,) = batched(TASK, said)
    assert isinstance(whole, PartialResult)
    assert collected([whole]) == expected

    monkeypatch.setattr(shard_run, "flush_asked", lambda: True)
    (first,) = batched(TASK, said)
    assert collected([first]).stop == 1, "the rest is for another piece"
    assert sum(expected.failing.values()) == pytest.approx(
        sum(item.taken for item in said if isinstance(item, ExampleDone) and item.failures)
    )


@pytest.mark.parametrize("room", [1, 2, 7])
def test_a_full_journal_ends_a_batch(said: list[ShardEvent], monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    used = 0

    def record_unsent(item: object) -> bool:
        nonlocal used
        used += 1
        return used <= room and not (isinstance(item, ModuleDrawn) and item.number == 3)

    told: list[ShardEvent | PartialResult] = []
    monkeypatch.setattr(shard_run, "record_unsent", record_unsent)
    for item in batched(TASK, said):
        told.append(item)
        used = 0
    assert len(told) > len(said) // (room + 1)
    assert any(isinstance(item, ModuleDrawn) for item in told), "longer than a journal: told as it is"
    assert collected(told) == collected([*said])


def test_a_batch_names_the_example_that_is_being_judged(said: list[ShardEvent]) -> None:
    begun = [item for item in said if isinstance(item, ExampleBegun)][5]
    child, parent = ShardAccumulator(TASK), ShardAccumulator(TASK)
    for item in said[: said.index(begun) + 1]:
        child.add(item)
    parent.add(child.flush())
    assert parent.current == begun, "should the process die now, this is the one"
    assert parent.result.stop == begun.index
    assert child.current is None


def pieces(monkeypatch: pytest.MonkeyPatch, run: Dying) -> list[ShardResult]:
    """The pieces of the shard, as a campaign gets them."""
    monkeypatch.setattr(shardrun, "run_batched", run)
    found: list[ShardResult] = []
    with IsolatedWorker(time_limit=1.0) as worker:
        first = 0
        while first < TASK.limit:
            task = ShardTask(TASK.config, TASK.number, first)
            found.append(shardrun.run_isolated(worker, task, threading.Event()))
            first = found[-1].stop
    return found


def test_deaths_are_told_alike_one_by_one_and_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one = pieces(monkeypatch, Dying(tmp_path / "one", batched=False))
    together = pieces(monkeypatch, Dying(tmp_path / "two", batched=True))
    assert together == one_by_one
    kinds = [hit.verdict.evidence.kind for each in together for hit in each.hits.values() if hit.verdict.evidence]
    assert kinds.count("signal 11") == len(dying_shards.CRASHES)
    assert kinds.count("hang") == 1
    assert "signal 9" not in kinds, "somebody else may have been that"
    hung = [each.stop - 1 for each in together if any(hit.signature.kind == "hang" for hit in each.hits.values())]
    assert hung == [dying_shards.HANG]
    judged = [int(line) for line in (tmp_path / "two").read_text().split() if line != "-1"]
    assert judged == sorted(set(judged)), "nothing is judged twice"
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()


def test_a_shard_that_is_cut_short_says_what_it_has_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shardrun, "run_batched", Dying(tmp_path / "notes", batched=True, deadly=False, pause=0.2))
    stop = threading.Event()
    with IsolatedWorker(time_limit=20.0) as worker:
        worker.call(len, "")  # started
        threading.Timer(2.0, stop.set).start()
        result = shardrun.run_isolated(worker, TASK, stop)
    judged = len((tmp_path / "notes").read_text().split())
    assert 0 < result.stop < TASK.limit
    assert result.stop <= judged <= result.stop + 1
    assert result.examples == result.stop


def test_a_shard_of_slow_cases_is_told_of_in_pieces_by_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign that was killed after 42 s had recorded nothing of 78 cases, since no shard had come to its end."""
    alike = pieces(monkeypatch, Dying(tmp_path / "whole", batched=True, deadly=False))
    monkeypatch.setattr(shardrun, "PIECE_SECONDS", 0.5)
    started: list[str] = []
    monkeypatch.setattr(IsolatedWorker, "fresh", lambda _: started.append("another process"))
    found = pieces(monkeypatch, Dying(tmp_path / "notes", batched=True, deadly=False, pause=0.1))
    assert len(found) > 2
    assert [each.stop for each in found[:-1]] == [each.first for each in found[1:]]
    whole, told = alike[0], total_of(found)
    assert replace(told, number=whole.number, hits={}) == replace(whole, hits={})
    assert [(name, hit.count) for name, hit in told.hits.items()] == [
        (name, hit.count) for name, hit in whole.hits.items()
    ]
    judged = [int(line) for line in (tmp_path / "notes").read_text().split()]
    assert judged == sorted(set(judged)), "nothing is judged twice"
    assert started == []


def test_a_shard_that_is_killed_leaves_what_it_has_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shardrun, "run_batched", Dying(tmp_path / "notes", batched=True, deadly=False, pause=0.2))
    stop = threading.Event()
    with IsolatedWorker(time_limit=20.0) as worker:
        worker.call(len, "")  # started
        threading.Timer(2.0, lambda: (worker.kill(), stop.set())).start()
        result = shardrun.run_isolated(worker, TASK, stop)
    assert 0 < result.examples == result.stop < TASK.limit
