from dataclasses import replace

from reports.tables import Report
from reports.text import WIDTH, render_text


def test_everything_is_there_and_fits_80_columns(report: Report) -> None:
    text = render_text(report)
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert "\x1b" not in text
    lines = text.splitlines()
    (crash,) = [line.split() for line in lines if line.startswith("crash ")]
    assert crash == ["crash", "190", "12", "94.05", "%", "0", "4", "0"]
    assert "3 findings: 1 confirmed, 1 flaky, 1 known" in lines
    (row,) = [index for index, line in enumerate(lines) if line.startswith("0000000001")]
    assert lines[row].split() == ["0000000001", "crash", "FuseOps", "9", "2", "confirmed"]
    assert lines[row + 1].startswith("  a <script>")
    assert lines[row + 2] == "  repro: repros/0000000001.py"
    assert any("pass changed nothing" in line and line.startswith("7 ") for line in lines)


def test_long_names_are_cut(report: Report) -> None:
    long = replace(report.findings[0], culprit="RemoveUnusedParameters > CanonicalizeBindings > FuseTIR")
    text = render_text(replace(report, findings=[long]))
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert "RemoveUnusedParameters ..." in text


def test_an_empty_campaign(report: Report) -> None:
    text = render_text(replace(report, tallies=[], findings=[]))
    assert "No verdicts yet." in text
    assert "No findings." in text
