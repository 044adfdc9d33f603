from dataclasses import replace
from pathlib import Path

from sample_findings import finding

from fuzzer.findings.file import KnownFinding, KnownFindings
from fuzzer.gate.judge import judge_campaign
from fuzzer.gate.measured import measured
from fuzzer.gate.policy import Policy
from fuzzer.store.writer import FindingState
from reports.step_summary import MOST_BYTES, render_step_summary
from reports.tables import Report


def test_verdict_deciding_lines_and_findings(report: Report) -> None:
    entry = KnownFinding("0000000003", "", "https://example.org/1", "accepted")
    policy = Policy((), KnownFindings((entry,)))
    text = render_step_summary(
        report, judge_campaign(policy, measured(report.info, report.tallies, report.findings, {}))
    )
    lines = text.splitlines()
    assert lines[0] == "## ❌ relaxfuzz gate: failed"
    assert "TVM 0.27.0.post1, seed 7: 1234 cases on 300 modules in 10 min 05 s; finished." in lines
    assert any(line.startswith("FAIL  new finding 0000000001 S3? crash FuseOps: ") for line in lines)
    assert "### 2 findings: 1 open, 1 known; 1 suspect" in lines
    assert [line for line in lines if line.startswith("| open |")]
    assert not [line for line in lines if line.startswith("| known |")]
    at = lines.index("#### Suspects")
    assert lines[at + 2] == "Flaky, or not reproduced by a script; not counted as findings."
    (row,) = [line for line in lines if line.startswith("| flaky |")]
    assert lines.index(row) > at > lines.index(next(line for line in lines if line.startswith("| open |")))


def test_hostile_text_stays_text(report: Report) -> None:
    text = render_step_summary(report)
    assert "<script>" not in text
    assert "a &lt;script&gt;alert" in text
    assert text.splitlines()[0] == "## relaxfuzz"


def test_scripts_are_there_to_copy(report: Report, tmp_path: Path) -> None:
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "0000000001.py").write_text('print("```")\n')
    text = render_step_summary(replace(report, directory=tmp_path))
    assert "<summary>Script of 0000000001: crash, FuseOps</summary>" in text
    assert '````python\nprint("```")\n````' in text


def test_it_fits_into_what_the_runner_takes(report: Report, tmp_path: Path) -> None:
    long = "x " * 5000
    many = [finding(1, "FuseOps", FindingState.CONFIRMED, "crash", f"{number} {long}") for number in range(2000)]
    text = render_step_summary(replace(report, findings=many))
    assert len(text.encode()) < MOST_BYTES
    assert "And 1950 more." in text


def test_suspects_alone(report: Report) -> None:
    text = render_step_summary(replace(report, findings=[each for each in report.findings if each.suspect]))
    assert "### 0 findings; 1 suspect\n\n#### Suspects\n" in text


def test_nothing_found(report: Report) -> None:
    text = render_step_summary(replace(report, findings=[], tallies=[]))
    assert "### 0 findings" in text


def test_the_seeds_of_a_merged_campaign_are_all_named(report: Report) -> None:
    merged = replace(report, info=replace(report.info, seeds=(7, 8)))
    assert "TVM 0.27.0.post1, seeds 7, 8: 1234 cases on 300 modules" in render_step_summary(merged)
