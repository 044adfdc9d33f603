"""The store: nothing lost, nothing counted twice, every bad directory told in one line."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_records import META, hit, shard

from fuzzer.core.case import Case
from fuzzer.store.records import FindingState
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


def test_what_is_recorded_is_read(tmp_path: Path) -> None:
    with Store.create(tmp_path / "new" / "campaign", META) as store:
        fresh = store.record_shard(shard(0, hit("Check failed: boom", 5, 2)), 1.5)
        store.record_shard(shard(1), 2.5)
        info, (finding,) = store.info(), store.findings()
    assert [finding.id] == fresh
    assert (info.seed, info.workers, info.passes, info.oracles) == (7, 2, ("FuseOps",), ("crash", "numeric"))
    assert (info.examples, info.modules, info.elapsed_seconds, info.state) == (128, 16, 2.5, "running")
    assert (finding.count, finding.state, finding.first_seen_seconds) == (2, FindingState.NEW, 1.5)
    assert (finding.oracle, finding.culprit, finding.kind) == ("crash", "FuseOps", "InternalError")
    assert finding.case == hit("", 0).case
    failed = finding.verdict
    assert (failed.oracle, failed.outcome, failed.evidence) == (
        OracleName.CRASH,
        Outcome.FAIL,
        hit("Check failed: boom", 0).verdict.evidence,
    )
    with Store.open(tmp_path / "new" / "campaign") as again:
        assert again.findings() == [finding]
        assert {(tally.outcome, tally.count) for tally in again.tallies()} == {("pass", 126), ("fail", 2)}
        assert again.features() == {"if": 6, "tuples": 2}
        assert again.coverage().operators == {"relax.add": 4, "relax.call_tir": 2}
        assert again.shards() == {0: 64, 1: 64}


def test_the_case_of_the_lowest_shard_speaks_whichever_came_first(tmp_path: Path) -> None:
    def recorded(name: str, order: list[int]) -> list[Any]:
        shards = {number: shard(number, hit("boom", 9 - number, 1, f"module {number}")) for number in (0, 1, 2)}
        with Store.create(tmp_path / name, META) as store:
            for number in order:
                store.record_shard(shards[number], 1.0)
            return [store.findings(), store.tallies(), store.info().examples]

    expected = recorded("in order", [0, 1, 2])
    assert recorded("reversed", [2, 1, 0]) == expected
    (finding,) = expected[0]
    assert (finding.case.module_json, finding.count) == ("module 0", 3)


def test_a_finding_that_was_looked_into_keeps_its_case(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        (name,) = store.record_shard(shard(1, hit("boom", 3, 1, "module 1")), 1.0)
        small = Case("small", (PassRef("FuseOps", "relax.transform.FuseOps()"),), 3)
        store.save_triage(name, FindingState.CONFIRMED, small, 2, "repros/x.py", "a note")
        store.record_shard(shard(0, hit("boom", 1, 4, "module 0")), 2.0)
        finding = store.finding(name[:4])
        assert store.untriaged() == []
    assert (finding.case.module_json, finding.count, finding.last_seen_seconds) == ("module 1", 5, 2.0)
    assert (finding.minimized, finding.bindings, finding.repro, finding.note) == (small, 2, "repros/x.py", "a note")


def test_pieces_of_a_shard_add_up(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0, first=0, stop=10), 1.0)
        assert store.shards() == {0: 10}
        store.record_shard(shard(0, first=10, stop=64), 2.0)
        assert (store.shards(), store.info().examples) == ({0: 64}, 64)


def test_a_piece_recorded_twice_counts_once(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0, hit("boom", 1)), 1.0)
        before = (store.findings(), store.tallies(), store.info())
        with pytest.raises(StoreError):
            store.record_shard(shard(0, hit("boom", 1)), 9.0)
        assert (store.findings(), store.tallies(), store.info()) == before


def test_what_waits_for_triage_can_be_queued(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        late, early = shard(1, hit("boom", 1)), shard(0, hit("bang", 2), hit("crack", 1))
        names = [*store.record_shard(late, 1.0), *store.record_shard(early, 1.0)]
        assert sorted(store.untriaged()) == sorted([(1, names[0]), (0, names[1]), (0, names[2])])


def test_an_id_must_name_one_finding(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0, hit("boom", 1), hit("bang", 2)), 1.0)
        for wrong in ("", "zz"):
            with pytest.raises(StoreError, match="has an id that begins with"):
                store.finding(wrong)


def test_readers_see_a_running_campaign(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0), 1.0)
        with Store.open(tmp_path) as reader:
            assert reader.info().examples == 64
            store.record_shard(shard(1), 2.0)
            assert reader.info().examples == 128


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Store.create(tmp_path, META), pytest.raises(StoreError, match="another campaign is running in"):
        Store.open(tmp_path, read_only=False)
    Store.open(tmp_path, read_only=False).close()


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from sample_records import META, hit, shard
from fuzzer.store.writer import Store
store = Store.create(Path({directory!r}), META)
for number in range(10**6):
    store.record_shard(shard(number, hit("boom", 1, 2)), float(number))
    print(number, flush=True)
"""


