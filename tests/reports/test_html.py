import re
from dataclasses import replace
from html.parser import HTMLParser

from reports.html import render_html
from reports.tables import Report

VOID = {"meta", "br"}


class Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.data: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def parse(text: str) -> Balance:
    parser = Balance()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_hostile_names_are_text(report: Report) -> None:
    page = parse(render_html(report, lambda _: "</pre><script>module</script>"))
    assert "script" not in page.tags
    assert any("</pre><script>module</script>" in data for data in page.data)
    assert any('<script>alert("1")</script>' in data for data in page.data)


def test_nothing_comes_from_outside(report: Report) -> None:
    text = render_html(report, lambda _: "")
    page = parse(text)
    assert not any(name == "src" for name, _ in page.attributes)
    assert all(value.startswith("#f-") for name, value in page.attributes if name == "href")
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text


def test_every_link_has_its_target(report: Report) -> None:
    text = render_html(report, lambda _: "")
    targets = re.findall(r'href="#([^"]+)"', text)
    assert len(targets) == 3
    assert set(targets) == set(re.findall(r'details id="([^"]+)"', text))


def test_content(report: Report) -> None:
    page = parse(render_html(report, lambda finding: f"module {finding.id}"))
    data = [text.strip() for text in page.data]
    assert "3 findings: 1 confirmed, 1 flaky, 1 known" in data
    assert "94.05 %" in data
    assert "module 0000000002" in data
    assert "python repros/0000000001.py" in data


def test_an_empty_campaign(report: Report) -> None:
    page = parse(render_html(replace(report, tallies=[], findings=[]), lambda _: ""))
    assert "0 findings" in page.data
