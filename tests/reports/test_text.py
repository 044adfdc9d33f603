import re
from dataclasses import replace
from pathlib import Path

from fuzzer.core.terminal import WIDTH
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.store.known import KnownAs, ordered
from fuzzer.store.writer import FindingState
from oracles.core.verdict import NOT_ASKED
from reports.markdown import render_markdown
from reports.step_summary import render_step_summary
from reports.tables import Report
from reports.text import render_text


def test_everything_is_there_and_fits_80_columns(report: Report) -> None:
    text = render_text(report)
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert "\x1b" not in text
    lines = text.splitlines()
    (crash,) = [line.split() for line in lines if line.startswith("crash ")]
    assert crash == ["crash", "190", "12", "94.05%", "0", "4", "0"]
    assert "2 findings: 1 confirmed, 1 known; 1 suspect: 1 flaky" in lines
    (row,) = [index for index, line in enumerate(lines) if line.startswith("0000000001")]
    assert lines[row].split() == ["0000000001", "S3?", "crash", "FuseOps", "9", "2", "confirmed"]
    assert lines[row + 1].startswith("  a <script>")
    assert lines[row + 2] == f"  repro: {report.directory}/repros/0000000001.py"
    assert any("pass changed nothing" in line and line.split()[0] == "7" for line in lines)


def test_where_a_users_pass_raised_is_told(report: Report) -> None:
    evidence = report.findings[0].evidence
    raised = replace(evidence, details=replace(evidence.details, raised_at=("/p.py:1 in f: g()", "/p.py:7 in g: a[0]")))
    text = render_text(replace(report, findings=[replace(report.findings[0], evidence=raised)]))
    assert "\n  raised at: /p.py:7 in g: a[0]\n" in text
    assert "raised at" not in render_text(report)


def test_of_many_reasons_the_rest_is_counted(report: Report) -> None:
    assert "more reason" not in render_text(report)
    first = report.tallies[0]
    tallies = [replace(first, outcome="skip", reason=f"reason {number}", count=1) for number in range(11)]
    text = render_text(replace(report, tallies=[first, *tallies]))
    assert text.count("  reason ") == 8
    assert "\nand 3 more reasons: relaxfuzz report campaign --markdown -\n" in text


def test_long_names_are_wrapped(report: Report) -> None:
    long = replace(report.findings[0], culprit="RemoveUnusedParameters > CanonicalizeBindings > FuseTIR")
    text = render_text(replace(report, findings=[long]))
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    head, _, *lines = text[text.index("\nid ") + 1 :].splitlines()
    column = slice(head.index("pass"), head.index("count"))
    cells = [line[column].strip() for line in lines[: lines.index(next(line for line in lines if line[:3] == "  a"))]]
    assert " ".join(cells) == long.culprit
    assert "..." not in text
    widest = replace(long, oracle="postcondition", state=FindingState.UNSCRIPTED, count=1_000_000, bindings=100)
    text = render_text(replace(report, findings=[widest]))
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_of_many_findings_the_most_frequent_open_ones_are_shown(report: Report) -> None:
    first, known, flaky = report.findings
    many = [replace(first, id=f"{number:010x}", count=number) for number in range(100, 130)]
    suspects = [replace(flaky, id=f"{number:010x}", count=number) for number in range(200, 205)]
    text = render_text(replace(report, findings=ordered([*many, known, *suspects])), most=3)
    shown = [line.split()[0] for line in text.splitlines() if line.startswith("00000000")]
    assert sorted(shown[:3]) == [f"{number:010x}" for number in (127, 128, 129)]
    assert sorted(shown[3:]) == [f"{number:010x}" for number in (202, 203, 204)]
    assert "31 findings: 30 confirmed, 1 known; 5 suspects: 5 flaky\n31 S3?\nThe 3 most severe:\nid" in text
    assert "\nand 28 more findings: relaxfuzz findings campaign\n" in text
    assert text.splitlines()[-1] == "and 2 more suspects: relaxfuzz findings campaign"
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_suspects_have_a_part_of_their_own_behind_the_findings(report: Report) -> None:
    first, known, flaky = report.findings
    unscripted = replace(flaky, id="0000000004", state=FindingState.UNSCRIPTED)
    text = render_text(replace(report, findings=[unscripted, flaky, known, first]))
    heading = "Suspects: flaky, or not reproduced by a script; not counted as findings"
    findings, suspects = text.split(f"\n\n{heading}\nid ")
    ids = [[line.split()[0] for line in part.splitlines() if line[:3] == "000"] for part in (findings, suspects)]
    assert ids == [[known.id, first.id], [unscripted.id, flaky.id]]
    assert [line.split()[-1] for line in suspects.splitlines() if line[:3] == "000"] == ["unscripted", "flaky"]
    assert "Suspects" not in render_text(replace(report, findings=[first, known]))
    alone = render_text(replace(report, findings=[flaky]))
    assert "\n\n0 findings; 1 suspect: 1 flaky\n\nSuspects: flaky, or not " in alone


