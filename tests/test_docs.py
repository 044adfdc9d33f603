"""The documents speak of files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oracles.core.verdict import NOT_ASKED, UNCHANGED, UNUSABLE
from relaxkit.passes.contract import ALREADY_LOWERED

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *ROOT.glob("benchmarks/*.md")])
ROOMS = (
    "relaxkit",
    "relaxfuzz",
    "strategies",
    "oracles",
    "fuzzer",
    "reports",
    "corpus",
    "tests",
    "benchmarks",
    "docs",
)


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)
def test_named_paths_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w./*-]*)`", text)
    missing = [path for path in named if not any(ROOT.glob(path)) and not any(document.parent.glob(path))]
    assert not missing


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    """Files; that anchors lead somewhere is seen when the site is built (``test_site.py``)."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", prose)
    missing = [
        target for target in targets if not target.startswith("http") and not (document.parent / target).exists()
    ]
    assert not missing


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)
def test_an_item_of_a_list_begins_a_line(document: Path) -> None:
    assert "; * " not in document.read_text(encoding="utf-8")


def test_reasons_are_explained_by_the_words_that_reports_use() -> None:
    text = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    explained = text.partition("## Why oracles skip modules\n")[2].partition("\n## ")[0]
    for reason in (UNCHANGED, NOT_ASKED, ALREADY_LOWERED, *sorted(UNUSABLE & {"no output", "output is ill-formed"})):
        assert f"`{reason}`" in explained
