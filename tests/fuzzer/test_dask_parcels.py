"""What travels to Dask workers: files, the places in them, and whether a worker fits."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from sample_records import hit, shard

from fuzzer.cluster.messages import environment_key, mismatch, needed_files, relocated, unpack
from fuzzer.core.config import Config
from fuzzer.shard.shard import ShardTask
from fuzzer.store.records import SignatureHits
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


def config(*users: PassRef, seeds: str = "") -> Config:
    return Config(1, ("FuseOps",), users, (OracleName.CRASH,), 64, None, 2, seeds=seeds, seeds_digest="abc")


def test_a_task_finds_its_files_elsewhere_and_the_result_speaks_of_where_they_came_from(tmp_path: Path) -> None:
    home, there = tmp_path / "home", tmp_path / "there"
    (home / "seeds").mkdir(parents=True)
    (home / "mine.py").write_text("MINE = 1\n")
    (home / "seeds" / "seeds.jsonl").write_text("{}\n")
    installed = PassRef("other", "user:package.module:make")
    users = (PassRef("mine", f"user:{home}/mine.py:make"), PassRef("again", f"user:{home}/mine.py:again"), installed)
    task = ShardTask(config(*users, seeds=str(home / "seeds")), 3, known=frozenset({"x"}))
    files = pickle.loads(pickle.dumps(needed_files(task.config)))
    assert len(files) == 2, "a file of two passes travels once"
    places = unpack(files, there)
    moved = relocated(task, places)
    (where, name) = moved.config.user_passes[0].expression.removeprefix("user:").rsplit(":", 1)
    assert (Path(where).read_text(), name) == ("MINE = 1\n", "make")
    assert Path(where).is_relative_to(there)
    assert (Path(moved.config.seeds) / "seeds.jsonl").read_text() == "{}\n"
    assert moved.config.user_passes[2] == installed
    assert replace(moved, config=task.config) == task
    assert relocated(moved, {here: back for back, here in places.items()}) == task


def test_all_of_a_result_is_brought_home() -> None:
    result = shard(2, hit("in /there/mine.py: no", 4))
    failed = next(iter(result.hits.values()))
    case = replace(failed.case, passes=(PassRef("mine", "user:/there/mine.py:make"),))
    result.hits = {"id": SignatureHits.of(failed.signature, failed.verdict, case, failed.index, failed.count)}
    result.tallies = Counter({("crash", "FuseOps", "skip", "/there/mine.py"): 7})
    back = relocated(result, {"/there": "/home/me"})
    assert "/there" not in repr(back)
    assert repr(back).count("/home/me/mine.py") == 3
    assert back.tallies[("crash", "FuseOps", "skip", "/home/me/mine.py")] == 7
    assert relocated(back, {"/home/me": "/there"}) == result
    assert relocated(result, {}) is result


def test_files_of_one_name_and_another_content_do_not_meet(tmp_path: Path) -> None:
    places = []
    for text in ("one", "two"):
        (tmp_path / "mine.py").write_text(text)
        files = needed_files(config(PassRef("mine", f"user:{tmp_path}/mine.py:make")))
        places.append(unpack(files, tmp_path / "there")[str(tmp_path / "mine.py")])
    assert [Path(place).read_text() for place in places] == ["one", "two"]


def test_a_worker_of_another_version_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = environment_key()
    assert {"apache-tvm", "apache-tvm-ffi", "relaxfuzz", "python", "machine"} <= wanted.keys()
    assert mismatch(wanted, pickle.loads(pickle.dumps(dict(wanted)))) == ""
    assert mismatch(wanted, {**wanted, "apache-tvm": "0.26.0"}) == f"apache-tvm 0.26.0, not {wanted['apache-tvm']}"
    assert "numpy None, not" in mismatch(wanted, {name: value for name, value in wanted.items() if name != "numpy"})
