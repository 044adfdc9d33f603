"""Guidance: what is kept, what is drawn near it, and that kills, workers and the order of results change none of it."""

from __future__ import annotations

import io
import itertools
import random
import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from sample_records import META, shard
from test_campaign import kill_and_resume, run, substance

from fuzzer.campaign import setup
from fuzzer.campaign.campaign import Campaign
from fuzzer.campaign.progress import Progress
from fuzzer.campaign.setup import configure, open_campaign, pass_names
from fuzzer.core.config import Config, ConfigError
from fuzzer.core.installed import Versions
from fuzzer.shard import reached
from fuzzer.shard.draw import Subjects, draw_subjects, subjects_per_module
from fuzzer.shard.guidance import (
    AGAIN,
    BLIND,
    LEAST_SHARE,
    LONGEST,
    MOST_KEPT,
    MOST_SHARE,
    Guidance,
    Guide,
    Line,
    draw_guided,
    guided_by,
    known_functions,
    line_of,
)
from fuzzer.shard.run import ShardAccumulator
from fuzzer.shard.shard import ExampleDone, ShardTask, example_case
from fuzzer.store.merge import merge
from fuzzer.store.records import ShardResult
from fuzzer.store.writer import Store
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from relaxkit.coverage.table import BlockTable
from relaxkit.ir.walk import operators_of
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

CONFIG = Config(3, pass_names(), (), tuple(OracleName), 1, None, 1, coverage="ab12", guide=True)
SHARD = 40
MODULES = 12


def drawn(number: int, kept: tuple[Line, ...]) -> Subjects:
    found = draw_guided(CONFIG, SHARD, number, Guidance(kept, MOST_SHARE))
    assert found is not None
    return found


def near(kept: tuple[Line, ...]) -> list[int]:
    return [number for number in range(MODULES) if line_of(CONFIG, SHARD, number, Guidance(kept, MOST_SHARE))]


# What is kept.


def test_the_first_case_that_enters_a_function_is_kept_and_followed_from_later_shards() -> None:
    guide = Guide(CONFIG)
    guide.note(BLIND - 1, {4: 1})
    guide.note(BLIND, {4: 2, 8: 31, 12: 31})  # 4 was entered before
    guide.note(BLIND + 1, {8: 5, 16: 7})
    first = next(number for number in range(99) if guided_by(number) > BLIND)
    assert guide.before(first - 1).kept == ()
    assert guide.before(first).kept == (((BLIND, 31),),)
    assert [line[-1] for line in guide.before(SHARD).kept] == [(BLIND, 31), (BLIND + 1, 7)]


def test_the_order_of_results_does_not_matter_and_neither_does_what_is_not_settled() -> None:
    source = random.Random(5)
    results = {number: {source.randrange(4000): source.randrange(64) for _ in range(9)} for number in range(SHARD)}
    ordered, mixed = Guide(CONFIG), Guide(CONFIG)
    for number in range(guided_by(SHARD)):
        ordered.note(number, results[number])
    for number in source.sample(range(SHARD), SHARD):
        mixed.note(number, results[number])
    assert ordered.before(SHARD) == mixed.before(SHARD)
    assert ordered.before(SHARD).kept
    assert ordered.ready(SHARD, guided_by(SHARD))
    assert not ordered.ready(SHARD, guided_by(SHARD) - 1)
    assert Guide(CONFIG, mixed._first).before(SHARD) == ordered.before(SHARD)


