"""Every case of the corpus, checked against the installed TVM."""

from corpus import check_cases, load
from corpus.ledger import LEDGER, render_ledger
from oracles.verdict import Outcome


def test_every_case_is_as_expected() -> None:
    cases = load()
    assert len(cases) >= 30
    results = check_cases(cases)
    assert len(results) == len(cases) + sum(case.replica is not None for case in cases)
    wrong = [f"{result.case.slug} {result.run}: {result.problem}" for result in results if not result.ok]
    assert wrong == []


def test_every_repaired_defect_of_the_origin_has_a_replica_that_fails() -> None:
    replicas = {case.slug: case.replica for case in load() if case.replica is not None}
    assert {"lift-transform-params-twice", "realize-vdevice-sequential", "realize-vdevice-mutation"} <= set(replicas)
    assert all(replica.expectation.outcome is Outcome.FAIL for replica in replicas.values())


def test_ledger_is_fresh() -> None:
    assert LEDGER.read_text(encoding="utf-8") == render_ledger(load()), "run python -m corpus.ledger"


def test_ledger_has_one_line_a_case() -> None:
    cases = load()
    lines = [line for line in render_ledger(cases).splitlines() if line.startswith("| ") and "/cases/" in line]
    assert len(lines) == len(cases)
    for case in cases:
        (line,) = [line for line in lines if f"/cases/{case.slug}/" in line]
        assert line.startswith(f"| {case.blamed} | {case.oracle} | {case.title}: ")
