"""The benchmark of peers counts what a fuzzer sees in its time, and only causes that this program confirms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import benchmark_victims  # noqa: F401 - so that benchmarks can be imported
import peers
import pytest
import tvm
from tvm import relax

from fuzzer.core.case import Case
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

PASSES = """
import tvm


@tvm.transform.module_pass(opt_level=0)
class Broken:
    def transform_module(self, module, context):
        raise ValueError("the table is full")


@tvm.transform.module_pass(opt_level=0)
class Sound:
    def transform_module(self, module, context):
        return module
"""


def report(message: str, case: Case | None = None) -> Any:
    evidence = Evidence("ValueError", message)
    return peers.Report(Verdict(OracleName.CRASH, Outcome.FAIL, "Some", evidence=evidence), case)


def trial(fuzzer: str, seed: int, blocks: list[int], causes: list[tuple[str, str]]) -> Any:
    curve = [peers.Point(float(number), len(blocks) * number // 10, number) for number in range(1, 11)]
    found = [peers.Cause(family, oracle, "Some", 1.0) for family, oracle in causes]
    return peers.Trial(fuzzer, seed, 10.0, curve, blocks, {"a": 2, "b": 3}, found, [], ["b"])


def test_what_is_seen_too_late_does_not_count() -> None:
    times = iter([1.0, 4.0, 9.0, 11.0])
    log = peers.Log(10.0, lambda: next(times))
    assert log.note([1, 2], 5, [(report("not that"), 1)])
    assert log.note([2, 3], 5, [(report("not that"), 4), (report("nor this"), 1)])
    assert log.note([], 1, [(report("not that"), 1) for _ in range(3)])
    assert not log.note([4], 5, [(report("too late"), 1)])
    assert log.blocks == {1, 2, 3}
    assert [(each.count, len(each.first), each.seconds) for each in log.reports.values()] == [(8, 3, 1.0), (1, 1, 4.0)]
    curve = [(point.seconds, point.blocks, point.cases) for point in log.curve()]
    assert curve[0] == (1.0, 2, 5)
    assert curve[2:4] == [(3.0, 2, 5), (4.0, 3, 10)]
    assert curve[-1] == (10.0, 3, 11)


def test_nothing_is_seen_before_the_first_case() -> None:
    log = peers.Log(10.0, lambda: 5.5)
    log.note([7], 1, [])
    assert [point.blocks for point in log.curve()] == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_a_report_is_a_cause_only_where_this_program_sees_it_fail(tmp_path: Path) -> None:
    passes = tmp_path / "passes.py"
    passes.write_text(PASSES)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    module = str(tvm.ir.save_json(builder.get()))
    broken, sound = (Case(module, (PassRef(name, f"user:{passes}:{name}"),), 0) for name in ("Broken", "Sound"))
    log = peers.Log(10.0, lambda: 1.0)
    log.note([], 3, [(report("the table is full", broken), 1), (report("full", broken), 1)])
    log.note([], 3, [(report("a refusal", sound), 1), (report("no module"), 1)])
    causes, importer, excused = peers.causes_of(log, guarded=False)
    assert [(each.oracle, each.culprit, each.seconds) for each in causes] == [("crash", "Broken", 1.0)]
    assert importer == ["Some: no module"]
    assert excused == ["crash: Some: ValueError: a refusal"]


def test_medians_and_what_no_other_reached() -> None:
    trials = [
        trial("relaxfuzz", seed, [1, 2, 3, 3 + seed], [("f", "crash"), ("g", "roundtrip")]) for seed in (1, 2, 3)
    ] + [trial("tests", seed, [2, 9], [("f", "crash"), ("h", "numeric")][:seed]) for seed in (1, 2, 3)]
    found = {row["measure"]: row for row in peers.rows(trials)}
    assert (found["blocks at 10/10"]["relaxfuzz"], found["blocks at 10/10"]["tests"]) == (4, 2)
    assert found["blocks at 10/10"]["p tests"] == pytest.approx(2 / 20)
    assert (found["reports"]["tests"], found["signatures not confirmed"]["tests"]) == (5, 1)
    assert (found["causes"]["relaxfuzz"], found["causes by crash or numbers"]["relaxfuzz"]) == (2, 1)
    assert found["causes"]["tests"] == 2
    one, other = peers.unions(trials)
    assert (one["blocks"], one["blocks of no other"], one["causes"], one["causes of no other"]) == (6, 5, 2, 1)
    assert (other["blocks"], other["blocks of no other"], other["causes of no other"]) == (2, 1, 1)
    places = peers.directories(trials, lambda block: "op" if block < 5 else "transform")
    assert {tuple(row.values()) for row in places} == {("op", 3, 0), ("transform", 2, 1)}


def test_a_trial_is_not_made_twice(tmp_path: Path) -> None:
    plan = peers.Plan(peers.Fuzzer.TESTS, 4, 10.0, tmp_path, None)
    kept = trial("tests", 4, [1, 5], [("f", "crash")])
    kept.write(plan.path)
    assert peers.made(plan, set()) == kept
    assert sorted(tmp_path.iterdir()) == [plan.path]
    assert not plan.possible