def test_the_latest_are_followed_in_short_lines() -> None:
    guide = Guide(CONFIG)
    for number in range(4 * SHARD):
        guide.note(number, {4 * (3 * number + at): 20 * at for at in range(3)})
    kept = guide.before(4 * SHARD).kept
    assert len(kept) == MOST_KEPT
    assert {len(line) for line in kept} == set(range(1, LONGEST + 1))
    assert [line[-1] for line in kept] == sorted(line[-1] for line in kept)
    for line in kept:
        for before, (number, index) in itertools.pairwise(line):
            assert before[0] < guided_by(number)
            assert line_of(CONFIG, number, index // subjects_per_module(CONFIG), guide.before(number))[-1] == before


def test_the_share_follows_the_yield() -> None:
    def share(fruitful: bool) -> float:
        guide, function = Guide(CONFIG), iter(range(4000))
        guide.note(BLIND, {next(function): 0})  # which is all that the first guided modules can be near
        for number in range(BLIND + 1, SHARD):
            for at in range(6):
                if bool(line_of(CONFIG, number, at, guide.before(number))) is fruitful:
                    guide.note(number, {next(function): at * subjects_per_module(CONFIG)})
        return guide.before(SHARD).share

    assert share(fruitful=True) == MOST_SHARE
    assert LEAST_SHARE <= share(fruitful=False) < MOST_SHARE / 4


def test_functions_of_passes_count_that_are_known_by_a_name_of_their_own() -> None:
    rows = {  # address: file, name
        16: (0, "tvm::relax::FuseOps(...)"), 32: (0, ""), 48: (0, 'with "tvm.relax"'),
        64: (0, "virtual void tvm::relax::A::B()"), 80: (0, "tvm::relax::C()"), 96: (1, "tvm::relax::D()"),
        112: (0, "tvm::relax::E<int>, virtual function 3"),
    }  # fmt: skip
    owners, names = zip(*rows.values(), strict=True)
    table = BlockTable(
        "ab12", ("src/relax/a.cc", "src/relax/b.cc"), {"FuseOps": 0}, np.array([*rows]), np.array(owners), names,
        np.array([16, 20, 32, 48, 64, 84, 96, 112]),
    )  # fmt: skip
    assert known_functions(table) == {16, 64}


class _Breakpoints:
    """Tells of blocks as a test says, and of functions only where they are armed."""

    def __init__(self) -> None:
        self.armed: list[list[int]] = []
        self.blocks: list[int] = []

    def take(self) -> Any:
        taken, self.blocks = np.array(self.blocks, "i8"), []
        return taken

    def arm(self, blocks: Any) -> None:
        self.armed.append(blocks.tolist())


def test_functions_are_entered_when_passes_run_first_and_told_once_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reached, "_pending", [])
    breakpoints: Any = _Breakpoints()
    runs = reached.FirstRuns(breakpoints, {16, 64})
    for running, blocks in ((False, [4]), (True, [16, 20]), (True, [16]), (False, [68]), (False, [64])):
        runs.step(running)
        breakpoints.blocks = blocks
    assert runs.new() == [16]  # 64 by an oracle
    assert breakpoints.armed == [[16, 64]]
    runs.step(True)
    breakpoints.blocks = [64]
    assert runs.new() == [64]
    assert breakpoints.armed == [[16, 64], [64]]
    assert np.concatenate(reached._pending).tolist() == [4, 16, 20, 16, 68, 64, 64]


def test_the_first_case_of_any_piece_or_campaign_is_recorded(tmp_path: Path) -> None:
    added = ShardAccumulator(ShardTask(CONFIG, 3))
    for index, functions in enumerate(([16, 20], [], [64, 20])):
        added.add(ExampleDone(index, (), (), entered=np.array(functions, "u4").tobytes()))
    batch = added.flush().result
    assert batch.entered == {16: 0, 20: 0, 64: 2}
    added.add(ExampleDone(3, (), (), entered=np.array([68, 16], "u4").tobytes()))
    batch.add(added.flush().result)
    assert batch.entered == {16: 0, 20: 0, 64: 2, 68: 3}
    for seed, number, functions in ((1, 2, {16: 5, 20: 4}), (2, 1, {16: 9})):
        config = replace(CONFIG, seed=seed, oracles=(OracleName.CRASH, OracleName.NUMERIC), passes=("FuseOps",))
        with Store.create(tmp_path / str(seed), {**META, "seed": str(seed), "config": config.to_json()}) as store:
            for at, index in ((number + 1, 0), (number, 40), (number, 0)):
                result = shard(at, first=index, stop=index + 20)
                result.entered = {each: first + index for each, first in functions.items()}
                store.record_shard(result, 1.0)
            assert store.entered() == {each: (number, first) for each, first in functions.items()}
    merge([tmp_path / "1", tmp_path / "2"], tmp_path / "both")
    with Store.open(tmp_path / "both") as store:
        assert store.entered() == {16: (2, 5), 20: (2, 4)}


