"""Blocks of the compiler that campaigns reach: recorded, merged, shown, and of no account for any verdict."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sample_records import META, shard
from test_campaign import STRUCTURAL, kill_and_resume, run, substance

from fuzzer.campaign import setup
from fuzzer.campaign.setup import configure, open_campaign
from fuzzer.cli.main import main
from fuzzer.cli.verbs import coverage as verb
from fuzzer.core.config import Config, ConfigError
from fuzzer.core.installed import Versions
from fuzzer.shard.run import ShardAccumulator
from fuzzer.shard.shard import ExampleDone, ShardTask
from fuzzer.store.merge import STRIDE, MergeError, merge
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from fuzzer.worker.child import begin_case, end_case
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.coverage import breakpoints, elf
from relaxkit.coverage.elf import CoverageError
from relaxkit.coverage.table import BlockTable
from relaxkit.passes.contract import OracleName

BUILD = "ab12"
CONFIG = Config(1, ("FuseOps",), (), (OracleName.CRASH, OracleName.NUMERIC), 128, None, 1, coverage=BUILD)
VERSIONS = Versions(META["tvm_version"], META["ffi_version"])
TABLE = BlockTable(
    BUILD, ("src/relax/ir/a.cc", "src/relax/transform/fuse_ops.cc", "src/relax/transform/b.cc"), {"FuseOps": 1},
    np.array([16, 64, 128, 256]), np.array([0, 1, 1, 2]), ("f", "g()", "h()", ""),
    np.array([16, 20, 24, 64, 68, 128, 256, 260]),
)  # fmt: skip


def campaign(place: Path, *shards: tuple[int, set[int]], config: Config = CONFIG) -> Path:
    """A campaign with shards that reached blocks."""
    with Store.create(place, {**META, "seed": str(config.seed), "config": config.to_json()}) as store:
        for number, blocks in shards:
            result = shard(number)
            result.reached = blocks
            store.record_shard(result, 1.0 + number)
    return place


def test_the_first_shard_that_reaches_a_block_is_kept(tmp_path: Path) -> None:
    place = campaign(tmp_path / "one", (2, {16, 64}), (0, {20}), (1, {16}), (3, {64, 68}))
    with Store.open(place) as store:
        assert store.reached() == {16: 1, 20: 0, 64: 2, 68: 3}
        assert store.reached_by_cases() == [(64, 1), (128, 2), (192, 3), (256, 4)]


def test_examples_tell_of_blocks_and_shards_add_them_up() -> None:
    added = ShardAccumulator(ShardTask(CONFIG, 3))
    for index, blocks in enumerate(([16, 20], [], [64])):
        added.add(ExampleDone(index, (), (), reached=np.array(blocks, "u4").tobytes()))
    batch = added.flush()
    assert batch.result.reached == {16, 20, 64}
    added.add(ExampleDone(3, (), (), reached=np.array([68], "u4").tobytes()))
    batch.result.add(added.flush().result)
    assert batch.result.reached == {16, 20, 64, 68}


def test_merging_adds(tmp_path: Path) -> None:
    one = campaign(tmp_path / "one", (0, {16}), (1, {64, 68}))
    two = campaign(tmp_path / "two", (0, {64, 128}), config=replace(CONFIG, seed=2))
    for number, order in enumerate(([one, two], [two, one])):
        merge(order, tmp_path / f"out{number}")
        with Store.open(tmp_path / f"out{number}") as store:
            assert store.reached() == {16: 0, 64: 1, 68: 1, 128: STRIDE}
    plain = campaign(tmp_path / "plain", config=replace(CONFIG, seed=3, coverage=""))
    with pytest.raises(MergeError, match="their coverage differ"):
        merge([one, plain], tmp_path / "none")


@pytest.mark.parametrize("values", ["-1, 0", "16, -1", "1 << 60, 0", "16, 'a'"])
def test_no_other_rows_come_in(tmp_path: Path, values: str) -> None:
    place = campaign(tmp_path / "one")
    with sqlite3.connect(place / FILE_NAME) as database:
        database.execute(f"INSERT INTO reached VALUES ({values})")
    with pytest.raises(StoreError, match="table 'reached', row 1, field"):
        Store.open(place)


def test_it_shows_what_was_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verb, "_table", lambda build, directory: TABLE)
    place = campaign(tmp_path / "one", (0, {16, 20}), (1, {64, 16}))
    assert main(["coverage", str(place)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "128 cases reached 3 of 8 blocks, 37.5%\n\ncases   64  128\n------  --  ---\nblocks   2    3\n"
    )
    assert [line.split() for line in text.splitlines()[6:]] == [
        ["directory", "blocks", "reached", "share"], ["---------", "------", "-------", "-----"],
        ["transform", "5", "1", "20.0%"], ["ir", "3", "2", "66.7%"],
    ]  # fmt: skip
    assert main(["coverage", str(place), "--by", "pass", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == [{"pass": "FuseOps", "blocks": 3, "reached": 1, "share": 0.3333}]
    assert told["growth"] == [{"cases": 64, "reached": 2}, {"cases": 128, "reached": 3}]
    assert main(["coverage", str(place), "--by", "file"]) == 0
    assert "transform/fuse_ops.cc" in capsys.readouterr().out
    assert main(["coverage", str(place), "--functions", "--limit", "2"]) == 0
    text = capsys.readouterr().out
    assert [line.split() for line in text.splitlines()[-2:]] == [
        ["2", "transform/b.cc", "at", "0x100"], ["1", "transform/fuse_ops.cc", "h()"],
    ]  # fmt: skip


@pytest.mark.parametrize("kept", [False, True])
def test_it_says_that_it_builds_the_table(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    monkeypatch.setattr(breakpoints, "loaded", lambda: (Path("x"), 0))
    monkeypatch.setattr(elf, "Library", lambda path: SimpleNamespace(build=BUILD))
    monkeypatch.setattr(breakpoints, "table_of", lambda path: TABLE)
    monkeypatch.setattr(breakpoints, "has_table", lambda build: kept, raising=False)
    monkeypatch.setattr(verb, "inform", said.append, raising=False)
    assert verb._table(BUILD, Path("campaign")) is TABLE
    assert ["building the table of blocks" in line for line in said] == ([] if kept else [True])


def test_one_line_says_why_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = campaign(tmp_path / "plain", config=replace(CONFIG, coverage=""))
    other = campaign(tmp_path / "other", (0, {16}))
    for place, said in (
        (plain, "was not run with --coverage"),
        (other, "covers build ab12 of TVM's compiler, but build"),
    ):
        assert main(["coverage", str(place)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
    with pytest.raises(ConfigError, match="so not with --dask"):
        configure({"coverage": "on", "dask": "local:1"})
    monkeypatch.setattr(setup, "probe_blocks", _no_blocks)
    with pytest.raises(ConfigError, match="--coverage is not available: no breakpoint is hit"):
        configure({"coverage": "on"})
    monkeypatch.setattr(setup, "probe_blocks", _dies)
    with pytest.raises(
        ConfigError, match=r"--coverage is not available: breakpoints end the process: signal 5 \(SIGTRAP\)"
    ):
        configure({"coverage": "on"})


def _no_blocks(_: None) -> tuple[str, str]:
    return "", "no breakpoint is hit"


def _dies(_: None) -> tuple[str, str]:
    os.kill(os.getpid(), 5)
    time.sleep(10)
    return "", ""


def _prepares(_: None) -> Iterator[str]:
    end_case()
    time.sleep(2.0)  # without processor time a case is given three times its limit
    begin_case()
    yield "done"


def test_what_comes_before_the_cases_has_no_limit_of_theirs() -> None:
    with IsolatedWorker(time_limit=0.5) as worker:
        assert list(worker.stream(_prepares, None)) == ["done"]


def test_a_campaign_goes_on_as_it_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "watched_build", lambda: BUILD)
    plain = replace(CONFIG, coverage="")
    for name, config in (("with", CONFIG), ("without", plain)):
        open_campaign(tmp_path / name, config, VERSIONS).store.close()
    for given in (CONFIG, plain):
        opened = open_campaign(tmp_path / "with", given, VERSIONS)
        opened.store.close()
        assert opened.config.coverage == BUILD
    with pytest.raises(ConfigError, match="was started without --coverage"):
        open_campaign(tmp_path / "without", CONFIG, VERSIONS)
    monkeypatch.setattr(setup, "watched_build", lambda: "cd34")
    with pytest.raises(ConfigError, match="covers another build"):
        open_campaign(tmp_path / "with", plain, VERSIONS)
    assert plain.identity == CONFIG.identity


def test_a_library_that_cannot_be_told_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise CoverageError("no libtvm_compiler.so is loaded here")

    monkeypatch.setattr("relaxkit.coverage.breakpoints.loaded", fails)
    from fuzzer.shard.reached import probe

    assert probe(None) == ("", "no libtvm_compiler.so is loaded here")


CHEAP = "CanonicalizeBindings,DeadCodeElimination,EliminateCommonSubexpr,ToNonDataflow,Normalize"
CASES = ("--passes", CHEAP, "--oracles", STRUCTURAL, "--max-examples", 150)


def reached(out: Path) -> dict[int, int]:
    with Store.open(out) as store:
        return store.reached()


@pytest.mark.slow
def test_coverage_changes_no_verdict_and_does_not_depend_on_workers(tmp_path: Path) -> None:
    run(tmp_path / "without", *CASES, "--workers", 2)
    run(tmp_path / "one", *CASES, "--workers", 1, "--coverage")
    run(tmp_path / "two", *CASES, "--workers", 2, "--coverage")
    assert substance(tmp_path / "without") == substance(tmp_path / "one") == substance(tmp_path / "two")
    one, two = reached(tmp_path / "one"), reached(tmp_path / "two")
    assert not reached(tmp_path / "without")
    assert len(one) > 20_000
    alike(one, two)


def alike(one: dict[int, int], two: dict[int, int]) -> None:
    """TVM's tables by address probe as addresses have it: some blocks in them are chance."""
    assert len(one.keys() ^ two.keys()) < 0.02 * len(one)
    assert sum(shard != two.get(block, shard) for block, shard in one.items()) < 0.02 * len(one)


@pytest.mark.slow
def test_a_killed_and_resumed_campaign_reaches_the_same(tmp_path: Path) -> None:
    arguments = (*CASES, "--workers", 2, "--coverage")
    run(tmp_path / "whole", *arguments)
    kill_and_resume(tmp_path / "killed", 3, random.Random(7), arguments)
    run(tmp_path / "killed", *arguments)
    assert substance(tmp_path / "killed") == substance(tmp_path / "whole")
    alike(reached(tmp_path / "killed"), reached(tmp_path / "whole"))
