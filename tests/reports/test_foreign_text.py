"""Text from elsewhere, whatever it holds, is only text in each format."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sample_findings import finding

from fuzzer.cli.options import put_json
from fuzzer.core.text import MOST_LINE, first_line, printable, quoted_path, to_json, visible, visible_all
from fuzzer.findings.releases import Bisected
from fuzzer.findings.signature import normalise
from fuzzer.gate.baseline import to_text
from fuzzer.gate.measured import measured
from fuzzer.repro import markdown as bug_report
from fuzzer.repro.markdown import escaped
from fuzzer.store.writer import FindingState
from reports.annotations import render_annotations
from reports.html import render_html
from reports.junit import render_junit
from reports.markdown import fenced, render_markdown
from reports.sarif import render_sarif
from reports.step_summary import render_step_summary
from reports.tables import Report
from reports.text import render_text

PIECES = (
    "\x1b[2J",
    "\x1b]0;x\x07",
    "::error title=a::b",
    "  ::set-output name=a::b",
    "##[error]x",
    "</script>",
    "]]>",
    "```",
    "~~~",
    "\u202e",
    "\u2066",
    "\u200b",
    "\r\n",
    "\n",
    "|",
    "<b>",
    "<!--",
    "--!>",
    "&lt;",
    "\x00",
    "\x85",
    "\u2028",
    "\ufffe",
    "\t",
    "'",
    '"',
    "\\",
    "%0A",
    "x",
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join)
HUGE = "x" * (1 << 20)


def spoiled(report: Report, text: str) -> Report:
    """The report with the text wherever a campaign may have brought it."""
    bad = finding(3, "FuseOps", FindingState.CONFIRMED, "crash", text)
    bad = replace(bad, signature=text, note=text, bisected=Bisected(text, ((text, text),)))
    tallies = [replace(tally, reason=text) if tally.reason else tally for tally in report.tallies]
    info = replace(report.info, tvm_version=text, budget_text=text)
    return replace(report, findings=[bad], tallies=tallies, info=info)


def is_clean(text: str) -> bool:
    return all(letter.isprintable() or letter in "\n\t" for letter in text)


@given(TEXTS)
@example(HUGE)
def test_lines_and_blocks(text: str) -> None:
    shown = printable(text)
    assert is_clean(shown)
    assert "##[" not in shown
    assert not re.search(r"^\s*::", shown, re.MULTILINE)
    assert printable(shown) == shown
    assert first_line(text).count("\n") == 0
    assert len(first_line(text)) <= MOST_LINE + 10
    assert visible_all({"a": [text, 1, None]}) == {"a": [visible(text), 1, None]}


@given(TEXTS)
@example(HUGE)
def test_cells_and_fences(text: str) -> None:
    for made in (escaped(text), escaped(text)):
        assert is_clean(made)
        assert not set("\n<>") & set(made)
        assert not re.search(r"(?<!\\)\|", made)
        assert len(made) < 6 * MOST_LINE
    for lines in (fenced(text), bug_report.fenced(text).splitlines()):
        assert is_clean("\n".join(lines))
        assert lines[0] == lines[-1]
        assert all(not line.strip().startswith(lines[0]) for line in lines[1:-1])


@given(TEXTS)
@example("###[x]")
def test_json_holds_no_command(text: str) -> None:
    for made in (to_json({text: [text]}, indent=2), to_json([text], ensure_ascii=False)):
        assert "##" not in made
        assert text in (json.loads(made)[0] if made.startswith("[") else list(json.loads(made)))


def test_a_baseline_holds_no_command(report: Report) -> None:
    text = to_text(measured(replace(report.info, budget_text="##vso[task.complete]"), [], [], {}))
    assert "##" not in text
    assert json.loads(text)["campaign"]["budget_text"] == "##vso[task.complete]"


def test_what_programs_read_holds_no_command(capsys: pytest.CaptureFixture[str], report: Report) -> None:
    put_json(["##vso[task.complete]"])
    assert json.loads(said := capsys.readouterr().out) == ["##vso[task.complete]"]
    assert "##" not in said
    assert "##" not in render_sarif(spoiled(report, "##vso[task.complete]"))


def test_a_path_to_copy_is_one_word() -> None:
    for path in ("-cCODE#/repros/1.py", "a 'b' `$(touch x)`", "-"):
        word = shlex.split(f"python {quoted_path(path)}")[1]
        assert not word.startswith("-")
        assert word.removeprefix("./") == path


@pytest.mark.parametrize("directory", ["x`$(touch x)`", "``x", "x`", "a b"])
def test_a_command_in_code_stays_what_it_is(directory: str) -> None:
    command = f"relaxfuzz minimize {quoted_path(directory)} 0"
    found = re.fullmatch(r"(?s)(`+)(.*[^`])\1", bug_report._code(command))
    assert found is not None
    assert found[1] not in re.findall(r"`+", found[2])
    assert (found[2][1:-1] if "`" in found[2] else found[2]) == command


def test_github_tells_no_issue_or_commit_of_foreign_text() -> None:
    url, commit = "https://github.com/apache/tvm/issues/1", "0123456789abcdef0123456789abcdef01234567"
    made = bug_report._prose(f"see {url} and {commit}")
    assert url not in made
    assert commit not in made
    assert made.replace("&#8203;", "") == f"see {url} and {commit}"


@given(TEXTS)
def test_prose_of_a_bug_report_is_prose(text: str) -> None:
    made = bug_report._prose(text)
    assert is_clean(made)
    assert not re.search(r"<[A-Za-z/!?]|##\[|^\s*(::|#|```|~~~)", made, re.MULTILINE)
    assert "\n" not in bug_report._line(text)
    title = bug_report._title(text)
    assert is_clean(title)
    assert not re.search(r"<[A-Za-z/!?]|##\[|\n", title)


@pytest.mark.timeout(60)  # some of them took an hour
def test_long_texts_are_read_once() -> None:
    for piece in ("ir.Op(", "ir.Op(x", 'ir.Op(name="a"\n', 'ir.Op(name="a" '):
        assert is_clean(printable(piece * 50_000))
        assert len(normalise(piece * 50_000)) <= 200
    assert len(normalise(f"ir.Op({'a' * 100_000}")) <= 200


@pytest.mark.parametrize("text", [*PIECES, "".join(PIECES), HUGE, "\n".join(PIECES)])
def test_each_format(report: Report, text: str) -> None:
    bad = spoiled(report, text)
    said = render_text(bad)
    assert is_clean(said)
    assert "##[" not in said
    assert not re.search(r"^\s*::", said, re.MULTILINE)
    annotations = render_annotations(bad)
    assert is_clean(annotations)
    assert all(
        line.startswith(("::error title=", "::warning title=", "::notice title=")) for line in annotations.splitlines()
    )
    assert len(annotations) < 30_000
    for markdown in (render_markdown(bad, lambda _: text), render_step_summary(bad)):
        assert is_clean(markdown)
        assert not re.search(r"##\[|^\s*::", markdown, re.MULTILINE)
        assert "</script>" not in re.sub(r"^(`{3,}).*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    junit = ElementTree.fromstring(render_junit(bad))
    assert not re.search(r"##\[|^\s*::", render_junit(bad), re.MULTILINE)
    assert all(is_clean("".join([each.text or "", *each.attrib.values()])) for each in junit.iter())
    assert is_clean(json.dumps(json.loads(render_sarif(bad)), ensure_ascii=False))
    page = {"campaign": {"name": text, "seed": 1, "tvm": text}, "title": text, "findings": [{"message": text}]}
    html = render_html(page)
    data = html.partition("const RELAXFUZZ=")[2].partition(";</script>")[0]
    assert json.loads(data)["title"] == visible(text)
    assert "<" not in data
    assert not re.search(r"^\s*::", html, re.MULTILINE)
    assert html.count("</script>") == render_html({**page, "title": "", "findings": []}).count("</script>")