@pytest.mark.parametrize("shards", [1, 40])
def test_kill_loses_nothing_that_was_recorded(tmp_path: Path, shards: int) -> None:
    directory = tmp_path / "campaign"
    program = _WRITER.format(here=str(Path(__file__).parent), directory=str(directory))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(shards)]
        os.kill(writer.pid, signal.SIGKILL)
        told += [int(line) for line in writer.stdout if line.endswith("\n")]
    with Store.open(directory, read_only=False) as store:
        done = store.shards()
        assert set(told) <= set(done), "every piece that was told is there"
        assert len(done) <= len(told) + 1
        assert store.info().examples == 64 * len(done)
        assert sum(tally.count for tally in store.tallies()) == 64 * len(done)
        assert [finding.count for finding in store.findings()] == [2 * len(done)]


def _truncate(directory: Path) -> None:
    path = directory / FILE_NAME
    os.truncate(path, path.stat().st_size // 2)


def _empty(directory: Path) -> None:
    os.truncate(directory / FILE_NAME, 0)


def _scribble(directory: Path) -> None:
    (directory / FILE_NAME).write_bytes(b"This is no database. " * 1000)


def _other_tables(directory: Path) -> None:
    (directory / FILE_NAME).unlink()
    with sqlite3.connect(directory / FILE_NAME) as other:
        other.execute("CREATE TABLE notes (text TEXT)")
    other.close()


@pytest.mark.parametrize("damage", [_truncate, _empty, _scribble, _other_tables])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_damaged_database_is_one_line(tmp_path: Path, damage: Callable[[Path], None], read_only: bool) -> None:
    with Store.create(tmp_path, META) as store:
        for number in range(20):
            store.record_shard(shard(number, hit("boom", 1, 1, "x" * 5000)), 1.0)
    for helper in tmp_path.glob(f"{FILE_NAME}-*"):
        helper.unlink()
    damage(tmp_path)
    kept = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(StoreError) as raised:
        Store.open(tmp_path, read_only)
    assert "\n" not in str(raised.value)
    assert str(tmp_path) in str(raised.value)
    assert (tmp_path / FILE_NAME).read_bytes() == kept, "evidence is left as it is"


def test_directories_that_hold_no_campaign(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("x")
    for name, complaint in (
        ("none", "does not exist"),
        ("file", "is not a directory"),
        ("foreign", "contains no campaign"),
    ):
        with pytest.raises(StoreError, match=complaint):
            Store.open(tmp_path / name)
    with pytest.raises(StoreError, match="is not empty and contains no campaign"):
        Store.create(tmp_path / "foreign", META)
    assert [each.name for each in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]
    with pytest.raises(StoreError, match="cannot write"):
        Store.create(tmp_path / "file" / "below", META)


def test_a_full_disk_keeps_what_was_recorded(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0, hit("boom", 1)), 1.0)
        # SQLite's own limit raises the error that a full disk raises.
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="the disk is full") as raised:
            store.record_shard(shard(1, hit("bang", 1, 1, "x" * 10**6)), 2.0)
        assert "\n" not in str(raised.value)
    with Store.open(tmp_path) as again:
        assert again.shards() == {0: 64}
        assert [finding.message for finding in again.findings()] == ["boom"]
        assert again.info().elapsed_seconds == 1.0


@pytest.mark.parametrize("left", [(), ("campaign.sqlite.new",), ("campaign.sqlite.new", "campaign.sqlite.new-journal")])
def test_a_creation_that_was_killed_is_begun_again(tmp_path: Path, left: tuple[str, ...]) -> None:
    for name in ("campaign.lock", *left):
        (tmp_path / name).write_bytes(b"half of it")
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0), 1.0)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["campaign.lock", FILE_NAME]


def test_a_known_finding_keeps_the_earliest_case_whichever_worker_was_faster(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        (name,) = store.record_shard(shard(1, hit("boom", 3, 1, "module 1")), 1.0)
        store.save_triage(name, FindingState.KNOWN, None, None, None, "listed")
        store.record_shard(shard(0, hit("boom", 1, 4, "module 0")), 2.0)
        finding = store.finding(name)
    assert (finding.case.module_json, finding.count, finding.state) == ("module 0", 5, FindingState.KNOWN)


def test_a_store_that_is_taken_away_is_told_of(tmp_path: Path) -> None:
    with Store.create(tmp_path / "campaign", META) as store:
        store.record_shard(shard(0), 1.5)
        (tmp_path / "campaign").rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="is no longer there"):
            store.record_shard(shard(1), 2.5)
        with pytest.raises(StoreError, match="is no longer there"):
            store.set_meta(state="finished")
    with Store.open(tmp_path / "elsewhere") as store:
        assert store.shards() == {0: 64}


@pytest.mark.parametrize("name", ["file:beside?x", "file:beside", "file:beside%2fx", "file:beside#x", ":memory:", "~"])
def test_a_relative_path_is_that_of_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("beside").touch()
    Store.create(Path(name), META).close()
    with Store.open(Path(name), read_only=False) as store:
        store.set_meta(state="finished")
    with Store.open(tmp_path / name) as store:
        assert store.meta()["state"] == "finished"
    assert {each.name for each in tmp_path.iterdir()} == {"beside", name}
    assert not Path("beside").stat().st_size
