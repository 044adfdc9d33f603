"""The page's own scripts in a JavaScript engine that pip brings: views, search, filters, and that no text is markup.

The document is a small one (``page_dom.js``), so this runs where no browser is; ``test_page_clicks.py`` has a real one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from page_samples import SOURCE, full, sample_page
from py_mini_racer import JSEvalException, MiniRacer
from sample_findings import HOSTILE, finding

from fuzzer.core.text import quoted_path
from fuzzer.core.toml import parse_toml
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.file import known_in
from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.store.known import Cause, KnownAs, ordered
from fuzzer.store.writer import FindingState as State
from reports.html import SCRIPTS
from reports.tables import Report

ASSETS = Path(__file__).parents[2] / "reports" / "page" / "assets" / "js"
VIEWS = ("overview", "findings", "passes", "coverage", "growth", "unjudged", "history", "finding/0000000001")
Run = Callable[[str], Any]


@pytest.fixture
def run(report: Report) -> Run:
    """The page of a campaign with one before it, with a hostile name."""
    named = finding(4, "<script>alert(3)</script>", State.CONFIRMED, "numeric", HOSTILE)
    now = replace(full(report), findings=[*report.findings, named])
    old = replace(
        report,
        directory=Path("<b>before"),
        info=replace(report.info, started_at="2025-12-31T00:00:00+00:00"),
        findings=report.findings[1:],
    )
    return started(old, now)


def started(old: Report, now: Report) -> Run:
    """The page of a campaign with one before it, started; runs an expression in it."""
    engine = MiniRacer()
    own = "\n".join((ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    dom = (Path(__file__).parent / "page_dom.js").read_text(encoding="utf-8")
    # One script, as in the one file: constants of a script are not properties of its window.
    engine.eval(f"{dom}\n{own}\nRF.start({json.dumps(sample_page(old, now))}); globalThis.ask = (text) => eval(text);")

    def ask(text: str) -> Any:
        return json.loads(str(engine.eval(f"JSON.stringify(ask({json.dumps(text)}) ?? null)")))

    return ask


def test_a_finding_that_no_case_showed_is_of_its_campaign(report: Report) -> None:
    """Met only while another was minimized, so that no case counts for it; the history raised on it."""
    aside = replace(finding(4, "FuseOps", State.NEW, "numeric", "met on the way"), count=0)
    run = started(replace(report, directory=Path("before"), findings=[]), replace(full(report), findings=[aside]))
    assert run("[...RF.fresh]") == [aside.id]
    go(run, "history")
    cells = run("document.querySelectorAll('td').map((each) => each.textContent)")
    assert cells[-4:] == ["campaign", "campaign", "·", "0"]


def test_a_campaign_that_judged_few_cases_is_not_green(report: Report) -> None:
    crash = replace(report.tallies[0], count=20)
    tallies = [crash, replace(crash, outcome="invalid", reason="it cannot be built", count=35)]
    for counted, expected in ((tallies, "warn"), (tallies[:1], "good")):
        run = started(replace(report, directory=Path("before")), replace(full(report), findings=[], tallies=counted))
        assert run("document.getElementById('verdict').getAttribute('class')") == f"box verdict {expected}-edge"
        (head,) = [text for text in texts(run, "h1") if text.startswith(("Only", "No"))]
        assert head.startswith("Only 20 of 55 cases") is (expected == "warn")


def offered(run: Run, name: str) -> dict[str, list[Any]]:
    """The buttons for an issue of a finding: the address and the title of each, by its text."""
    made = f"[RF.issueButtons(RF.finding('{name}'))].flat().filter(Boolean)"
    rows = run(f"{made}.map((each) => [each.textContent, each.getAttribute('href'), each.getAttribute('title')])")
    return {text: [href, title] for text, href, title in rows}


def filing(run: Run, name: str, button: str = "New issue") -> list[Any]:
    """The address and the title of a button for an issue."""
    return offered(run, name)[button]


def test_what_is_known_nowhere_is_marked_with_the_word_of_the_filter(report: Report) -> None:
    known = {report.findings[0].id: KnownAs("some-case", "It fails.")}
    run = started(report, replace(full(report), recognized=known))
    run("RF.data.history = null; RF.data.findings.find((each) => !RF.isKnown(each)).standing = 'finding'")
    mark = run("RF.mark(RF.data.findings.find((each) => !RF.isKnown(each))).textContent")
    assert mark == run("RF.KNOWN.no[0]") == "unknown"


def test_what_cannot_be_pressed_says_why(run: Run) -> None:
    run("location.hash = '#/findings'")
    first = run("RF.apart(RF.chosen()).flat()[0].id")
    go(run, f"finding/{first}")
    assert "no previous one" in texts(run, "span")
    disabled = "document.querySelectorAll('button').filter((each) => each.getAttribute('disabled') !== null)"
    assert run(f"{disabled}.map((each) => each.textContent)") == ["New issue"]
    assert any(text.startswith("no script was written for the finding yet") for text in texts(run, "span"))


def test_a_search_for_a_pass_alone_has_words_of_the_title(run: Run) -> None:
    run("RF.finding('0000000001').said = ''; RF.finding('0000000001').line = 'FuseOps modifies its input module'")
    assert run("RF.upstream(RF.finding('0000000001'))").endswith("?q=FuseOps%20modifies%20input%20module")


def test_a_page_is_about_the_pass_at_fault_and_so_is_the_search(run: Run) -> None:
    run("RF.finding('0000000001').line = 'CanonicalizeBindings fails on relax.reshape'")
    go(run, "finding/0000000001")
    judged = run("document.querySelector('main p.dim').textContent")
    assert judged.endswith(": FuseOps")
    for blame, searched in (("CanonicalizeBindings", "CanonicalizeBindings"), ("lowering of relax.reshape", "FuseOps")):
        run(f"RF.finding('0000000001').blame = '{blame}'")
        assert run("RF.upstream(RF.finding('0000000001'))").endswith(f"?q={searched}%20reshape")
        go(run, "findings")
        go(run, "finding/0000000001")
        shown = run("document.querySelector('main p.dim').textContent")
        assert shown == f"found while testing FuseOps ({judged.partition(':')[0]})"


def test_a_module_that_got_no_smaller_is_not_called_minimized(run: Run) -> None:
    go(run, "finding/0000000001")
    for made, reduced, head in (
        (1, 1, "Minimized module"),
        (1, 0, "Module (not reduced)"),
        (0, 0, "Module, not minimized"),
    ):
        run(f"Object.assign(RF.finding('0000000001'), {{minimized: {made}, reduced: {reduced}, module: [0]}})")
        assert run("RF.findingCode(RF.finding('0000000001'))[0].textContent").startswith(head)


def test_a_finding_offers_its_issue_an_entry_and_a_search(report: Report, tmp_path: Path) -> None:
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "0000000001.py").write_text("print('<script>')\n")
    parts = ScriptParts("x", False, Words("FuseOps dies", "it lives", "it does not"))
    first = replace(report.findings[0], parts=parts)
    cause = Cause("c", "It reads x.", "src/relax/a.cc: A::B", "Read y.")
    place = "https://github.com/apache/tvm/issues/17210"
    known = KnownAs("some-case", 'says "so"\nand so', f"{place} (closed, but it is there)", cause=cause)
    known = replace(known, same_program=True)
    now = replace(
        full(report), directory=tmp_path, findings=[first, *report.findings[1:]], recognized={first.id: known}
    )
    run = started(replace(report, directory=Path("before")), now)
    issue = run(f"RF.text(RF.finding('{first.id}').issue)")
    assert issue.partition("\n")[0].endswith("FuseOps dies")
    assert "print('<script>')" in issue
    assert filing(run, first.id, "Reported upstream")[0] == place
    assert "New issue" not in offered(run, first.id)
    assert run(f"RF.isReported(RF.finding('{first.id}'))") is False
    run(f"RF.finding('{first.id}').known.same_program = false")
    assert filing(run, first.id, "Perhaps reported upstream")[0] == place
    assert filing(run, first.id)[1] == "perhaps already reported; not minimized"
    run(f"RF.finding('{first.id}').known.reported = ''")
    address, said = filing(run, first.id)
    assert said == "not minimized"
    run(f"RF.finding('{first.id}').minimized = true")
    address = urlsplit(address)
    assert address.geturl().startswith("https://github.com/apache/tvm/issues/new?")
    title, _, body = issue.partition("\n")
    # Of TVM's own template, for a blank issue is not allowed there, and with its labels, which the link replaces.
    form = {"template": ["bug-report.md"], "labels": ["needs-triage,type: bug"], "title": [title.removeprefix("# ")]}
    assert parse_qs(address.query) == {**form, "body": [body.removeprefix("\n")]}
    run(f"RF.data.lines.push('x'.repeat(8000)); RF.finding('{first.id}').issue.push(RF.data.lines.length - 1)")
    assert parse_qs(urlsplit(filing(run, first.id)[0]).query) == form
    go(run, f"finding/{first.id}")
    shown = "[...document.querySelectorAll('span')].map((each) => each.textContent)"
    assert "The body is too long for a link: New issue copies it, to be pasted there." in run(shown)
    click = "[...document.querySelectorAll('a')].find((each) => each.textContent === 'New issue').fire('click')"
    run(f"RF.toClipboard = (text) => ({{ then(act) {{ globalThis.copied = text; act(true); }} }}); {click}")
    assert run("globalThis.copied").endswith("x" * 8000)
    run(f"RF.finding('{first.id}').issue.pop()")
    run(f"RF.finding('{first.id}').issue = null")
    (said,) = offered(run, first.id)
    assert said.startswith("New issue no script was written for the finding yet; to write a bug report, run ")
    assert said.endswith(f"repro {quoted_path(tmp_path)} {first.id} --markdown"), said
    run(f"RF.finding('{first.id}').issue = []")
    entry = run(f"RF.knownEntry(RF.finding('{first.id}'))")
    (listed,) = known_in(parse_toml(Path("findings.toml"), entry)).entries
    assert (listed.id, listed.culprit, listed.reference) == (first.id, first.culprit, known.reference)
    assert listed.reason == 'says "so" and so'
    entry = run(f"RF.knownEntry(RF.finding('{report.findings[1].id}'))")
    assert "reference" not in entry
    assert known_in(parse_toml(Path("findings.toml"), entry)).entries[0].reference == ""
    search = run(f"RF.upstream(RF.finding('{first.id}'))")
    assert search == "https://github.com/apache/tvm/issues?q=FuseOps%20second%20line"
    run(f"RF.finding('{first.id}').line = 'FuseOps fails on relax.nn.pixel_shuffle: no relax.expr.If'")
    assert run(f"RF.upstream(RF.finding('{first.id}'))").endswith("?q=FuseOps%20nn.pixel_shuffle")
    assert issue.splitlines()[2] == f"Already reported: {known.reference}"
    assert known.name not in issue
    go(run, f"finding/{first.id}")
    shown = run("document.querySelectorAll('dd').map((each) => each.textContent)")
    assert {known.line, cause.reason, cause.place, cause.mend} <= set(shown)
    assert "perhaps the cause" in texts(run, "dt")
    run(f"RF.finding('{first.id}').known.same_program = true")
    go(run, "findings")
    go(run, f"finding/{first.id}")
    assert "perhaps the cause" not in texts(run, "dt")
    assert "cause" in texts(run, "dt")
    gravity = first.assessment.severity.words(first.verdict)
    assert run(f"RF.gravity(RF.finding('{first.id}'))").endswith(gravity)
    assert {"Copy title", "Copy body"} <= {*texts(run, "button")}
    assert run("document.querySelectorAll('a').map((each) => each.getAttribute('href'))").count(known.reference) == 1
    listed = started(
        replace(report, directory=Path("before")), replace(now, recognized={first.id: replace(known, listed=True)})
    )
    assert listed(f"RF.finding('{first.id}').stands") == "known", "and not among those to look at first"
    # What is no address is no link.
    run(f"RF.finding('{first.id}').known.reference = 'javascript:alert(1)'")
    go(run, f"finding/{first.id}")
    assert "javascript" not in str(run("document.querySelectorAll('a').map((each) => each.getAttribute('href'))"))


def names(run: Run) -> list[str]:
    shown: list[str] = run('document.querySelectorAll("#list .name").map((each) => each.textContent)')
    return [text.split()[0] for text in shown]


def go(run: Run, view: str) -> None:
    run(f"location.hash = {json.dumps('#/' + view)}; RF.show();")


def typed(run: Run, label: str, text: str, event: str = "input") -> None:
    run(
        f"(() => {{ const box = document.querySelectorAll('main').flatMap((main) => main.all)"
        f".find((each) => each.getAttribute('aria-label') === {json.dumps(label)});"
        f" box.value = {json.dumps(text)}; box.fire({json.dumps(event)}); }})()"
    )


def press(run: Run, label: str) -> None:
    run(
        f"document.querySelectorAll('main button').find((one) => one.textContent === {json.dumps(label)}).fire('click')"
    )


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_made_and_no_text_is_markup(run: Run, view: str) -> None:
    """Any assignment of markup raises in this document, and text that looks like a tag makes no element."""
    go(run, view)
    assert run("document.querySelectorAll('main h1').length") == 1
    tags = set(run("document.all.map((each) => each.tagName)"))
    assert not tags & {"script", "img", "iframe", "object", "embed"}
    assert (
        run("document.all.filter((each) => Object.keys(each.attributes).some((name) => /^on/.test(name))).length") == 0
    )


def test_a_module_named_script_stays_text(run: Run) -> None:
    go(run, "finding/0000000004")
    assert run("document.querySelector('main p.dim').textContent") == "numeric: <script>alert(3)</script>"
    shown = run("document.querySelectorAll('dd').map((each) => each.textContent)")
    assert any("not written yet; to write it, run relaxfuzz repro" in each for each in shown)
    assert "<script>alert" in run("document.querySelector('main').textContent")
    go(run, "finding/0000000001")
    assert run("document.querySelectorAll('.code pre')[0].textContent") == SOURCE
    go(run, "history")
    assert "<b>before" in run("document.querySelector('main').textContent")
    go(run, "finding/%3Cscript%3E")
    assert "There is no finding <script>" in run("document.querySelector('main').textContent")


def test_the_document_refuses_markup(run: Run) -> None:
    """Otherwise the tests above would say nothing."""
    for text in (
        "document.body.innerHTML = '<b>'",
        "document.body.insertAdjacentHTML('x', '<b>')",
        "document.write('x')",
    ):
        with pytest.raises(JSEvalException, match="parsed as markup"):
            run(text)


def test_search_and_filters(run: Run) -> None:
    go(run, "findings")
    assert run("document.getElementById('count').textContent") == "3 of 3 findings, 1 of 1 suspect"
    typed(run, "Search id, pass, message, module", "ACCEPTED")
    assert names(run) == ["Normalize"]
    typed(run, "Search id, pass, message, module", "R.exp fuseops")  # in the module, and in the name
    assert names(run) == ["FuseOps"]
    typed(run, "Search id, pass, message, module", "nothing of that name")
    assert "No finding matches" in run("document.getElementById('list').textContent")
    press(run, "Clear")
    typed(run, "pass", "FuseOps", "change")
    assert names(run) == ["FuseOps", "FuseOps"]
    press(run, "≈ flaky 1")
    assert run("document.getElementById('count').textContent") == "0 of 3 findings, 1 of 1 suspect"
    press(run, "≈ flaky 1")
    press(run, "Clear")
    press(run, "new 2")
    assert run("document.querySelectorAll('#list a').map((each) => each.getAttribute('href'))") == [
        "#/finding/0000000001",
        "#/finding/0000000004",
    ]
    press(run, "Clear")
    typed(run, "order", "count", "change")
    times = run("document.querySelectorAll('#list .times').map((each) => each.textContent)")
    assert times == ["9 ×", "2 ×", "1 ×", "1 ×"]


def texts(run: Run, selector: str) -> list[str]:
    found: list[str] = run(f"document.querySelectorAll({json.dumps(selector)}).map((each) => each.textContent)")
    return found


def test_suspects_have_a_part_of_their_own_behind_the_findings(run: Run) -> None:
    go(run, "findings")
    assert texts(run, "nav a")[1] == "Findings 3"
    assert texts(run, "#list .part") == ["Suspectsflaky, or not reproduced by a script; not counted as findings"]
    assert texts(run, "#list ul .state")[-1] == "S3? ≈ flaky"
    shown = run("document.querySelector('#list').all.map((each) => each.attributes.class || each.tagName)")
    assert shown.index("head part") > max(at for at, name in enumerate(shown) if name == "badge good")
    for order in ("count", "first", "grave"):
        typed(run, "order", order, "change")
        assert texts(run, "#list .state")[-1] == "S3? ≈ flaky", order
    go(run, "findings?state=confirmed")
    assert texts(run, "#list .part") == []
    go(run, "finding/0000000002")
    assert "This is a suspect and is not counted as a finding" in texts(run, "main")[0]
    go(run, "finding/0000000001")
    assert "A suspect" not in texts(run, "main")[0]
    run("RF.behind(RF.data.matrix.rows[0], null, 'crash')")
    assert texts(run, "dialog h3") == ["Findings", "Suspects"]


def test_no_number_of_findings_counts_suspects_but_names_them(report: Report) -> None:
    suspects = [finding(number, "FuseOps", State.UNSCRIPTED, "numeric", f"unproven {number}", 50) for number in (5, 6)]
    gone = finding(7, "FuseOps", State.FLAKY, "numeric", "gone")
    old = replace(report, directory=Path("before"), findings=[*report.findings, gone])
    run = started(old, replace(full(report), findings=[*suspects, *report.findings]))
    go(run, "overview")
    assert texts(run, "#verdict h1") == [
        "2 findings in 2 families, 1 to review, none of them for the first time; 3 suspects"
    ]
    assert texts(run, ".figure")[0] == "2findings: 1 confirmed, 1 known; 3 suspects"
    assert "No new findings.2 suspects that did not occur before: show them" in texts(run, "main")[0]
    assert "1 suspect of before did not occur again: show them" in texts(run, "main")[0]
    assert run("RF.families()[0][1]") == "all 2"
    run("RF.filters.sort = 'count'")
    assert run("RF.chosen().map((each) => each.standing)") == ["finding"] * 2 + ["suspect"] * 3, "what Next leads to"
    go(run, "history")
    row = texts(run, "tbody tr")[1]
    assert row.endswith("1,2342003"), row  # cases, findings, never seen before, questions, suspects
    assert sorted(texts(run, "td .badge")) == ["≈ flaky"] * 2 + ["◐ unscripted"] * 2
    go(run, "growth")
    said = run("document.querySelectorAll('.plot').map((each) => each.getAttribute('aria-label'))")
    assert any(each.startswith("Findings.") and each.endswith("to 2") for each in said), said
    assert not any(each.startswith("Blocks") for each in said), said
    run = started(report, replace(full(report), blocks=[(64, 5), (1234, 11)]))
    go(run, "growth")
    said = run("document.querySelectorAll('.plot').map((each) => each.getAttribute('aria-label'))")
    assert "Blocks of the compiler. blocks of the compiler: from 5 to 11" in said


def test_a_family_counts_its_suspects_apart(report: Report) -> None:
    first, known, flaky = report.findings
    same = [replace(each, evidence=first.evidence, culprit="FuseOps") for each in (first, known, flaky)]
    run = started(report, replace(full(report), findings=same))
    go(run, "findings")
    (head,) = texts(run, "#list .family-head")
    assert head.endswith(" · 2 findings, 11 cases · also 1 suspect"), head
    assert run("RF.families()[1][1]").startswith("3: ")
    go(run, "finding/0000000002")
    assert "with 2 findings" in texts(run, "main")[0]
    go(run, "finding/0000000001")
    assert "with 1 finding, 1 suspect" in texts(run, "main")[0]


def test_filters_in_an_address(run: Run) -> None:
    go(run, "findings?oracle=numeric")
    assert names(run) == ["<script>alert(3)</script>"]


def test_what_was_not_judged_by_oracle_and_verdict(run: Run) -> None:
    go(run, "unjudged")
    assert '<script>alert("1")</script>' in run("document.querySelector('main').textContent")
    typed(run, "oracle", "numeric", "change")
    assert run("document.querySelectorAll('tbody tr').length") == 3
    typed(run, "verdict", "skip", "change")
    assert run("document.querySelectorAll('tbody tr').length") == 2


def test_curves_say_where_they_end(run: Run) -> None:
    go(run, "growth")
    said = run("document.querySelectorAll('.plot').map((each) => each.getAttribute('aria-label'))")
    assert any(each.startswith("Cases.") and each.endswith("from 64 to 1,234") for each in said), said
    # Without a pointer, as on a phone, the legend is put on the last point.
    assert run(
        "(() => { let put = null; const { options, data } = drawn[drawn.length - 1];"
        " options.hooks.ready[0]({ cursor: { idx: null }, setLegend: (at) => { put = at.idx; } });"
        " return [put, data[0].length - 1]; })()"
    ) == [2, 2]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("RF.percent(0.99999)", "99.99%"),
        ("RF.percent(1)", "100.00%"),
        ("RF.percent(null)", "–"),
        ("RF.duration(3725)", "1 h 02 min"),
        ("RF.counted(1, 'finding')", "1 finding"),
        ("RF.clock(90)", "1.5 min"),
    ],
)
def test_numbers_as_text(run: Run, expression: str, text: str) -> None:
    assert run(expression) == text


def test_the_gravest_are_to_be_looked_at_first_and_questions_stand_apart(report: Report) -> None:
    first, *_ = report.findings
    hard, _, ours, _ = EvidenceClass
    rows = [
        replace(first, id="000000000a", count=90, assessed=Assessment(hard, Severity.S3, "FuseOps", final=True)),
        replace(
            first, id="000000000b", count=1, assessed=Assessment(hard, Severity.S1, "LambdaLift", "why", final=True)
        ),
        replace(first, id="000000000c", count=99, assessed=Assessment(ours, Severity.S5, "FuseOps", final=True)),
    ]
    run = started(report, replace(full(report), findings=ordered(rows)))
    go(run, "overview")
    main = texts(run, "main")[0]
    assert "Most severe findings" in main
    assert main.index("S1") < main.index("S3")
    assert texts(run, ".figure")[0] == "2findings: 2 confirmed; 1 question"
    go(run, "findings")
    assert texts(run, "#list .part") == ["Questionsfailures that break no documented promise; not counted as findings"]
    typed(run, "severity", "S1", "change")
    assert run("document.getElementById('count').textContent") == "1 of 2 findings, 0 of 1 question"
    for name, place in (("b", "1 of 2 findings"), ("c", "1 of 1 question")):  # a question was counted as the third
        run("RF.filters.severity = ''")
        go(run, f"finding/000000000{name}")
        assert place in texts(run, "main")[0]
    go(run, "finding/000000000b")
    said = texts(run, "main")[0]
    assert "at faultLambdaLift" in said
    assert "reasonwhy" in said
    go(run, "finding/000000000c")
    assert "This is a question and is not counted as a finding" in texts(run, "main")[0]


@pytest.mark.parametrize(
    ("frame", "file"),
    [
        ("src/relax/transform/fuse_ops.cc:relax::Fuse", "src/relax/transform/fuse_ops.cc"),
        ("include/tvm/ir/module.h:Lookup", "include/tvm/ir/module.h"),
        ("relax/expr_functor.py:visit", "python/tvm/relax/expr_functor.py"),
        ("raising.py:_factor", None),
        ("src/%2e%2e/../../../../evil/repo/raw/x.cc:f", None),
        ("src/%2e%2e/x.cc:f", None),
        ("src/../x.cc:f", None),
        ("//evil/x.cc:f", None),
    ],
)
def test_a_frame_of_tvm_links_to_its_file_in_the_release(run: Run, frame: str, file: str | None) -> None:
    href = run(f"RF.sourceOf({json.dumps(frame)}).href ?? RF.sourceOf({json.dumps(frame)}).attributes?.href ?? null")
    release = run("RF.data.campaign.tvm")
    assert href == (None if file is None else f"https://github.com/apache/tvm/blob/v{release}/{file}")


def test_a_command_to_copy_runs_nothing_of_a_directorys_name(run: Run) -> None:
    for word in ("campaign", "$(touch x)", "it's", "a b;c", "", "-x", "-c x#", "d\u00e9j\u00e0"):
        assert run(f"RF.quoted({json.dumps(word)})") == quoted_path(word)
    run("RF.data.campaign.directory = '$(touch x)'")
    go(run, "finding/0000000004")
    shown = run("document.querySelectorAll('dd').map((each) => each.textContent)")
    assert any("run relaxfuzz repro '$(touch x)' 0000000004" in each for each in shown)


def test_a_place_links_to_each_file_of_tvm_that_it_names(run: Run) -> None:
    place = "src/relax/op/op.cc, InferTypeX (called by python/tvm/relax/block_builder.py), not src/../etc/x.py"
    release = run("RF.data.campaign.tvm")
    assert run(f"RF.linked({json.dumps(place)}).flatMap((part) => part.href ?? part.attributes?.href ?? [])") == [
        f"https://github.com/apache/tvm/blob/v{release}/{path}"
        for path in ("src/relax/op/op.cc", "python/tvm/relax/block_builder.py")
    ]
    assert run(f"RF.linked({json.dumps(place)}).map((part) => part.textContent ?? part).join('')") == place


def test_dotted_names_are_read_once_and_long_texts_are_plain(run: Run) -> None:
    begun = time.process_time()
    assert run("[...'a.'.repeat(40000).matchAll(RF.TOKENS)].length") == 1
    assert run("[...'relax.op.add(x.if, 1)'.matchAll(RF.TOKENS)].map((each) => each[0])") == [
        "relax.op.add", "x.if", "1",
    ]  # fmt: skip
    assert time.process_time() - begun < 5  # it took 15 s
    coloured = "RF.code('', 'pass\\n'.repeat({})).querySelectorAll('.t-key').length"
    assert run(coloured.format(10)) == 10
    assert run(coloured.format(10_000)) == 0
    run("RF.finding('0000000004').said = 'a'.repeat(200000)")
    run("RF.upstream(RF.finding('0000000004'))")
    assert time.process_time() - begun < 8


def test_what_is_known_is_counted_apart_and_filtered(report: Report) -> None:
    rows = [finding(number, "FuseOps", State.CONFIRMED, "crash", f"boom {number}") for number in (1, 4, 5)]
    suspect = finding(6, "FuseOps", State.FLAKY, "crash", "boom 6")
    known = {each.id: KnownAs("a-case", "It fails.", "https://example.org/1") for each in rows[:2]}
    known[rows[1].id] = KnownAs("a-case", "It fails.", "https://github.com/apache/tvm/issues/1")
    before = replace(report, directory=Path("before"), findings=rows)
    shown = replace(full(report), findings=ordered([*rows, suspect], known), recognized=known)
    run = started(before, shown)
    go(run, "overview")
    (head,) = texts(run, "#verdict h1")
    assert re.match("3 findings in . famil.* to review, 1 of them unknown, ", head)
    assert "3 of 3 open findings (1 unknown, 2 known)" in run("document.body.textContent")
    assert run("RF.views.overview().textContent.split('Most severe')[1].match(/boom [0-9]/)[0]") == "boom 5"
    go(run, "findings?known=no")
    assert run("RF.chosen().map((each) => each.id)") == [rows[2].id, suspect.id]
    go(run, "findings?known=yes")
    assert run("RF.chosen().map((each) => each.id)") == [each.id for each in rows[:2]]
    told = run("document.body.textContent")
    assert all(count in told for count in ("unknown: 1", "known: 2", "not reported upstream: 2"))
    go(run, "findings?known=unreported")
    assert run("RF.chosen().map((each) => each.id)") == [rows[2].id, rows[0].id, suspect.id]
    go(run, "overview")
    run("RF.data.history = null")
    assert run("RF.data.findings.map((each) => Boolean(RF.mark(each)))") == [True, False, False, False], (
        "alone, it marks these"
    )
    all_known = started(before, replace(full(report), findings=rows[:2], recognized=known))
    go(all_known, "overview")
    assert re.search("^2 findings in .* to review, none of them unknown, ", texts(all_known, "#verdict h1")[0])


def test_commands_name_the_script_from_where_the_campaign_lies(report: Report) -> None:
    run = started(replace(report, directory=Path("before")), replace(full(report), directory=Path("nights/my one")))
    go(run, "finding/0000000001")
    assert run("RF.scriptCommand(RF.finding('0000000001'))") == "python 'nights/my one/repros/0000000001.py'"
    run("RF.data.campaign.programs = ['bin/python', 'bin/relaxfuzz']")
    assert run("RF.scriptCommand(RF.finding('0000000001'))").startswith("bin/python 'nights/my one/")
    assert run("RF.minimizing('0000000001')") == "bin/relaxfuzz minimize 'nights/my one' 0000000001"
    told = " or, for all untriaged findings, bin/relaxfuzz minimize 'nights/my one' --all"
    assert told in run("RF.findingHead({ ...RF.finding('0000000001'), bindings: null }).textContent")
