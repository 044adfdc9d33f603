"""Several judges at once, failures that do not show every time, and edits that kill the worker."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from fuzzer.core.case import Case
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.judge.pool import MOST_TRIES, JudgePool, tries_for
from fuzzer.minimizer.search.messages import Failing, ProposalRequest, ProposedModules
from fuzzer.worker.death import Died

CASE = Case("module", (), 0)


@pytest.mark.parametrize(("rate", "tries"), [(1.0, 1), (2 / 3, 3), (0.5, 5), (1 / 3, 8), (0.1, MOST_TRIES)])
def test_a_rare_failure_gets_more_tries(rate: float, tries: int) -> None:
    assert tries_for(rate) == tries


class FakeWorker:
    """Counts what is asked of it."""

    def __init__(self) -> None:
        self.fresh_ones = 0
        self.ended: list[str] = []

    def fresh(self) -> None:
        self.fresh_ones += 1

    def kill(self) -> None:
        self.ended.append("kill")

    def close(self) -> None:
        self.ended.append("close")


class FakeJudge(Judge):
    """Fails in every third query."""

    def __init__(self) -> None:
        super().__init__(FakeWorker(), ())  # type: ignore[arg-type]  # stands in for an isolated one
        self.queries = itertools.count(1)
        self.busy = threading.Lock()

    def failures(self, case: Case) -> tuple[Failing, ...]:
        assert self.busy.acquire(blocking=False), "a worker is not for use by two threads at once"
        try:
            return (Failing("wanted" if next(self.queries) % 3 == 0 else "other", ""),)
        finally:
            self.busy.release()


@pytest.mark.parametrize(("tries", "ids", "fresh"), [(3, ["other", "wanted"], 3), (2, ["other"], 2), (1, ["other"], 0)])
def test_what_fails_now_and_then_is_tried_in_fresh_processes(tries: int, ids: list[str], fresh: int) -> None:
    judge = FakeJudge()
    with JudgePool(lambda: judge, signature="wanted", tries=tries) as judges:
        assert [failing.id for failing in judges.failures(CASE)] == ids
    worker: Any = judge.worker
    assert worker.fresh_ones == fresh
    assert worker.ended == ["kill", "close"]


def test_each_thread_has_a_judge_of_its_own() -> None:
    made: list[FakeJudge] = []

    def make() -> FakeJudge:
        made.append(FakeJudge())
        return made[-1]

    with JudgePool(make, 3) as judges:
        pending = [judges.tasks.submit(judges.failures, CASE) for _ in range(60)]
        assert all(item.result() for item in pending)
    assert len(made) == 3


class DyingJudge(Judge):
    """Its worker dies of the edits with some keys."""

    def __init__(self, *deadly: int) -> None:
        super().__init__(FakeWorker(), ())  # type: ignore[arg-type]  # stands in for an isolated one
        self.deadly = deadly
        self.asked: list[ProposalRequest] = []

    def ask(self, function: Any, argument: Any) -> Any:
        self.asked.append(argument)
        first = 0 if argument.start is None else argument.start[0] + argument.skip_start
        for key in range(first, 9):
            if key in self.deadly:
                return Died.by_exit_code(-11, f"minimizer: {key}")
        return ProposedModules((), (9,))


def test_an_edit_that_kills_the_worker_is_passed_over() -> None:
    judge = DyingJudge(2, 5)
    assert judge.propose(ProposalRequest("module", 0)) == ProposedModules((), (9,))
    assert [(item.start, item.skip_start) for item in judge.asked] == [(None, False), ((2,), True), ((5,), True)]


def test_edits_that_kill_it_together_are_tried_one_by_one() -> None:
    judge = DyingJudge(2)
    assert judge.propose(ProposalRequest("module", 0, fold=8)) == ProposedModules((), (9,))
    assert [item.fold for item in judge.asked] == [8, 1, 1]


def test_too_many_deaths_end_a_reduction() -> None:
    assert DyingJudge(*range(9)).propose(ProposalRequest("module", 0)) is None
