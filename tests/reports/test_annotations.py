from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from sample_findings import finding

from fuzzer.findings.file import KnownFindings
from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.gate.judge import judge_campaign
from fuzzer.gate.measured import measured
from fuzzer.gate.policy import Limit, Policy, Rule
from fuzzer.store.records import SUSPECTS
from fuzzer.store.writer import FindingState
from oracles.core.verdict import Details, Outcome
from relaxkit.passes.pass_ref import USER_PREFIX, PassRef
from reports.annotations import MOST, command, render_annotations
from reports.sarif import render_sarif
from reports.tables import Report


@pytest.mark.parametrize("state", sorted(SUSPECTS))
def test_open_findings_are_errors_suspects_warnings_known_ones_nothing(report: Report, state: FindingState) -> None:
    findings = [replace(each, state=state) if each.suspect else each for each in report.findings]
    error, warning = render_annotations(replace(report, findings=findings)).splitlines()
    assert error.startswith("::error title=relaxfuzz%3A S3? crash FuseOps 0000000001::a <script>alert(")
    assert error.endswith("(9x); script: repros/0000000001.py")
    assert warning == "::warning title=relaxfuzz%3A S3? crash FuseOps 0000000002::now and then (1x)"


def without_failures(report: Report) -> Report:
    tallies = [each for each in report.tallies if each.outcome != Outcome.FAIL.value]
    return replace(report, tallies=tallies, findings=[])


def test_the_gates_deciding_lines_come_first(report: Report) -> None:
    policy = Policy((Rule("crash", None, Limit(0.99)),), KnownFindings())
    result = judge_campaign(policy, measured(report.info, report.tallies, report.findings, {}))
    lines = render_annotations(report, result).splitlines()
    assert lines[0].startswith(
        "::error title=relaxfuzz gate::gate FAILED: TVM 0.27.0.post1, 252 checks, 2 new findings"
    )
    assert lines[1].startswith("::error title=relaxfuzz gate%3A crash::pass rate 94.527%25 (at least 99%25; ")
    report = without_failures(report)
    passed = judge_campaign(Policy((), KnownFindings()), measured(report.info, report.tallies, [], {}))
    (line,) = render_annotations(report, passed).splitlines()
    assert line.startswith("::notice title=relaxfuzz gate::gate passed")


@pytest.mark.parametrize(
    ("title", "message", "expected"),
    [
        ("a: b, c", "d: e, f", "::error title=a%3A b%2C c::d: e, f"),
        ("100%", "50%0A", "::error title=100%25::50%250A"),
        ("a\nb", "one\r\n::set-env name=X::y", "::error title=a%0Ab::one?%0A::set-env name=X::y"),
        ("\x1b[31m", "\x07", "::error title=?[31m::?"),
        ("a", "##vso[task.setvariable]b", "::error title=a::## vso[task.setvariable]b"),
    ],
)
def test_foreign_text_cannot_end_a_command(title: str, message: str, expected: str) -> None:
    assert command("error", title, message) == expected
    assert "\n" not in command("error", title, message)


def test_no_more_than_the_runner_takes(report: Report) -> None:
    many = [finding(number, "FuseOps", FindingState.CONFIRMED, "crash", f"boom {number}") for number in range(1, 31)]
    lines = render_annotations(replace(report, findings=many)).splitlines()
    assert len(lines) == MOST
    assert lines[-1] == "::error title=relaxfuzz::and 21 more in the report"


def test_findings_come_before_what_is_short_and_missing_evidence_is_a_warning(report: Report) -> None:
    rules = (Rule("crash", None, Limit(0.99)), Rule("numeric", None, Limit(min_checks=10**6)))
    result = judge_campaign(Policy(rules, KnownFindings()), measured(report.info, report.tallies, report.findings, {}))
    lines = render_annotations(report, result).splitlines()
    (short,) = (number for number, line in enumerate(lines) if "at least 1000000 needed" in line)
    assert lines[short].startswith("::warning title=relaxfuzz gate%3A numeric::")
    assert short > max(number for number, line in enumerate(lines) if line.startswith("::error title=relaxfuzz%3A"))
    report = without_failures(report)
    result = judge_campaign(Policy(rules[1:], KnownFindings()), measured(report.info, report.tallies, [], {}))
    for line in render_annotations(report, result).splitlines():
        assert line.startswith("::warning title=relaxfuzz gate")


def test_nothing_to_say(report: Report) -> None:
    assert render_annotations(replace(report, findings=[])) == ""


def test_what_a_pass_raises_is_annotated_at_its_line(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = report.findings
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    for place, file, line in (
        (f"{tmp_path}/team, one/util.py:12", "team%2C one/util.py", 12),
        ("/elsewhere/util.py:12", "", 0),
        ("util.py:12", "", 0),  # of an earlier version
        (f"{tmp_path}/util.py:last", "", 0),  # of a campaign that somebody edited
        ("", "", 0),
    ):
        raised = replace(first, evidence=replace(first.evidence, details=Details(place=place)))
        told = replace(report, findings=[raised, *rest])
        at = f"file={file},line={line}," if file else ""
        assert render_annotations(told).startswith(f"::error {at}title=relaxfuzz%3A S3? crash FuseOps 0000000001::")
        (log,) = msgspec.json.decode(render_sarif(told))["runs"]
        physical = log["results"][0]["locations"][0]["physicalLocation"]
        own = {"artifactLocation": {"uri": "team%2C%20one/util.py"}, "region": {"startLine": 12}}
        script = {"uri": "repros/0000000001.py", "uriBaseId": "CAMPAIGN"}
        assert physical == (own if file else {"artifactLocation": script, "region": {"startLine": 1}})


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("{home}/team/drop.py:Drop", 4),
        ("{home}/team/drop.py:make(2)", 8),
        ("team.drop:made", 12),
        ("{home}/team/drop.py:Dro", 0),
        ("{home}/team/none.py:Drop", 0),
        ("/elsewhere/drop.py:Drop", 0),
    ],
)
def test_what_a_users_pass_does_wrong_is_annotated_at_its_definition(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, line: int
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "drop.py").write_text(
        "# Drop\n\n\nclass Drop:\n    pass\n\n\ndef make(level):\n    return Drop()\n\n\nmade = Drop\n"
    )
    monkeypatch.chdir(tmp_path)
    first, *rest = report.findings
    case = replace(first.case, passes=(PassRef("FuseOps", f"{USER_PREFIX}{target.format(home=tmp_path)}"),))
    own = replace(first, case=case, minimized=None, evidence=replace(first.evidence, details=Details()))
    at = f"file=team/drop.py,line={line}," if line else ""
    inner = ScriptParts("x", False, Words("", "", ""), other=(first.case, first.verdict))  # of a pass of TVM's inside
    for each in (own, replace(own, parts=inner)):
        told = render_annotations(replace(report, findings=[each, *rest]))
        assert told.startswith(f"::error {at}title=relaxfuzz%3A S3? crash FuseOps 0000000001::")
