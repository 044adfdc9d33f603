"""Every case of the corpus, checked against the installed TVM, and the documents that list defects."""

from pathlib import Path

import pytest
from generated_lists import bug_lists

from corpus.case import load
from corpus.check import check_cases
from oracles.core.verdict import Outcome


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_case_is_as_expected(every: bool) -> None:
    """In the default run, of those of an oracle and a pass the last."""
    cases = load()
    assert len(cases) >= 30
    if not every:
        cases = [*{(case.oracle, case.passes[-1].name): case for case in cases}.values()]
    results = check_cases(cases)
    assert len(results) == len(cases) + sum(case.replica is not None for case in cases)
    wrong = [f"{result.case.slug} {result.run}: {result.problem}" for result in results if not result.ok]
    assert wrong == []


def test_every_repaired_defect_of_the_origin_has_a_replica_that_fails() -> None:
    replicas = {case.slug: case.replica for case in load() if case.replica is not None}
    assert {"lift-transform-params-twice", "realize-vdevice-sequential", "realize-vdevice-mutation"} <= set(replicas)
    assert all(replica.expected is Outcome.FAIL for replica in replicas.values())


@pytest.mark.parametrize("document", bug_lists.DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_what_its_data_generate(document: Path) -> None:
    assert document.read_text(encoding="utf-8") == bug_lists.DOCUMENTS[document](), (
        "run python docs/generator/bug_lists.py"
    )


def test_the_list_of_bugs_has_one_line_a_case() -> None:
    cases = load()
    lines = [line for line in bug_lists.render_bugs(cases).splitlines() if line.startswith("| ") and "/cases/" in line]
    assert len(lines) == len(cases)
    for case in cases:
        (line,) = [line for line in lines if f"/cases/{case.slug}/" in line]
        assert line.startswith(f"| {case.blamed} | {case.oracle} | {case.title}: ")


def test_the_audit_has_a_judgement_of_every_finding() -> None:
    audit = bug_lists.load_audit()
    assert len(audit.findings) >= 1004
    ids, slugs = {each.id for each in audit.findings}, {case.slug for case in load()}
    seeds = {each.seed for each in audit.campaigns}
    for each in audit.findings:
        assert each.reason or each.like or each.case, f"{each.id} is not judged"
        assert each.like in {"", *ids, *slugs}
        assert each.case in {"", *slugs}
        assert set(each.seeds) <= seeds
    rows = [line for line in bug_lists.render_audit(audit).splitlines() if "| `" in line]
    assert len(rows) == len(audit.findings)
