import re
from dataclasses import replace

from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.repro.markdown import escaped
from fuzzer.store.writer import FindingState
from oracles.core.verdict import Details
from reports.markdown import fenced, render_markdown
from reports.tables import Report


def test_tables_have_as_many_cells_in_every_row(report: Report) -> None:
    lines = render_markdown(report, lambda _: "").splitlines()
    width = 0
    tables = 0
    for previous, line in zip(["", *lines], lines, strict=False):
        if not line.startswith("|"):
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        if previous.startswith("|"):
            assert cells == width, line
        else:
            tables += 1
        width = cells
    assert tables == 4


def test_hostile_text_stays_text(report: Report) -> None:
    text = render_markdown(report, lambda _: "x = 1  # ````\n")
    prose = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<script>" not in prose
    assert "&lt;script&gt;" in prose
    assert escaped("a|b\nc `d` *e*") == r"a\|b c \`d\` \*e\*"


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fenced("a ```` b", "python") == ["`````python", "a ```` b", "`````"]
    assert fenced("plain")[0] == "```"


def test_suspects_have_a_part_of_their_own_behind_the_findings(report: Report) -> None:
    text = render_markdown(report, lambda _: "")
    findings, suspects = text.split("## Findings")[1].split("## Suspects\n\nFlaky, or not reproduced by a script; ")
    assert "| 0000000001 |" in findings
    assert "### 0000000003" in findings
    assert "0000000002" not in findings
    assert "| 0000000002 | S3? | crash | FuseOps | 1 | - | flaky |" in suspects
    assert "### 0000000002" in suspects
    first, _, suspect = report.findings
    untriaged = render_markdown(replace(report, findings=[replace(first, state=FindingState.NEW)]), lambda _: "")
    assert "| untriaged |" in untriaged
    assert "| new |" not in untriaged, "new is what nobody knows"
    assert "## Suspects" not in render_markdown(replace(report, findings=[first]), lambda _: "")
    assert "## Findings\n\nNone.\n\n## Suspects" in render_markdown(replace(report, findings=[suspect]), lambda _: "")


def test_findings_show_signature_repro_and_module(report: Report) -> None:
    text = render_markdown(report, lambda finding: f"# module of {finding.id}")
    assert "### 0000000001: crash, FuseOps" in text
    assert "# module of 0000000001" in text
    assert "relax.transform.FuseOps()" in text
    assert "repros/0000000001.py" in text


def test_what_the_pass_changes_is_shown_and_the_numbers(report: Report) -> None:
    parts = ScriptParts("x", False, Words("t", "e", "-3 for -2"), change="-lv = R.abs(x)\n+lv = R.negative(x)")
    first, *rest = report.findings
    numbers = replace(first.evidence, details=Details(numbers=("[]", "-2", "-3", "-3")))
    first = replace(first, parts=parts, evidence=numbers)
    text = render_markdown(replace(report, findings=[first, *rest]), lambda _: "")
    assert "```diff\n-lv = R.abs(x)\n+lv = R.negative(x)\n```" in text
    assert "-3 for -2" in text
    shown = replace(parts, other=(first.case, first.verdict))  # the numbers are those of what the script shows
    moved = replace(first, evidence=report.findings[0].evidence, parts=shown)
    assert "-3 for -2" in render_markdown(replace(report, findings=[moved, *rest]), lambda _: "")