def test_the_counting_line_fits_whatever_the_numbers(report: Report) -> None:
    hundreds = [
        replace(each, state=state)
        for each, state, count in zip([report.findings[0]] * 5, FindingState, (1100, 1100, 110, 110, 1100), strict=True)
        for _ in range(count)
    ]
    text = render_text(replace(report, findings=hundreds), most=1)
    told = "3300 findings: 1100 confirmed, 1100 untriaged, 1100 known; 220 suspects: 110 unscripted, 110 flaky"
    assert told in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_a_campaign_that_judged_few_cases_says_so_and_why(report: Report) -> None:
    crash, numeric = (replace(report.tallies[0], oracle=name, count=20) for name in ("crash", "numeric"))
    broken = replace(crash, outcome="invalid", reason="it cannot be built", count=35)
    unasked = replace(crash, outcome="skip", reason=NOT_ASKED, count=100)
    told = "Only 20 of 60 cases could be judged; most frequent reason: invalid: it cannot be built (35x)"
    blind = [crash, broken, replace(broken, reason="other", count=5), numeric, replace(broken, oracle="numeric")]
    for findings in ([], report.findings):
        shown = replace(report, findings=findings, tallies=blind)
        assert told in " ".join(render_text(shown).split())
        assert f"\n{told}.\n" in render_markdown(shown, lambda _: "")
        assert f"\n{told}.\n" in render_step_summary(shown)
    for tallies in ([], [crash, unasked], [crash, replace(broken, count=20)], [*blind, replace(numeric, count=30)]):
        assert "Only" not in render_text(replace(report, findings=[], tallies=tallies))


def test_an_empty_campaign(report: Report) -> None:
    text = render_text(replace(report, tallies=[], findings=[]))
    assert "No verdicts yet." in text
    assert "No findings." in text


def test_the_command_that_lists_the_rest_is_quoted(report: Report) -> None:
    many = [replace(report.findings[0], id=f"{number:010x}") for number in range(5)]
    text = render_text(replace(report, directory=Path("$(touch x)"), findings=many), most=3)
    assert "relaxfuzz findings '$(touch x)'" in text


def test_of_one_severity_new_findings_come_first_and_what_to_do_stands_below(report: Report) -> None:
    first, listed, _ = report.findings
    others = [replace(first, id=f"{number:010x}", count=100) for number in range(4)]
    raw = replace(first, id="abc0000001", count=1, state=FindingState.NEW)
    wrong = replace(raw, id="abc0000002", assessed=Assessment(EvidenceClass.HARD, Severity.S1, "FuseOps"))
    known = {each.id: KnownAs("case", "It fails.") for each in (*others, wrong)}
    known[wrong.id] = replace(known[wrong.id], reference="https://github.com/apache/tvm/issues/1")
    findings = ordered([*others, raw, wrong, listed], known)
    text = render_text(replace(report, findings=findings, recognized=known), most=3)
    shown = [line.split()[0] for line in text.splitlines() if re.match(r"[0-9a-f]{10} ", line)]
    assert shown[:3] == [wrong.id, raw.id, others[0].id], "the gravest, although it is known; then what is new"
    assert "\nThe 3 most severe:\n" in text
    assert text.endswith(
        "\n1 unknown: relaxfuzz findings campaign --new"
        "\n6 not reported upstream: relaxfuzz findings campaign --unreported"
        "\n2 untriaged; to confirm and minimize them: relaxfuzz minimize campaign --all\n"
    ), text
    alone = render_text(replace(report, findings=[first], recognized={}))
    assert " unknown: " not in alone, "where nothing is known, nothing is new"
    assert "untriaged" not in alone
