from dataclasses import replace

from fuzzer.store import FindingState
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
    assert "RemoveUnusedParamet..." in text
    widest = replace(long, oracle="postcondition", state=FindingState.UNSCRIPTED, count=1_000_000, bindings=100)
    text = render_text(replace(report, findings=[widest]))
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_of_many_findings_the_most_frequent_open_ones_are_shown(report: Report) -> None:
    first, flaky, known = report.findings
    many = [replace(first, id=f"{number:010x}", count=number) for number in range(100, 130)]
    text = render_text(replace(report, findings=[*many, flaky, known]), most=3)
    shown = [line.split()[0] for line in text.splitlines() if line.startswith("00000000")]
    assert sorted(shown) == [f"{number:010x}" for number in (127, 128, 129)]
    assert "32 findings: 30 confirmed, 1 flaky, 1 known; the 3 that were seen most often:" in text
    assert text.splitlines()[-1] == "and 29 more findings: relaxfuzz findings campaign"
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_an_empty_campaign(report: Report) -> None:
    text = render_text(replace(report, tallies=[], findings=[]))
    assert "No verdicts yet." in text
    assert "No findings." in text
