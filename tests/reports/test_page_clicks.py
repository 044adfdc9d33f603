"""The page in a browser: every view, search, filters, a finding, copying, dark colours, a phone's width.

Needs a Chromium that is installed; without one, or where it does not start, the tests are skipped, and
test_page_scripts.py alone runs the page's scripts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from page_samples import SOURCE, full, sample_page

from fuzzer.store.writer import Tally
from reports.html import render_html, write_page
from reports.tables import Report

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")
BROWSER = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium: install it, or name it in CHROMIUM")
VIEWS = ("overview", "findings", "passes", "coverage", "growth", "unjudged", "history", "finding/0000000001")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
        try:
            opened = play.chromium.launch(executable_path=BROWSER, args=sandbox)
        except playwright.Error as error:  # a machine's libraries or limits, and nothing of the page's
            pytest.skip(f"{BROWSER} does not start: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


@pytest.fixture
def site(report: Report, tmp_path: Path) -> str:
    """A campaign with one before it, in which one of its findings was not seen; scripts are there."""
    campaign = tmp_path / "campaign"
    (campaign / "repros").mkdir(parents=True)
    (campaign / "repros" / "0000000001.py").write_text("import tvm\nprint('<script>')\n")
    named = Tally("crash", "<script>alert(3)</script>", "pass", "", 5)
    now = replace(full(report), directory=campaign, tallies=[*report.tallies, named])
    old = replace(
        report,
        directory=tmp_path / "<b>before</b>",
        info=replace(report.info, started_at="2025-12-31T00:00:00+00:00"),
        findings=report.findings[1:],
    )
    page = sample_page(old, now)
    (tmp_path / "one.html").write_text(render_html(page))
    return write_page(page, tmp_path / "page").as_uri()


class Visit:
    """A page that must load nothing but files, and raise nothing."""

    def __init__(self, browser: Any, address: str, width: int = 1280, dark: bool = False) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        self.page = self.context.new_page()
        self.troubles: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", lambda said: self.troubles.append(said.text) if said.type == "error" else None)
        self.page.on("dialog", lambda dialog: self.troubles.append(f"a dialog: {dialog.message}"))
        self.page.on(
            "request", lambda asked: self.troubles.append(asked.url) if not asked.url.startswith("file:") else None
        )
        self.page.goto(address)
        self.page.wait_for_selector("main > *")

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.troubles == []


def names(page: Any) -> list[str]:
    return [text.split()[0] for text in page.locator("#list .name").all_inner_texts()]


def test_search_and_filters(browser: Any, site: str) -> None:
    with Visit(browser, site) as page:
        page.get_by_role("link", name="Findings").first.click()
        assert page.locator("#count").inner_text() == "2 of 2 findings, 1 of 1 suspect"
        part = page.get_by_role("heading", name="Suspects").bounding_box()["y"]
        rows = page.locator("#list li a")
        assert [rows.nth(at).bounding_box()["y"] > part for at in range(3)] == [False, False, True]
        page.get_by_label("Search id, pass").fill("ACCEPTED")
        assert names(page) == ["Normalize"]
        page.get_by_label("Search id, pass").fill("R.exp fuseops")  # in the module, and in the name
        assert names(page) == ["FuseOps"]
        page.get_by_role("button", name="Clear").click()
        page.get_by_label("pass", exact=True).select_option("FuseOps")
        assert names(page) == ["FuseOps", "FuseOps"]
        page.get_by_role("button", name="flaky 1").click()
        assert page.locator("#count").inner_text() == "0 of 2 findings, 1 of 1 suspect"
        page.get_by_role("button", name="flaky 1").click()
        page.get_by_role("button", name="new 1").click()
        assert page.locator("#list a").get_attribute("href") == "#/finding/0000000001"
        page.get_by_role("button", name="Clear").click()
        page.get_by_label("order").select_option("count")
        assert page.locator("#list .times").all_inner_texts() == ["9 ×", "2 ×", "1 ×"]
        page.get_by_label("Search id, pass").fill("nothing of that name")
        assert "No finding matches" in page.locator("#list").inner_text()


def test_a_finding_with_its_module_and_what_is_copied(browser: Any, site: str) -> None:
    with Visit(browser, site) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.locator("main a[href='#/finding/0000000001']").first.click()
        assert page.locator("h1 + p, main p.dim").first.inner_text() == "crash: FuseOps"
        module = page.locator(".code pre").first
        assert module.inner_text() == SOURCE, "a module with <script> in it is shown as it is"
        assert module.locator(".t-key").first.inner_text() == "class"
        assert page.locator("main script").count() == 0
        page.locator(".code").first.get_by_role("button").click()
        assert page.evaluate("navigator.clipboard.readText()") == SOURCE
        page.get_by_text("Script: repros/0000000001.py").click()
        page.get_by_role("button", name="Copy script").click()
        page.locator("#script").get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == "import tvm\nprint('<script>')\n"
        assert page.locator(".uplot canvas").count() == 1, "how its count grew"
        for at in (3, 2):  # the suspect comes last
            page.get_by_role("link", name="Next").click()
            page.get_by_text(f"000000000{at}", exact=True).wait_for()
        assert "cannot be printed" in page.locator("main").inner_text()


def test_copying_without_a_clipboard_interface(browser: Any, site: str) -> None:
    with Visit(browser, f"{site}#/finding/0000000001") as page:
        page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.get_by_role("button", name="Copy command").click()
        page.get_by_role("button", name="Copied").wait_for()


def test_what_is_behind_a_cell(browser: Any, site: str) -> None:
    with Visit(browser, f"{site}#/passes") as page:
        page.get_by_label("FuseOps, crash: 90.0% of 100 checks passed, 10 failed").click()
        dialog = page.locator("dialog")
        assert "95% Wilson score interval 82.56% to 94.47%" in dialog.inner_text()
        dialog.get_by_role("link").first.click()
        dialog.wait_for(state="detached")  # once the page has heard of its new address
        assert "#/finding/" in page.url
        page.go_back()
        page.get_by_label("LegalizeOps, numeric: nothing was judged").click()
        assert '<script>alert("1")</script>' in page.locator("dialog").inner_text()
        page.keyboard.press("Escape")
        assert "<script>alert(3)</script>" in page.locator(".matrix tbody th").all_inner_texts()
        page.get_by_label("Search passes").fill("legal")
        assert page.locator(".matrix tbody th").all_inner_texts() == ["LegalizeOps"]


def test_operators_pairs_and_reasons_can_be_searched(browser: Any, site: str) -> None:
    with Visit(browser, f"{site}#/coverage") as page:
        page.get_by_label("Search operators").fill("add")
        assert "add 120" in page.locator(".chips li").all_inner_texts()
        page.get_by_label("Enter an operator").fill("add")
        assert "Operators that use the result of add" in page.locator("main").inner_text()
        page.get_by_role("link", name="Not judged").click()
        page.get_by_label("oracle").select_option("numeric")
        assert page.locator("tbody tr").count() == 3
        page.get_by_label("verdict").select_option("skip")
        assert page.locator("tbody tr").count() == 2


def test_dark_colours_are_the_systems_and_then_the_readers(browser: Any, site: str) -> None:
    theme = "document.documentElement.dataset.theme"
    with Visit(browser, site, dark=True) as page:
        assert page.evaluate(theme) == "dark"
    with Visit(browser, site) as page:
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Use dark colours").click()
        assert page.evaluate(theme) == "dark"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        page.reload()
        page.wait_for_selector("main > *")
        assert page.evaluate(theme) == "dark", "the choice is remembered"
        page.get_by_role("button", name="Use light colours").click()
        assert page.evaluate(theme) == "light"


@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_fits_its_window(browser: Any, site: str, width: int) -> None:
    with Visit(browser, site, width) as page:
        for view in VIEWS:
            page.evaluate(f"location.hash = '#/{view}'")
            page.wait_for_selector("main > *")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            assert page.locator("main h1").count() == 1, view


def test_the_one_file_does_the_same_under_its_policy(browser: Any, site: str) -> None:
    with Visit(browser, site.replace("page/index.html", "one.html")) as page:
        assert "2 findings in 2 families, 1 to review, all for the first time" in page.locator("h1").inner_text()
        page.evaluate("location.hash = '#/growth'")
        page.wait_for_selector(".uplot canvas")
        page.get_by_text("Where the time went", exact=True).wait_for()
        assert "drawing modules" in page.locator("main").inner_text()


def test_an_address_that_leads_nowhere_shows_something(browser: Any, site: str) -> None:
    with Visit(browser, f"{site}#/finding/%3Cscript%3E") as page:
        assert "There is no finding <script>" in page.locator("main").inner_text()
        page.evaluate("location.hash = '#/no-such-view'")
        page.get_by_text("to review").wait_for()
