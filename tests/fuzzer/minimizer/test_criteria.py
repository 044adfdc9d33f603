"""What must stay true, near its time limit and when the smallest case does not hold any more."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fuzzer.core.case import Case
from fuzzer.minimizer.judge.criterion import Confirmation, Criterion, OracleCriterion
from fuzzer.minimizer.judge.predicate import PredicateCriterion
from fuzzer.minimizer.search.outcome import Minimized, SearchLimits
from fuzzer.triage.reduce import NotReduced, ReductionPlan, reduce
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName


def failing(kind: str) -> Verdict:
    return Verdict(OracleName.CRASH, Outcome.FAIL, "P", evidence=Evidence(kind, "it fails"))


@pytest.mark.parametrize(("seconds", "limit"), [(9.0, 20.0), (11.0, 44.0)])
def test_a_case_near_its_limit_gets_a_longer_one(seconds: float, limit: float) -> None:
    assert OracleCriterion(failing("Error")).patient(seconds).seconds == limit
    assert PredicateCriterion("a:b").patient(seconds).seconds == limit


def test_a_hang_keeps_its_limit() -> None:
    assert OracleCriterion(failing("hang")).patient(19.0).seconds == 20.0


def test_a_hang_is_searched_with_fewer_queries() -> None:
    assert OracleCriterion(failing("hang")).limits(SearchLimits(400)).queries < 400
    assert OracleCriterion(failing("Error")).limits(SearchLimits(400)).queries == 400


class Printer:
    """A worker that gives the same answer to all questions."""

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, *_: object) -> str:
        return "script"


@dataclass(frozen=True)
class Fake(Criterion):
    """A criterion that confirms cases by their name."""

    hits: dict[str, int]
    id: str = "wanted"
    text: str = "it fails"
    problem: str = ""
    asked: list[str] = field(default_factory=list)
    workers: Any = field(default=Printer, kw_only=True)

    def judge(self, worker: Any) -> Any:
        raise AssertionError("not in this test")

    def _run(self, case: Case, seen: Verdict | None, *, last: bool) -> Confirmation:
        earlier = self.asked.count(case.module_json)
        self.asked.append(case.module_json)
        hit = earlier < self.hits.get(case.module_json, 0)
        return Confirmation(int(hit), 1, failing("Error"), 1.0, self.problem)


GIVEN, FIRST, SECOND, LAST = (Case(name, (), 0) for name in ("given", "first", "second", "last"))


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    begun: list[Case] = []

    def search(_: Case, case: Case, *rest: Any) -> Minimized:
        begun.append(case)
        return Minimized(LAST, True, 9, 1.0, trail=(FIRST, SECOND, LAST), steps=("a", "b", "c"))

    monkeypatch.setattr("fuzzer.triage.reduce._search", search)
    return begun


def test_the_smallest_case_is_confirmed_once_more(searched: list[Case]) -> None:
    fake = Fake({"given": 3, "last": 3})
    found = reduce(GIVEN, fake, ReductionPlan())
    assert (found.minimized.case, found.notes, found.flaky) == (LAST, (), False)
    assert fake.asked == ["given"] * 3 + ["last"]


def test_a_smallest_case_that_does_not_hold_gives_way_to_one_before(searched: list[Case]) -> None:
    found = reduce(GIVEN, Fake({"given": 3, "second": 3}), ReductionPlan())
    assert found.minimized.case == SECOND
    assert "does not fail in a fresh process" in found.notes[0]
    assert reduce(GIVEN, Fake({"given": 3}), ReductionPlan()).minimized.case == GIVEN


def test_what_does_not_fail_is_not_reduced(searched: list[Case]) -> None:
    with pytest.raises(NotReduced, match="does not recur in a fresh process"):
        reduce(GIVEN, Fake({}), ReductionPlan())
    with pytest.raises(NotReduced, match="it raised"):
        reduce(GIVEN, Fake({}, problem="it raised"), ReductionPlan())
    assert searched == []


def test_a_saved_case_is_gone_on_with_while_it_fails(searched: list[Case]) -> None:
    saved: list[Case] = []
    reduce(GIVEN, Fake({"given": 3, "first": 3, "last": 3}), ReductionPlan(start=FIRST, save=saved.append))
    assert searched == saved == [FIRST]
    found = reduce(GIVEN, Fake({"given": 3, "last": 3}), ReductionPlan(start=FIRST))
    assert searched[-1] == GIVEN
    assert "starting again" in found.notes[0]


@pytest.mark.parametrize(
    ("start", "steps", "note"),
    [
        (None, (), "no reduction was accepted: 8 smaller modules were tried; none shows the failure"),
        (LAST, (), "no further reduction was accepted: 8 smaller modules were tried; none shows the failure"),
        (LAST, ("drop passes",), ""),
    ],
)
def test_nothing_could_be_reduced_only_where_no_step_was_accepted(
    monkeypatch: pytest.MonkeyPatch, start: Case | None, steps: tuple[str, ...], note: str
) -> None:
    """A pass that is dropped, or an argument that is simplified, leaves the module as it is."""
    kept = start or GIVEN
    made = Minimized(kept, True, 9, 1.0, trail=(kept,) * len(steps), steps=steps)
    monkeypatch.setattr("fuzzer.triage.reduce._search", lambda *_: made)
    found = reduce(GIVEN, Fake({kept.module_json: 9}), ReductionPlan(start=start))
    assert found.notes == ((note,) if note else ())


def test_a_flaky_case_is_given_more_runs_and_its_rates_are_told(searched: list[Case]) -> None:
    fake = Fake({"given": 2, "last": 1})
    found = reduce(GIVEN, fake, ReductionPlan())
    assert found.flaky
    assert fake.asked == ["given"] * 3 + ["last"] * 3
    assert (found.to_object()["rate"], found.to_object()["rate_of_result"]) == ("2 of 3 runs", "1 of 3 runs")


def test_an_object_says_all(searched: list[Case]) -> None:
    found = replace(reduce(GIVEN, Fake({"given": 3, "last": 3}), ReductionPlan()), script="text")
    said = found.to_object()
    assert (said["module"], said["culprit"], said["queries"], said["complete"]) == ("text", "P", 9, True)
    assert said["others"] == []
