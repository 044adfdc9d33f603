"""What the page is given: evidence behind the matrix, history, what got worse, growth, time, families, the gate."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from page_samples import SOURCE, full, sample_page

from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.file import Decision, Decisions
from fuzzer.findings.script_parts import Nearest, ScriptParts, Words
from fuzzer.gate.judge import judge_campaign
from fuzzer.gate.measured import measured
from fuzzer.gate.policy import load_policy
from fuzzer.store.writer import Tally
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from reports.findings import Dispositions
from reports.page.findings import LineTable, finding_rows
from reports.page.history import history, worse
from reports.page.passes import matrix
from reports.sarif import render_sarif
from reports.tables import Report


def test_everything_is_plain_values(report: Report) -> None:
    page = sample_page(full(report))
    assert json.loads(json.dumps(page, allow_nan=False)) == page


def test_lines_give_the_text_back_and_are_kept_once() -> None:
    lines = LineTable()
    texts = ["a\nb\n", "b\na", "", "b\n\n"]
    numbers = [lines.add(text) for text in texts]
    assert ["\n".join(lines.table[number] for number in each) for each in numbers] == texts
    assert sorted(lines.table) == ["", "a", "b"]


def test_a_cell_has_counts_interval_and_reasons(report: Report) -> None:
    found = matrix(report.tallies)
    assert found["oracles"] == ["crash", "numeric"]
    rows = {row["name"]: row["cells"] for row in found["rows"]}
    assert list(rows) == ["FuseOps", "LegalizeOps", "Normalize"]
    fuse = rows["FuseOps"][0]
    assert fuse["n"] == [90, 10, 0, 0, 0]
    assert fuse["ci"] == pytest.approx([0.825634, 0.944771], abs=1e-6)  # Wilson, by hand
    silent = rows["LegalizeOps"][1]
    assert (silent["n"], silent["ci"]) == ([0, 0, 3, 0, 1], None)
    outcome, reason, count = silent["why"][1]
    assert (outcome, found["reasons"][reason], count) == ("invalid", "harness error: KeyError", 1)
    assert rows["Normalize"][1] is None


def test_a_finding_carries_its_module_script_and_growth(report: Report, tmp_path: Path) -> None:
    (tmp_path / "repros").mkdir()
    script = 'MODULE = "x"\n# The nearest module that passes: another operator.\nNEAREST = MODULE.replace("x", "y")\n'
    (tmp_path / "repros" / "0000000001.py").write_text(script)
    nearest = Nearest("another operator", (("x", "y"),))
    parts = ScriptParts("x", False, Words("", "", ""), nearest)
    findings = [replace(report.findings[0], parts=parts), *report.findings[1:]]
    page = sample_page(replace(full(report), directory=tmp_path, findings=findings))
    first, known, flaky = page["findings"]
    assert "\n".join(page["lines"][number] for number in first["module"]) == "x"  # the script's
    other = sample_page(replace(full(report), directory=tmp_path))
    assert "\n".join(other["lines"][number] for number in other["findings"][0]["module"]) == SOURCE
    assert "\n".join(page["lines"][number] for number in first["script"]) == script
    assert first["neighbour"] == ["another operator", "- x\n+ y"]
    assert first["seen"] == [[1.0, 2], [300.0, 3], [600.0, 4]]
    assert (flaky["module"], flaky["script"], flaky["neighbour"]) == (None, None, None)
    assert [finding["stands"] for finding in page["findings"]] == ["fails", "known", "suspect"]
    assert [finding["standing"] for finding in page["findings"]] == ["finding", "finding", "suspect"]
    assert known["line"] == "accepted"


def test_a_page_tells_of_the_failure_that_its_script_shows(report: Report, tmp_path: Path) -> None:
    """Blame has moved from a build that fails, FuseOps, to a pass behind, whose types contradict each other."""
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "0000000001.py").write_text("script\n")
    judged = replace(report.findings[0], oracle="numeric")
    judged = replace(judged, evidence=Evidence("does-not-build", "cannot emit", ("src/relax/codegen.cc:Visit",)))
    case = replace(judged.case, passes=(PassRef("RealizeVDevice", "relax.transform.RealizeVDevice()"),))
    typed = Evidence("mistyped-call", "Argument 0 differs", ("src/relax/realize.cc:Realize",))
    failure = Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "RealizeVDevice", evidence=typed)
    words = Words("RealizeVDevice changes x", "calls fit", "they do not", message="Argument 0 differs")
    heavy = Assessment(EvidenceClass.HARD, Severity.S3, "RealizeVDevice", final=True, grounds="it makes it")
    moved = replace(judged, assessed=heavy, parts=ScriptParts("x", False, words, other=(case, failure)))
    first = sample_page(replace(full(report), directory=tmp_path, findings=[moved, *report.findings[1:]]))
    row, lines = first["findings"][0], first["lines"]
    assert (row["gravity"], row["passes"]) == ("a module with wrong types", "relax.transform.RealizeVDevice()")
    assert (row["frames"], row["said"]) == (["src/relax/realize.cc:Realize"], "Argument 0 differs")
    issue = "\n".join(lines[number] for number in row["issue"])
    assert "Severity: S3, a module with wrong types.\n" in issue
    assert "codegen.cc" not in issue
    assert "* Pass: `RealizeVDevice` (found while testing `FuseOps`)" in issue
    (result,) = json.loads(render_sarif(replace(report, findings=[moved]), None))["runs"][0]["results"]
    assert result["properties"]["frames"] == ["src/relax/realize.cc:Realize"]


def test_the_frames_are_those_of_the_issue(report: Report) -> None:
    evidence = report.findings[0].evidence
    details = replace(evidence.details, functions=("ffi::GetRef [RefType = Op]",), lines=(), raised_at=())
    raised = replace(evidence, frames=("ir/transform.py:__call__",), details=details)
    findings = [replace(report.findings[0], evidence=raised), *report.findings[1:]]
    page = sample_page(replace(full(report), findings=findings))
    assert page["findings"][0]["frames"] == ["ffi::GetRef [RefType = Op]"]


def test_a_script_that_somebody_broke_is_shown_without_neighbour(report: Report, tmp_path: Path) -> None:
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "0000000001.py").write_text("NEAREST = (\n")
    assert sample_page(replace(report, directory=tmp_path))["findings"][0]["neighbour"] is None


def test_families_are_as_people_decided(report: Report) -> None:
    decided = Decisions((Decision("F000000001", ("0000000001", "0000000003"), "one cause"),))
    rows = finding_rows(report, {}, Dispositions(), decided, LineTable())
    assert [row["family"][0] == "F000000001" for row in rows] == [True, True, False]
    assert rows[0]["family"][2] == "one cause"
    assert rows[2]["family"][0] == report.findings[2].family.id


def test_time_and_growth(report: Report) -> None:
    page = sample_page(full(report))
    assert page["growth"]["at"] == [1.0, 300.0, 605.0]
    assert page["growth"]["findings"] == [1, 2, 3]
    assert page["growth"]["blocks"] == []
    watched = sample_page(replace(full(report), blocks=[(64, 5), (128, 9), (1234, 11)]))
    assert watched["growth"]["blocks"] == [5, 9, 11]
    steps = {step: seconds for step, seconds, _ in page["spent"]["steps"]}
    assert list(steps) == ["numeric", "crash", "draw", "triage", "idle"]
    assert sum(steps.values()) == pytest.approx(605.0 * 2)
    assert page["spent"]["passes"] == [["LegalizeOps", 400.0], ["FuseOps", 300.5]]


def test_a_campaign_without_any_of_it(report: Report) -> None:
    page = sample_page(replace(report, tallies=[], findings=[]))
    assert (page["findings"], page["spent"], page["history"]) == ([], {"steps": [], "passes": []}, None)


def older(report: Report, name: str, day: int, **changes: Any) -> Report:
    info = replace(report.info, started_at=f"2025-12-{day:02d}T00:00:00+00:00")
    return replace(report, directory=Path(name), info=info, **changes)


def test_history_says_when_each_was_first_and_last_seen(report: Report) -> None:
    first, second = older(report, "one", 1, findings=report.findings[1:2]), older(report, "two", 2, findings=[])
    found = history([first, second, report])
    assert found is not None
    assert [(row["name"], row["findings"], row["new"], row["suspects"]) for row in found["campaigns"]] == [
        ("one", 1, 1, 0), ("two", 0, 0, 0), ("campaign", 2, 1, 1),
    ]  # fmt: skip
    assert {row["id"]: row["standing"] for row in found["findings"]}["0000000002"] == "suspect"
    counts = {row["id"]: row["counts"] for row in found["findings"]}
    assert counts == {"0000000003": [2, None, 2], "0000000001": [None, None, 9], "0000000002": [None, None, 1]}
    assert found["oracles"][0] == {"name": "crash", "counts": [[190, 12]] * 3}
    assert found["worse"] == []
    assert history([report]) is None
    same = history([replace(first, directory=Path("a/nightly")), replace(second, directory=Path("b/nightly"))])
    assert same is not None
    assert [row["name"] for row in same["campaigns"]] == ["a/nightly", "b/nightly"]


def test_worse_is_what_chance_does_not_explain(report: Report) -> None:
    def counts(failed: int, passed: int, name: str = "FuseOps") -> list[Tally]:
        return [Tally("crash", name, "fail", "", failed), Tally("crash", name, "pass", "", passed)]

    before = replace(report, tallies=counts(2, 998) + counts(3, 997, "Normalize"))
    after = replace(report, tallies=counts(30, 970) + counts(4, 996, "Normalize") + counts(9, 1, "LegalizeOps"))
    (row,) = worse(before, after)
    assert (row["pass"], row["before"], row["after"]) == ("FuseOps", [998, 2], [970, 30])
    assert row["p"] < 1e-6
    assert worse(after, before) == []


def test_the_gates_word_with_what_decided_it(report: Report, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[oracles.crash]\nmin_pass_rate = 0.99\n[[known]]\nid = "0000000001"\nreference = "#1"\n'
                      'reason = "reported"\n')  # fmt: skip
    counted = measured(report.info, report.tallies, report.findings, {})
    result = judge_campaign(load_policy(policy, report.info.passes, tuple), counted)
    page = sample_page(report, result=result)
    verdict = page["verdict"]
    assert verdict["word"] == "failed"
    (line,) = verdict["decided"]
    assert line.startswith("crash: pass rate ")
    assert verdict["findings"] == 1  # known to the campaign, but not to the policy
    assert verdict["told"].startswith("gate FAILED")
    assert any("mostly: harness error: KeyError" in note for note in verdict["notes"])
    assert len(verdict["explained"]) > 3
    assert (page["findings"][0]["stands"], page["findings"][0]["excuse"]) == ("known", "#1: reported")
