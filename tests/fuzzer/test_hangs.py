"""Hangs are confirmed and minimized at shorter limits, never without a run at the full one."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, cast

import pytest
import tvm
from tvm import relax

from fuzzer.core.case import Case
from fuzzer.findings.signature import death_verdict, signature
from fuzzer.minimizer.judge import criterion as hangs
from fuzzer.minimizer.judge.criterion import OracleCriterion
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.triage.finding import TriageJob, TriageState, triage_finding
from fuzzer.triage.reduce import ReductionPlan
from fuzzer.worker.death import Death, Died
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

HANG = death_verdict(Died(Death.HANG, "no answer", "crash: Hang"), "Hang")
ELSEWHERE = Died(Death.HANG, "no answer", "idempotence: Hang")
SEGFAULT = death_verdict(Died.by_exit_code(-11, "crash: Hang"), "Hang")
CASE = Case("{}", (PassRef("Hang", "hang()"),), 0)


class Scripted:
    """A worker whose answers are given; remembers the time limits."""

    limits: list[float]

    def __init__(self, *answers: Any) -> None:
        self.answers = iter(answers)
        self.limits = []

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, function: object, argument: object, seconds: float, memory: int) -> Any:
        self.limits.append(seconds)
        return next(self.answers)


def confirmed(worker: Scripted, recorded: Any = HANG, seconds: float = 20.0) -> tuple[int, int]:
    criterion = OracleCriterion(recorded, seconds=seconds, workers=lambda: cast(Any, worker))
    assert criterion.oracles == (OracleName.CRASH,)
    found = criterion.confirm(CASE, 3)
    return found.hits, found.runs


def searched(recorded: Any, seconds: float, limits: SearchLimits | None = None) -> tuple[float, SearchLimits]:
    """Time limit of a candidate, and limits of the search."""
    criterion = OracleCriterion(recorded, seconds=seconds)
    return criterion.judge(cast(Any, Scripted())).seconds, criterion.limits(limits or SearchLimits())


AGAIN = Died(Death.HANG, "no answer", "crash: Hang")


def test_one_run_of_a_confirmation_takes_the_full_limit() -> None:
    worker = Scripted(AGAIN, AGAIN, AGAIN)
    assert confirmed(worker) == (3, 3)
    assert worker.limits == [6.0, 6.0, 20.0]


def test_a_case_that_ends_within_the_full_limit_is_no_hang() -> None:
    assert confirmed(Scripted(AGAIN, AGAIN, [])) == (2, 3)


def test_a_hang_elsewhere_at_the_short_limit_is_asked_again_at_the_full_one() -> None:
    worker = Scripted(ELSEWHERE, AGAIN, AGAIN, ELSEWHERE)
    assert confirmed(worker) == (2, 3)
    assert worker.limits == [6.0, 20.0, 6.0, 20.0]


def test_limits_below_the_short_ones_and_other_failures_stay_as_they_are() -> None:
    worker = Scripted(AGAIN, AGAIN, AGAIN)
    assert confirmed(worker, seconds=4.0) == (3, 3)
    assert worker.limits == [4.0, 4.0, 4.0]
    worker = Scripted([SEGFAULT], [], [SEGFAULT])
    worker.answers = itertools.repeat(Died.by_exit_code(-11, "crash: Hang"))
    assert confirmed(worker, SEGFAULT) == (3, 3)
    assert worker.limits == [20.0, 20.0, 20.0]
    assert searched(SEGFAULT, 20.0) == (20.0, SearchLimits())


def test_the_search_has_limits_of_its_own() -> None:
    assert searched(HANG, 20.0) == (4.0, SearchLimits(queries=60))
    assert searched(HANG, 2.0)[0] == 2.0
    assert searched(HANG, 20.0, SearchLimits(queries=10))[1].queries == 10


USER = Path(__file__).parent / "user_passes.py"


def module(functions: int) -> Any:
    builder = relax.BlockBuilder()
    for number in range(functions):
        x = relax.Var("x", relax.TensorType((2,), "float32"))
        with builder.function(f"f{number}", [x]):
            builder.emit_func_output(builder.emit(relax.op.negative(builder.emit(relax.op.exp(x)))))
    return builder.finalize()


@pytest.mark.slow
def test_triage_of_a_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hangs, "AGAIN_SECONDS", 1.5)
    monkeypatch.setattr(hangs, "SEARCH_SECONDS", 1.0)
    name = "hangs_on_second_function"
    case = Case(str(tvm.ir.save_json(module(3))), (PassRef(name, f"user:{USER}:{name}"),), 0)
    verdict = death_verdict(Died(Death.HANG, "no answer", f"crash: {name}"), name)
    identity = signature(verdict)
    plan = ReductionPlan(SearchLimits(seconds=20.0))
    job = TriageJob(identity.id, identity.text, verdict, case, tmp_path, plan, seconds=4.0)
    result = triage_finding(job, IsolatedWorker)
    assert result.state is TriageState.CONFIRMED, result
    assert result.minimized is not None
    assert len(tvm.ir.load_json(result.minimized.module_json).functions) == 2
    text = (tmp_path / str(result.repro)).read_text()
    assert "signal.alarm(20)" in text, "the script states its limit"
