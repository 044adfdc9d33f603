import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sarif_shape import complaints

from fuzzer.findings.file import KnownFinding, KnownFindings
from fuzzer.gate.judge import judge_campaign
from fuzzer.gate.measured import measured
from fuzzer.gate.policy import Limit, Policy, Rule
from fuzzer.gate.ruling import RulingStatus
from relaxkit.passes.contract import OracleName
from reports.sarif import FINGERPRINT, render_sarif
from reports.tables import Report


def run(report: Report, *known: KnownFinding) -> dict[str, Any]:
    result = None
    if known:
        result = judge_campaign(
            Policy((), KnownFindings(known)), measured(report.info, report.tallies, report.findings, {})
        )
    log = json.loads(render_sarif(report, result))
    assert complaints(log) == []
    (only,) = log["runs"]
    assert isinstance(only, dict)
    return only


def test_a_rule_an_oracle_a_result_a_finding(report: Report) -> None:
    told = run(report)
    rules = [rule["id"] for rule in told["tool"]["driver"]["rules"]]
    assert rules == [name.value for name in OracleName]
    assert [each["properties"]["pass"] for each in told["results"]] == ["FuseOps", "Normalize", "FuseOps"]
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in told["results"])
    assert [each["level"] for each in told["results"]] == ["error", "note", "warning"]
    assert told["properties"]["seed"] == 7
    assert told["invocations"][0]["executionSuccessful"] is True


def test_fingerprints_are_the_signatures_and_stay(report: Report) -> None:
    first, second = run(report), run(replace(report, info=replace(report.info, seed=8)))
    ids = [each["fingerprints"][FINGERPRINT] for each in first["results"]]
    assert ids == ["0000000001", "0000000003", "0000000002"]
    assert ids == [each["fingerprints"][FINGERPRINT] for each in second["results"]]
    assert first["results"][0]["partialFingerprints"] == {"primaryLocationLineHash": "0000000001:1"}


def test_the_script_is_the_place(report: Report, tmp_path: Path) -> None:
    told = run(report)["results"][0]
    place = told["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "repros/0000000001.py", "uriBaseId": "CAMPAIGN"}
    assert "attachments" not in told  # the file is not there
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "0000000001.py").write_text("print('BUG')")
    there = run(replace(report, directory=tmp_path))["results"]
    assert there[0]["attachments"][0]["artifactLocation"] == place
    assert there[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "campaign.sqlite"
    assert str(tmp_path) not in json.dumps(there)


def test_what_is_known_is_suppressed_with_its_reference(report: Report) -> None:
    entry = KnownFinding("0000000001", "", "https://example.org/7", "reported")
    told = {each["fingerprints"][FINGERPRINT]: each for each in run(report, entry)["results"]}
    assert told["0000000001"]["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "https://example.org/7: reported"}
    ]
    assert told["0000000001"]["level"] == "note"
    # The campaign was told that it is known, this policy was not.
    assert "suppressions" not in told["0000000003"]
    assert told["0000000003"]["level"] == "error"
    assert run(report, entry)["properties"]["gate"] == "failed"


def test_hostile_text_stays_text(report: Report) -> None:
    text = render_sarif(report)
    assert text.isascii()
    assert "\x1b" not in json.loads(text)["runs"][0]["results"][0]["message"]["text"]


def test_an_empty_campaign_is_a_log(report: Report) -> None:
    assert run(replace(report, tallies=[], findings=[]))["results"] == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"ruleid": "x"}, "$.runs[0].results[0] must not have ruleid"),
        ({"ruleIndex": "0"}, "$.runs[0].results[0].ruleIndex is no int"),
        ({"message": {}}, None),
        ({"locations": {}}, "$.runs[0].results[0].locations is no array"),
    ],
)
def test_the_check_itself_sees_what_is_wrong(report: Report, change: dict[str, Any], complaint: str | None) -> None:
    log = json.loads(render_sarif(report))
    log["runs"][0]["results"][0].update(change)
    assert complaints(log) == ([complaint] if complaint else [])


def test_every_line_that_decided_in_the_gate_is_an_error(report: Report) -> None:
    policy = Policy((Rule("crash", None, Limit(min_checks=10_000)),), KnownFindings())
    result = judge_campaign(policy, measured(report.info, report.tallies, report.findings, {}))
    log = json.loads(render_sarif(report, result))
    assert complaints(log) == []
    (told,) = log["runs"][0]["invocations"]
    lines = [each.line for each in result.of(RulingStatus.FAIL, RulingStatus.SHORT)]
    assert {line[:5] for line in lines} == {"FAIL ", "SHORT"}
    assert [(each["level"], each["message"]["text"]) for each in told["toolExecutionNotifications"]] == [
        ("error", line) for line in lines
    ]