# What is drawn: a planted toy, a module that holds an operator which no other module of the shard has.


@pytest.fixture(scope="module")
def rare() -> tuple[str, Line]:
    """An operator that no blind module of the shard calls, and a case on a module that does."""
    blind = {name for number in range(MODULES) for name in operators_of(drawn(number, ()).module)}
    for number in range(MODULES):
        found = draw_subjects(CONFIG, BLIND, number)
        assert found is not None
        for name in sorted(operators_of(found.module) - blind):
            return name, ((BLIND, number * subjects_per_module(CONFIG) + 3),)
    raise AssertionError("no operator is rare")


def test_neighbours_of_what_is_kept_are_drawn_and_without_guidance_none(rare: tuple[str, Line]) -> None:
    name, line = rare
    numbers = near((line,))
    assert MODULES / 4 < len(numbers) < MODULES * 3 / 4
    guided = [number for number in range(MODULES) if name in operators_of(drawn(number, (line,)).module)]
    assert len(guided) > len(numbers) / 2
    assert set(guided) <= set(numbers)


def test_they_are_tried_under_the_passes_of_the_kept_case_first(rare: tuple[str, Line]) -> None:
    _, line = rare
    (number, index) = line[0]
    kept = draw_subjects(CONFIG, number, index // subjects_per_module(CONFIG))
    assert kept is not None
    passes = kept.pipelines[index % subjects_per_module(CONFIG)]
    for place in near((line,)):
        rows = drawn(place, (line,)).pipelines
        assert len(rows) == subjects_per_module(CONFIG)
        assert rows[AGAIN] == passes
        assert {tuple(ref.name for ref in row) for row in rows[: AGAIN + 1]} == {tuple(ref.name for ref in passes)}


def test_a_shard_draws_the_same_modules_each_time_and_others_are_as_without_guidance(rare: tuple[str, Line]) -> None:
    _, line = rare
    kept = (line, (*line, (BLIND + 1, 12)))
    for number in range(MODULES):
        one, two = drawn(number, kept), drawn(number, kept)
        assert tvm_ffi.structural_equal(one.module, two.module)
        assert one.pipelines == two.pipelines
        blind = drawn(number, ())
        if number not in near(kept):
            assert tvm_ffi.structural_equal(one.module, blind.module)
            assert one.pipelines == blind.pipelines


def test_a_module_near_a_kept_one_is_well_formed_and_marked(rare: tuple[str, Line]) -> None:
    kept = (rare[1], (*rare[1], (BLIND + 1, 12)))
    marks = set()
    for number in near(kept):
        found = drawn(number, kept)
        marks |= {name for name in found.idioms if name.startswith("guided:")}
        verdicts = judge(
            Subject(found.module, [PassRef("Normalize", "relax.transform.Normalize()")]), [OracleName.CRASH]
        )
        assert Outcome.INVALID not in {verdict.outcome for verdict in verdicts}
        assert not (found.drawn.structural and found.drawn.executable)
    assert marks == {"guided:neighbour", "guided:mutated"}


def test_a_case_that_died_is_drawn_again_near_what_its_shard_was_guided_by(rare: tuple[str, Line]) -> None:
    kept = (rare[1],)
    number = near(kept)[0]
    index = number * subjects_per_module(CONFIG)
    case = example_case(ShardTask(CONFIG, SHARD, guidance=Guidance(kept, MOST_SHARE)), index)
    assert case is not None
    assert tuple(case.passes) == drawn(number, kept).pipelines[0]


def test_the_users_passes_keep_their_turn(rare: tuple[str, Line]) -> None:
    mine = PassRef("mine", "user:mine.py:mine")
    config = replace(CONFIG, user_passes=(mine,))
    for number in range(MODULES):
        found = draw_guided(config, SHARD, number, Guidance((rare[1],), MOST_SHARE))
        assert found is not None
        assert found.pipelines[0] == (mine,)
        assert len(found.pipelines) == subjects_per_module(config)


# Campaigns.


class _Crew:
    """Gives results at once but for one shard of eight, which takes a while."""

    workers = slots = 3
    judged = 0

    def __init__(self, tasks: dict[int, Guidance]) -> None:
        self._tasks = tasks

    def shard(self, task: ShardTask) -> Future[ShardResult]:
        done: Future[ShardResult] = Future()
        assert self._tasks.setdefault(task.number, task.guidance) == task.guidance
        late = 0.05 if task.number % 8 == 1 else 0.0
        threading.Timer(late, lambda: done.set_result(_result(task))).start()
        return done

    def triage(self, job: object) -> Future[Any]:
        raise AssertionError("nothing is found here that triage would look into")

    def kill(self) -> None:
        pass

    def close(self) -> None:
        pass


def _result(task: ShardTask) -> ShardResult:
    """Half of a shard, which enters a function that none before it has entered, and one that depends on what it saw."""
    found = shard(task.number, first=task.first, stop=min(task.first + 32, 64))
    found.entered = {
        4 * task.number: task.first + 3,
        400 + 4 * (sum(map(len, task.guidance.kept)) % 99): task.first + 5,
    }
    return found


def test_a_campaign_hands_out_the_same_whatever_comes_late_or_is_killed(tmp_path: Path) -> None:
    config = replace(CONFIG, passes=("FuseOps", "Normalize"), max_examples=64 * 48)

    def campaign(store: Store, tasks: dict[int, Guidance], cases: int) -> Campaign:
        what = replace(config, max_examples=cases)
        guide = Guide(config, store.entered())
        return Campaign(store, what, Progress(what, io.StringIO()), executor=lambda *_: _Crew(tasks), guide=guide)

    tasks: dict[int, Guidance] = {}
    with Store.create(tmp_path / "one", META) as store:
        assert campaign(store, tasks, 64 * 48).run() == "finished"
        whole = store.entered()
    assert tasks[47].kept
    with Store.create(tmp_path / "two", META) as store:
        for cases in (64 * 9 + 20, 64 * 30, 64 * 48):
            assert campaign(store, tasks, cases).run() == "finished"  # which compares each task with that of the first
        assert store.entered() == whole


def test_guidance_needs_coverage_and_belongs_to_what_a_campaign_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="--guide on needs --coverage"):
        configure({"guide": "on"})
    with pytest.raises(ConfigError, match="--guide 'maybe' is neither on nor off"):
        configure({"guide": "maybe", "coverage": "on"})
    monkeypatch.setattr(setup, "watched_build", lambda: "ab12")
    assert configure({"guide": "on", "coverage": "on"}).guide
    blind = replace(CONFIG, guide=False)
    assert blind.identity != CONFIG.identity
    assert Config.from_json(CONFIG.to_json()) == CONFIG
    versions = Versions(META["tvm_version"], META["ffi_version"])
    open_campaign(tmp_path / "out", CONFIG, versions).store.close()
    with pytest.raises(ConfigError, match=r"another campaign \(with guide on\)"):
        open_campaign(tmp_path / "out", blind, versions)


CASES = (
    "--passes", "FuseOps,FuseTIR,LambdaLift,ToMixedPrecision,EliminateCommonSubexpr,CanonicalizeBindings",
    "--oracles", "crash", "--max-examples", 900, "--coverage", "--guide", "--regress", "off",
)  # fmt: skip


@pytest.mark.slow
def test_a_guided_campaign_is_the_same_for_any_workers_and_after_kills(tmp_path: Path) -> None:
    run(tmp_path / "one", *CASES, "--workers", 1)
    whole = substance(tmp_path / "one")
    assert whole["coverage"].idioms["guided:neighbour"]
    assert whole["coverage"].idioms["guided:mutated"]
    run(tmp_path / "two", *CASES, "--workers", 2)
    assert substance(tmp_path / "two") == whole
    arguments = (*CASES, "--workers", 2)
    kill_and_resume(tmp_path / "killed", 4, random.Random(7), arguments)
    run(tmp_path / "killed", *arguments)
    assert substance(tmp_path / "killed") == whole
