"""What the site's builder calls: adds the reference, which is generated, and what pages link to outside of docs/."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from api_reference import api_pages
from cli_reference import cli_page
from properdocs.structure.files import File, Files
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]  # it ships no types

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BENCHMARKS = "benchmarks/RESULTS.md"
GENERATED = {
    BENCHMARKS: BENCHMARKS,
    "oracles/measure/tolerance.py": "reference/tolerance.md",
    "fuzzer/cli/verbs": "reference/command-line.md",
    "relaxfuzz": "reference/relaxfuzz.md",
}
"""What pages link to in the checkout, where there is no site, and the page that says the same in it."""
HOW_TO = "How to"
_LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Put pages that the table of contents does not name behind the how-tos, so that none is lost."""
    named = set(_targets(config.nav))
    rest = sorted(path.name for path in DOCS.glob("*.md") if path.name not in named)
    for section in config.nav:
        if HOW_TO in section:
            section[HOW_TO].extend(rest)
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the generated pages, and the files outside of docs/ that pages link to."""
    pages = {"reference/command-line.md": cli_page(), **api_pages(ROOT)}
    pages["benchmarks/RESULTS.md"] = (ROOT / BENCHMARKS).read_text(encoding="utf-8")
    # The style of coloured code is the colouring library's own.
    pages["css/code.css"] = HtmlFormatter(style="default").get_style_defs(".highlight")
    for place, content in pages.items():
        files.append(File.generated(config, place, content=content))
    outside = {target for page in DOCS.glob("*.md") for target in _outside(page.read_text(encoding="utf-8"))}
    for path in sorted(outside - set(GENERATED)):
        if not (ROOT / path).is_file():
            raise SystemExit(f"docs/ links to {path}, which is no file")
        # As text, which every browser shows.
        files.append(File.generated(config, f"source/{path}.txt", content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Lead links out of docs/ to the copies."""
    here = posixpath.dirname(page.file.src_uri)
    return without_fences(markdown, lambda text: _LINK.sub(lambda link: link[1] + _copy(link[2], here) + link[3], text))


def without_fences(markdown: str, change: Any) -> str:
    """The page with everything but its code blocks changed."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def _copy(target: str, here: str) -> str:
    path = posixpath.normpath(posixpath.join("docs", here, target))
    if path.startswith("docs/"):
        return target
    return posixpath.relpath(GENERATED.get(path, f"source/{path}.txt"), here or ".")


def _outside(markdown: str) -> set[str]:
    """Files outside of docs/ that a page of docs/ links to, from the root."""
    found: set[str] = set()

    def collect(text: str) -> str:
        paths = (posixpath.normpath(posixpath.join("docs", link[2])) for link in _LINK.finditer(text))
        found.update(path for path in paths if not path.startswith("docs/"))
        return text

    without_fences(markdown, collect)
    return found


def _targets(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        nav = nav.values()
    return [target for part in nav for target in _targets(part)]
