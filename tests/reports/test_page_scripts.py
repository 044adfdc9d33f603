"""The page's own scripts in a JavaScript engine that pip brings: views, search, filters, and that no text is markup.

The document is a small one (``page_dom.js``), so this runs where no browser is; ``test_page_clicks.py`` has a real one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import HOSTILE, finding
from page_samples import SOURCE, full, sample_page
from py_mini_racer import JSEvalException, MiniRacer

from fuzzer.store import FindingState
from reports.html import SCRIPTS
from reports.tables import Report

ASSETS = Path(__file__).parents[2] / "reports" / "page" / "assets" / "js"
VIEWS = ("overview", "findings", "passes", "coverage", "growth", "unjudged", "history", "finding/0000000001")
Run = Callable[[str], Any]


@pytest.fixture
def run(report: Report) -> Run:
    """The page of a campaign with one before it, with a hostile name."""
    named = finding(4, "<script>alert(3)</script>", FindingState.CONFIRMED, "numeric", HOSTILE)
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
    aside = replace(finding(4, "FuseOps", FindingState.NEW, "numeric", "met on the way"), count=0)
    run = started(replace(report, directory=Path("before"), findings=[]), replace(full(report), findings=[aside]))
    assert run("[...RF.fresh]") == [aside.id]
    go(run, "history")
    cells = run("document.querySelectorAll('td').map((each) => each.textContent)")
    assert cells[-4:] == ["campaign", "campaign", "·", "0"]


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
    assert run("document.querySelector('main h1').textContent") == "numeric: <script>alert(3)</script>"
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
    assert run("document.getElementById('count').textContent") == "4 of 4 findings"
    typed(run, "Search id, pass, message, module", "ACCEPTED")
    assert names(run) == ["Normalize"]
    typed(run, "Search id, pass, message, module", "R.exp fuseops")  # in the module, and in the name
    assert names(run) == ["FuseOps"]
    typed(run, "Search id, pass, message, module", "nothing of that name")
    assert "No finding fits" in run("document.getElementById('list').textContent")
    press(run, "Clear")
    typed(run, "pass", "FuseOps", "change")
    assert names(run) == ["FuseOps", "FuseOps"]
    press(run, "≈ flaky 1")
    assert run("document.getElementById('count').textContent") == "1 of 4 findings"
    press(run, "≈ flaky 1")
    press(run, "Clear")
    press(run, "never seen before 2")
    assert run("document.querySelectorAll('#list a').map((each) => each.getAttribute('href'))") == [
        "#/finding/0000000001",
        "#/finding/0000000004",
    ]
    press(run, "Clear")
    typed(run, "order", "count", "change")
    times = run("document.querySelectorAll('#list .times').map((each) => each.textContent)")
    assert times == ["9 ×", "2 ×", "1 ×", "1 ×"]


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
        ("RF.percent(0.99999)", "99.99 %"),
        ("RF.percent(1)", "100.00 %"),
        ("RF.percent(null)", "–"),
        ("RF.duration(3725)", "1 h 02 min"),
        ("RF.counted(1, 'finding')", "1 finding"),
        ("RF.clock(90)", "1.5 min"),
    ],
)
def test_numbers_as_text(run: Run, expression: str, text: str) -> None:
    assert run(expression) == text
