"""Values that travel closed: they are what they were, and recording opens those alone that are needed."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

from sample_records import META, hit, shard

from fuzzer.campaign.write_buffer import WriteBuffer
from fuzzer.cluster.messages import relocated
from fuzzer.store.records import LazyPickle, ShardResult
from fuzzer.store.writer import Store


def test_a_sealed_value_is_what_it_was() -> None:
    for value in ("text", ("a", 1), None, 0):
        sealed = LazyPickle(value)
        assert sealed.value == value
        there = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(sealed))))
        assert there.value == value
        assert there == sealed
        assert hash(there) == hash(sealed)
        assert there != LazyPickle("other")
        assert repr(there) == repr(value)


def test_it_goes_on_as_it_came() -> None:
    first = pickle.loads(pickle.dumps(LazyPickle("text" * 1000)))
    text = pickle.dumps(first)
    assert first.closed
    assert len(text) < 400
    assert first.value == "text" * 1000
    assert not first.closed
    assert pickle.dumps(first) == text


def test_what_a_place_stands_in_is_exchanged_inside() -> None:
    sealed = LazyPickle(("in /there/mine.py", 3))
    assert relocated(sealed, {"/there": "/here"}) == LazyPickle(("in /here/mine.py", 3))


def test_only_findings_that_are_not_recorded_or_come_earlier_are_opened(tmp_path: Path) -> None:
    def arrived(result: ShardResult) -> ShardResult:
        copied: ShardResult = pickle.loads(pickle.dumps(result))
        return copied

    def closed(results: list[ShardResult]) -> list[list[bool]]:
        return [[each.seen.closed for each in result.hits.values()] for result in results]

    first = arrived(shard(1, hit("boom", 3, module="module 1")))
    more = [
        arrived(shard(2, hit("boom", 0, 2))),
        arrived(shard(3, hit("boom", 9), hit("bang", 1))),
        arrived(shard(4, hit("bang", 0))),
        arrived(shard(0, hit("boom", 5, 3, module="module 0"))),
    ]
    with Store.create(tmp_path / "out", META) as store:
        ledger = WriteBuffer(store)
        ledger.add(first)
        ledger.write(1.0)
        assert closed([first]) == [[False]]
        for result in more:
            ledger.add(result)
        ledger.write(2.0)
        assert closed(more) == [[True], [True, False], [True], [False]]
        boom, bang = sorted(store.findings(), key=lambda each: each.message, reverse=True)
    assert (boom.case.module_json, boom.count) == ("module 0", 7)
    assert (bang.count, bang.case) == (2, hit("bang", 1).case)


def test_a_hit_is_counted_without_being_opened() -> None:
    found = pickle.loads(pickle.dumps(hit("boom", 3)))
    again = found.counted(5)
    assert found.seen.closed
    assert again.seen.closed
    assert again == replace(hit("boom", 3), count=5)
