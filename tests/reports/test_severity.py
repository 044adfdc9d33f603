"""What every report does with a finding's weight: order, levels, questions apart, and who is at fault."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from page_samples import sample_page
from sample_findings import finding

from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.file import KnownFindings
from fuzzer.gate.judge import GateResult, judge_campaign
from fuzzer.gate.measured import measured
from fuzzer.gate.policy import Policy, Weight
from fuzzer.store.known import ordered
from fuzzer.store.records import FindingState
from reports.annotations import render_annotations
from reports.findings import Disposition, Dispositions
from reports.junit import render_junit
from reports.markdown import render_markdown
from reports.sarif import render_sarif
from reports.step_summary import render_step_summary
from reports.tables import Report, severities_text
from reports.text import render_text

HARD, DOCUMENTED, OURS, _ = EvidenceClass
GRAVE, FAULTY, ASKED = "0000000011", "0000000012", "0000000013"


@pytest.fixture
def weighed(report: Report) -> Report:
    """A campaign of a finding of each severity, the gravest seen least, and of a question that is seen most."""
    severe = [
        replace(
            finding(0x11 + number, "FuseOps", FindingState.CONFIRMED, "crash", f"message {severity}", number + 1),
            assessed=Assessment(HARD, severity, "FuseOps", final=True),
        )
        for number, severity in enumerate(Severity)
    ]
    severe[1] = replace(severe[1], assessed=Assessment(HARD, Severity.S2, "LambdaLift", "needs dims of 0", final=True))
    asked = finding(0x99, "FuseOps", FindingState.CONFIRMED, "locality", "another result", 500)
    asked = replace(asked, id="00000000ff", assessed=Assessment(OURS, Severity.S5, "FuseOps", final=True))
    return replace(report, findings=ordered([asked, *reversed(severe)]))


def gated(report: Report, questions: Weight = Weight.NOTE) -> GateResult:
    campaign = measured(report.info, report.tallies, report.findings, {})
    return judge_campaign(Policy((), KnownFindings(), questions=questions), campaign)


def test_the_severity_of_what_triage_has_not_seen_is_provisional(weighed: Report) -> None:
    first, *others = weighed.findings
    report = replace(weighed, findings=[replace(first, assessed=None), *others])
    assert severities_text(report.findings) == "1 S2, 1 S3, 1 S3?, 1 S4, 1 S5"
    assert "| S3? |" in render_markdown(report, lambda _: "")
    assert " S3? " in render_text(report)
    assert " S3? " in render_annotations(report)
    assert "(S3?)" in render_junit(report, None)
    assert [row["final"] for row in sample_page(report)["findings"]] == [False, *[True] * 5]
    assert [each.to_object()["final"] for each in report.findings] == [False, *[True] * 5]


def test_the_gravest_come_first_and_questions_behind_all_findings(weighed: Report) -> None:
    shown = [each.assessment.severity.value for each in weighed.findings]
    assert shown == ["S1", "S2", "S3", "S4", "S5", "S5"]
    assert weighed.findings[-1].id == "00000000ff"
    assert severities_text(weighed.findings) == "1 S1, 1 S2, 1 S3, 1 S4, 1 S5"
    page = sample_page(weighed)
    assert [row["severity"] for row in page["findings"]] == shown
    assert [row["standing"] for row in page["findings"]] == ["finding"] * 5 + ["question"]
    assert (page["findings"][1]["blame"], page["findings"][1]["why"]) == ("LambdaLift", "needs dims of 0")


def test_of_many_the_gravest_are_shown(weighed: Report) -> None:
    text = render_text(weighed, most=2)
    assert "The 2 most severe:" in text
    assert "message S2" in text
    assert "message S3" not in text
    assert "  at fault: LambdaLift; needs dims of 0\n" in text
    assert "\n\nQuestions: failures that break no documented promise; not counted as findings\nid " in text


def test_markdown_has_questions_apart(weighed: Report) -> None:
    findings, questions = render_markdown(weighed, lambda _: "").split(
        "## Questions\n\nFailures that break no documented promise"
    )
    assert "00000000ff" not in findings
    assert "00000000ff" in questions
    assert "At fault: LambdaLift; needs dims of 0." in findings


def test_levels_of_sarif_follow_the_severity(weighed: Report) -> None:
    results = json.loads(render_sarif(weighed))["runs"][0]["results"]
    assert [each["level"] for each in results] == ["error", "error", "error", "warning", "note", "note"]
    ranks: list[Any] = [each["rank"] for each in results]
    assert ranks[:5] == sorted(ranks[:5], reverse=True)
    assert all(0 <= rank <= 100 for rank in ranks)
    assert "at fault: LambdaLift" in results[1]["message"]["text"]
    assert results[1]["properties"]["blame"] == "LambdaLift"


def test_annotations_come_in_that_order_and_a_question_is_a_notice(weighed: Report) -> None:
    lines = render_annotations(weighed).splitlines()
    assert [line.partition(" crash")[0] for line in lines[:2]] == [f"::error title=relaxfuzz%3A S{n}" for n in (1, 2)]
    assert lines[-1].startswith("::notice title=relaxfuzz%3A S5 locality")


def test_a_question_fails_no_case_of_junit(weighed: Report) -> None:
    text = render_junit(weighed)
    assert "message S1" in text
    assert "does not fail: question" in text
    assert "<failure" not in text.partition('name="relaxfuzz.locality"')[2]
    assert Dispositions().of(weighed.findings[-1]) is Disposition.QUESTION
    assert (
        "#### Questions\n\nFailures that break no documented promise; not counted as findings."
        in render_step_summary(weighed)
    )


def test_a_question_fails_a_gate_only_where_the_policy_says_so(weighed: Report) -> None:
    passed = [each for each in weighed.tallies if each.outcome != "fail"]
    alone = replace(weighed, findings=weighed.findings[-1:], tallies=passed)
    noted, strict = gated(alone), gated(alone, Weight.FAIL)
    assert (noted.findings.new, [each.id for each in noted.findings.questions]) == ((), ["00000000ff"])
    assert ([each.id for each in strict.findings.new], strict.findings.questions) == (["00000000ff"], ())
    assert (noted.exit.name, strict.exit.name) == ("PASSED", "FAILED")
    assert Dispositions.under(strict).of(alone.findings[0]) is Disposition.FAILS
    assert sample_page(alone)["findings"][0]["stands"] == "question"
