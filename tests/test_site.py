"""The site builds without a warning, fetches nothing, leads nowhere in vain, and its reference is complete."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import relaxfuzz
from fuzzer.cli.options import parser_of
from relaxkit.passes.contract import OracleName

ROOT = Path(__file__).resolve().parent.parent


class _Page(HTMLParser):
    """What a page loads, where it leads, and which places it has."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev", "index", "search"):
            self.loads.append(given.get("href", ""))
        elif "src" in given:
            self.loads.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as CI builds it."""
    place = tmp_path_factory.mktemp("site")
    program = Path(sys.executable).parent / "properdocs"
    done = subprocess.run(
        [str(program), "build", "--strict", "--quiet", "--site-dir", str(place)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout + done.stderr == ""
    return place


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    """Its pages, read."""
    read = {}
    for path in site.rglob("*.html"):
        read[path] = _Page()
        read[path].feed(path.read_text(encoding="utf-8"))
    return read


def test_every_page_of_docs_is_in_it(site: Path) -> None:
    missing = [page for page in (ROOT / "docs").glob("*.md") if not (site / f"{page.stem}.html").is_file()]
    assert not missing
    assert not list(site.rglob("*.py[co]")) + list(site.glob("generator/*.py"))


def test_it_fetches_nothing(site: Path, pages: dict[Path, _Page]) -> None:
    loaded = {source for page in pages.values() for source in page.loads}
    assert loaded, "a page without any style was not read right"
    assert not [source for source in loaded if urlsplit(source).netloc]
    for path in site.rglob("*.css"):
        assert not re.findall(r"@import|url\(\s*['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path


def test_every_link_and_what_is_loaded_is_there(site: Path, pages: dict[Path, _Page]) -> None:
    astray = [f"{path.relative_to(site)}: {link}" for path, link in _astray(site, pages)]
    assert not astray


def _astray(site: Path, pages: dict[Path, _Page]) -> Iterator[tuple[Path, str]]:
    for path, page in pages.items():
        if path.name == "404.html":  # is shown at any address, so it speaks of the server's root
            continue
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            lost = target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].places
            if not target.is_relative_to(site) or not target.is_file() or lost:
                yield path, link


def test_the_list_of_bugs_leads_to_the_cases(pages: dict[Path, _Page], site: Path) -> None:
    cases = [link for link in pages[site / "bugs.html"].links if link.endswith("case.toml.txt")]
    assert len(cases) > 100
    copied = site / cases[0]
    assert copied.read_bytes() == (ROOT / copied.relative_to(site / "source").with_suffix("")).read_bytes()


def test_every_verb_and_option_is_in_the_reference(site: Path) -> None:
    text = _text(site / "reference" / "command-line.html")
    for entry in entry_points(group="relaxfuzz.verbs"):
        verb = entry.load()
        assert verb.example in text
        missing = [option for option in _options(parser_of(verb)) if option not in text]
        assert not missing, entry.name


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _options(below)


def test_every_public_name_is_in_the_reference_with_its_docstring(site: Path) -> None:
    text = _text(site / "reference" / "relaxfuzz.html")
    for name in relaxfuzz.__all__:
        assert name in text
        public = getattr(relaxfuzz, name)
        if callable(public):
            first = re.sub(r"`+|:\w+:", "", public.__doc__.strip().splitlines()[0]).split()[:5]
            assert " ".join(first) in text, name
    assert "``" not in text
    assert ":func:" not in text


def test_every_oracle_argues_in_the_reference(pages: dict[Path, _Page], site: Path) -> None:
    assert {name.value for name in OracleName} <= pages[site / "reference" / "oracles-in-detail.html"].places


def _text(path: Path) -> str:
    """What a reader sees of a page, in one line."""
    body = path.read_text(encoding="utf-8").partition('role="main"')[2]
    bare = re.sub(r"<[^>]*>", "", body)
    for sign, meant in (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")):
        bare = bare.replace(sign, meant)
    return " ".join(bare.split())
