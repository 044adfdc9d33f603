"""The engine under the metamorphic oracles, on runs that are made up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import buggy_passes as buggy
import pytest
import sample_modules as samples

from oracles.core.applicability import Inapplicable, when
from oracles.core.blame import first_step
from oracles.core.module_facts import Result
from oracles.core.subject import Subject
from oracles.core.verdict import Details, Evidence, Outcome
from oracles.metamorphic import environment
from oracles.metamorphic.engine import Disagreement, EvidenceTemplate, Relation, Rerun
from oracles.metamorphic.relations import RELATIONS
from relaxkit.passes.contract import OracleName

SERVED = (OracleName.DETERMINISM, OracleName.SEQUENTIAL, OracleName.ENVIRONMENT)
ERROR = Evidence("ValueError", "no {braces}", ("a.py:f",))
ONE, OTHER = Result(samples.dataflow()), Result(samples.two_functions())
RAISED = Result(None, ERROR)


def relation(run: Rerun, **unless: Any) -> Relation:
    template = EvidenceTemplate("{error} {run.how}", "{run.first.outcome}", "{run.again.outcome}", **unless)
    unequal = EvidenceTemplate("{run.parts}", "the same", "{run.diff}", kind="special", **unless)

    def reruns(subject: Subject) -> Iterator[Rerun]:
        yield run

    evidence = {Disagreement.RAISED: template, Disagreement.UNEQUAL: unequal}
    return Relation(OracleName.DETERMINISM, (), reruns, evidence)


@pytest.fixture
def subject() -> Subject:
    return Subject(samples.dataflow(), [buggy.identity()])


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (Rerun(ONE, ONE), None),
        (Rerun(ONE, OTHER), Disagreement.UNEQUAL),
        (Rerun(ONE, OTHER, compared=False), None),
        (Rerun(ONE, RAISED), Disagreement.RAISED),
        (Rerun(RAISED, RAISED), Disagreement.RAISED),
        (Rerun(RAISED, ONE), Disagreement.HEALED),
        (Rerun(ONE, Result(ONE.module, ERROR)), Disagreement.ILL_FORMED),
    ],
)
def test_disagreements(run: Rerun, found: Disagreement | None) -> None:
    assert run.disagreement() is found


def test_an_error_of_either_run_is_the_evidence(subject: Subject) -> None:
    for run, stage in ((Rerun(ONE, RAISED), "second run"), (Rerun(RAISED, ONE), "first run")):
        evidence = relation(run).judge(subject).evidence
        assert evidence is not None
        assert (evidence.kind, evidence.message, evidence.frames) == ("ValueError", "no {braces} ", ("a.py:f",))
        assert {evidence.expected, evidence.observed} == {"no error", "ValueError: no {braces}"}
        assert evidence.details.stage == stage


def test_a_difference_is_described_and_blamed(subject: Subject) -> None:
    run = Rerun(ONE, OTHER, Details(variation="another day"), blame=lambda: "Someone")
    verdict = relation(run).judge(subject)
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "Someone")
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "special"
    assert verdict.evidence.message == "another number of functions"
    assert verdict.evidence.details.variation == run.how == "another day"


def test_the_first_reason_that_holds_excludes_a_disagreement(subject: Subject) -> None:
    reasons = (when("never", lambda *_: False), when("of the run", lambda _, run: run.again is OTHER))
    verdict = relation(Rerun(ONE, OTHER), unless=reasons).judge(subject)
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "of the run")
    assert relation(Rerun(ONE, ONE), unless=reasons).judge(subject).outcome is Outcome.PASS


def test_a_reason_may_reject() -> None:
    with pytest.raises(Inapplicable) as raised:
        Inapplicable.raise_first(["", "first", "second"])
    assert (raised.value.reason, raised.value.outcome) == ("first", Outcome.SKIP)
    assert Inapplicable("refused", Outcome.REJECT).outcome is Outcome.REJECT


def test_first_step() -> None:
    assert first_step([None, "", "here", "later"]) == (2, "here")
    assert first_step([]) is None


def test_every_row_says_what_an_error_and_a_difference_are() -> None:
    assert {relation.oracle for relation in RELATIONS.values()} == set(RELATIONS)
    assert all({Disagreement.RAISED, Disagreement.UNEQUAL} <= set(relation.evidence) for relation in RELATIONS.values())


@pytest.mark.parametrize(("sampled", "expected"), [(True, 2), (False, 5)])
def test_one_more_run_serves_three_oracles_in_a_campaign(
    sampled: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "circumstance", lambda *_: None)
    runs: list[Any] = []

    def run(module: Any) -> Any:
        runs.append(module)
        return module

    subject = Subject(samples.dataflow(), [buggy.make("counts", run)], sampled=sampled)
    outcomes = {RELATIONS[each].judge(subject).outcome for each in SERVED}
    assert (outcomes, len(runs)) == ({Outcome.PASS}, expected)


@pytest.mark.parametrize("sampled", [True, False])
def test_where_the_one_run_disagrees_the_oracle_that_it_concerns_fails(sampled: bool) -> None:
    counts = itertools.count()
    fickle = buggy.make("fickle", lambda module: module.with_attr("number", next(counts)))
    subject = Subject(samples.dataflow(), [fickle], sampled=sampled)
    verdicts = [RELATIONS[each].judge(subject) for each in SERVED]
    assert verdicts[0].outcome is Outcome.FAIL
    assert {each.reason for each in verdicts[1:]} == {"pass is not deterministic"}
