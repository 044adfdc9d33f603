"""The page as files: what is foreign stays data, nothing comes from outside, every colour can be read."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from page_samples import full, sample_page
from py_mini_racer import MiniRacer

from reports.html import SCRIPTS, render_html, write_page
from reports.tables import Report

ASSETS = resources.files("reports.page").joinpath("assets")
VOID = {"meta", "br", "link"}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data

    def policy(self) -> str:
        (policy,) = [v for tag, name, v in self.attributes if (tag, name) == ("meta", "content") and "-src" in v]
        return policy


def data_of(script: str) -> Any:
    return json.loads(script.strip().removeprefix('"use strict";const RELAXFUZZ=').removesuffix(";"))


def test_what_is_foreign_is_data_and_nothing_else(report: Report) -> None:
    text = render_html(sample_page(full(report)))
    page = Page(text)
    assert len(page.texts["script"]) == 4, "a name of the campaign has opened a script"
    assert not {name for _, name, _ in page.attributes if name.startswith("on")}
    found = data_of(page.texts["script"][2])
    assert any('<script>alert("1")</script>' in finding["message"] for finding in found["findings"])
    assert any("</script><script>alert(1)" in line for line in found["lines"])
    assert "<script>alert" not in text


def test_a_hostile_directory_stays_text(report: Report, tmp_path: Path) -> None:
    page = sample_page(full(report))
    page["campaign"] |= {"name": '"><script>alert(2)</script>', "tvm": "<b>0.27</b>"}
    index = write_page(page, tmp_path).read_text()
    assert "<script>alert" not in index
    assert "<b>" not in index
    assert '"><script>alert(2)</script>: 2 findings: 1 confirmed, 1 known; 1 suspect' in Page(index).texts["title"][0]


def test_only_these_scripts_may_run(report: Report) -> None:
    page = Page(render_html(sample_page(full(report))))
    policy = page.policy()
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1]
    for script in page.texts["script"]:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy


def test_nothing_comes_from_outside(report: Report, tmp_path: Path) -> None:
    for text in (render_html(sample_page(full(report))), write_page(sample_page(report), tmp_path).read_text()):
        links = [value for _, name, value in Page(text).attributes if name in ("src", "href")]
        assert not [link for link in links if "/" in link and not link.startswith("#/")]
    styles = ASSETS.joinpath("page.css").read_text() + ASSETS.joinpath("vendor/uPlot.min.css").read_text()
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_directory_holds_what_its_index_names_and_the_licence(report: Report, tmp_path: Path) -> None:
    index = write_page(sample_page(full(report)), tmp_path / "new" / "page")
    assert index == tmp_path / "new" / "page" / "index.html"
    named = [
        v for _, name, v in Page(index.read_text()).attributes if name in ("src", "href") and not v.startswith("#")
    ]
    assert sorted(named) == ["data.js", "page.css", "page.js", "uPlot.js"]
    assert all((index.parent / name).is_file() for name in named)
    assert "Leon Sorokin" in (index.parent / "uPlot.LICENSE.txt").read_text()
    assert "Permission is hereby granted" in render_html(sample_page(report))
    write_page(sample_page(report), index.parent)  # a second time over the first


def test_the_pages_own_scripts_never_parse_markup() -> None:
    scripts = [ASSETS.joinpath("js", f"{name}.js").read_text() for name in SCRIPTS]
    assert len(list(ASSETS.joinpath("js").iterdir())) == len(SCRIPTS)
    for script in scripts:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script)
        assert "</script" not in script


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_can_be_read(theme: str) -> None:
    """WCAG 2 asks for a contrast of 4.5 between text and what is behind it."""
    css = ASSETS.joinpath("page.css").read_text()
    block = re.search(
        r":root \{(.*?)\}" if theme == "light" else r':root\[data-theme="dark"\] \{(.*?)\}', css, re.DOTALL
    )
    assert block is not None
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block.group(1)))
    pairs = [(ink, back) for ink in ("ink", "dim", "mark", "bad", "warn", "good") for back in ("page", "box", "sunk")]
    pairs += [(name, f"{name}-soft") for name in ("mark", "good", "bad", "warn")]
    pairs += [("ink", f"{name}-soft") for name in ("good", "bad", "none")] + [("dim", "none-soft"), ("bad", "bad-soft")]
    pairs += [(name, "sunk") for name in colors if name.startswith("t-")]
    poor = {pair: round(contrast(colors[pair[0]], colors[pair[1]]), 2) for pair in pairs}
    assert {pair: value for pair, value in poor.items() if value < 4.5} == {}


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_an_empty_campaign_is_a_page(report: Report) -> None:
    from dataclasses import replace

    page = Page(render_html(sample_page(replace(report, tallies=[], findings=[]))))
    assert data_of(page.texts["script"][2])["title"] == "0 findings"


def test_a_name_of_javascripts_own_is_a_name_like_any_other() -> None:
    page = {"campaign": {"name": "##[error]x", "seed": 1, "tvm": "##vso[a]"}, "title": "##[error]y"}
    odd = {**page, "how": {"__proto__": 5, 'a"__proto__': 6, ',"__proto__': 7}, "said": '{"__proto__":8}'}
    html = render_html(odd)
    assert not re.search(r"##\w*\[", html)
    data = html.partition("const RELAXFUZZ=")[2].partition(";</script>")[0]
    back = json.loads(str(MiniRacer().eval(f"JSON.stringify(({data}))")))
    assert back == odd
