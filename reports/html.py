"""The page as files: a directory to be opened from disk, or one file that holds all of it.

All that a campaign says reaches the page as data: a script that assigns one JSON object, in which ``<`` does not occur.
The page's own scripts put it into text nodes only.  A policy in the page lets nothing be fetched from anywhere, and in
the one file no script run but those written here.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from fuzzer.core.text import printable, to_json, visible_all
from relaxkit.files import make_directory, write_atomically

SCRIPTS = (
    "dom", "code", "charts", "overview", "findings", "passes", "coverage", "growth", "unjudged", "history", "app",
)  # fmt: skip
"""The page's own scripts, in the order in which they are loaded."""
INDEX = "index.html"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'{styles}; script-src {scripts}; img-src data:; base-uri 'none'"
_BODY = """<a class="skip" href="#main">Skip to the content</a>
<header><div class="bar"><a class="brand" href="#/overview">relaxfuzz</a><nav aria-label="Views"></nav>
<button class="button" id="theme" type="button">Dark</button></div></header>
<main id="main" tabindex="-1"><noscript>This page needs JavaScript; <code>relaxfuzz report DIR --markdown FILE</code>
writes the same report without it.</noscript></main>
<footer>{campaign}</footer>"""


def render_html(page: Mapping[str, Any]) -> str:
    """Render the page as one file; ``page`` is ``reports.page.data.page_object``'s."""
    styles, library, own = _styles(), _asset("vendor/uPlot.iife.min.js"), _own()
    scripts = [library, own, _data(page), _START]
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    notice = f"<!-- uPlot, https://github.com/leeoniya/uPlot\n{_asset('vendor/uPlot.LICENSE.txt')}-->\n"
    tail = notice + "\n".join(f"<script>{script}</script>" for script in scripts)
    policy = _POLICY.format(styles="", scripts=allowed)
    return _document(page, policy, f"<style>{styles}</style>", tail)


def write_page(page: Mapping[str, Any], directory: Path) -> Path:
    """Write the page into a directory, which is made if it is missing; gives the file to open.

    Raises:
        OSError: when it cannot be written.
    """
    make_directory(directory)
    names = ("uPlot.js", "page.js", "data.js")
    texts = {
        "page.css": _styles(),
        "uPlot.js": _asset("vendor/uPlot.iife.min.js"),
        "uPlot.LICENSE.txt": _asset("vendor/uPlot.LICENSE.txt"),
        "page.js": _own(),
        "data.js": f"{_data(page)}\n",
    }
    # 'self' is nothing that a browser must grant to files on disk: they are named by their scheme.
    policy = _POLICY.format(styles=" 'self' file:", scripts=f"'self' file: 'sha256-{_digest(_START)}'")
    tail = "\n".join([*(f'<script src="{name}"></script>' for name in names), f"<script>{_START}</script>"])
    texts[INDEX] = _document(page, policy, '<link rel="stylesheet" href="page.css">', tail)
    for name, text in texts.items():  # the index comes last: it never names what is not there
        write_atomically(directory / name, text)
    return directory / INDEX


_START = "RF.start(RELAXFUZZ);"


def _document(page: Mapping[str, Any], policy: str, style: str, tail: str) -> str:
    campaign = page["campaign"]
    title = " ".join(printable(f"{campaign['name']}: {page['title']}").split())
    footer = f"relaxfuzz: {campaign['name']}, seed {campaign['seed']}, TVM {campaign['tvm']}"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
{style}</head><body>
{_BODY.format(campaign=escape(" ".join(printable(footer).split())))}
{tail}
</body></html>
"""


def _data(page: Mapping[str, Any]) -> str:
    # No `<` can end the script, no `##` begin a command, and no character beyond ASCII a line; NaN is no JSON.
    text = to_json(visible_all(page), separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c")
    text = re.sub(r'(?<=[{,])"__proto__"(?=:)', '["__proto__"]', text)  # a name like any other
    return f'"use strict";const RELAXFUZZ={text};'


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _styles() -> str:
    return _asset("vendor/uPlot.min.css") + "\n" + _asset("page.css")


def _own() -> str:
    return "\n".join(_asset(f"js/{name}.js") for name in SCRIPTS)


def _asset(name: str) -> str:
    return resources.files("reports.page").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")
