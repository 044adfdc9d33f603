"""Reports for upstream: the pages are those of the judgements, and their scripts fail while the defects are there."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(each for each in (ROOT / "docs" / "upstream").glob("*.md") if each.name != "index.md")


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("upstream", ROOT / "docs" / "generator" / "upstream.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["upstream"] = module
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_those_of_the_judgements() -> None:
    upstream = generator()
    judgements = upstream.load()
    chosen = upstream.written(upstream.chosen(judgements, upstream.of_pages(judgements)))
    assert {upstream.file_name(each) for each in chosen} == {each.name for each in PAGES}
    titles: Sequence[str] = [
        upstream.title_of(ROOT / "docs" / "upstream" / upstream.file_name(each)) for each in chosen
    ]
    assert (ROOT / "docs" / "upstream" / "index.md").read_text() == upstream.index(judgements, chosen, titles)
    assert 50 <= len(chosen) <= upstream.MOST
    assert [each.judged_severity for each in chosen] == sorted(each.judged_severity for each in chosen)


def test_what_is_no_defect_or_blames_another_has_no_page() -> None:
    upstream = generator()
    one = upstream.load()[0]
    fields = {name: getattr(one, name) for name in one.__struct_fields__}
    defect = upstream.Judgement(**{**fields, "verdict": "defect", "at_fault": "", "cause": "a"})
    same, ours, other = (
        upstream.Judgement(**{**fields, "verdict": verdict, "at_fault": fault, "cause": cause})
        for verdict, fault, cause in (("defect", "", "a"), ("ours", "", "b"), ("defect", "another pass", "c"))
    )
    assert upstream.chosen([defect, same, ours, other], {}) == [defect]


def test_a_page_is_judged_by_its_program_and_goes_where_another_has_its_cause() -> None:
    """Pages of one cause stood side by side: the first judgements of their identifiers were of other programs."""
    upstream = generator()
    shown = upstream.of_pages(upstream.load())
    assert 50 <= len(shown) == len({each.cause for each in shown.values()})
    assert shown["fe3197c1f8"].cause == "lambda-lift-takes-purity-of-make-closure"
    again, *_ = shown.values()
    fields = {name: getattr(again, name) for name in again.__struct_fields__}
    other, twin = (upstream.Judgement(**{**fields, "id": name}) for name in (again.id, "another"))
    unseen = upstream.Judgement(**{**fields, "id": "another", "cause": "that of another program"})
    assert upstream.chosen([unseen], {again.id: other, "another": twin}) == [other]


def test_what_was_said_of_a_page_is_that_it_is_a_defect_and_first_whose_blame_is_right() -> None:
    upstream = generator()
    own = upstream.of_pages(upstream.load())["71811b9acb"]
    fields = {name: getattr(own, name) for name in own.__struct_fields__}
    ours, other = (upstream.Judgement(**{**fields, **one}) for one in ({"verdict": "ours"}, {"at_fault": "another"}))
    assert upstream.of_pages((ours, other, own)) == {own.id: own}
    assert upstream.of_pages((ours, other)) == {own.id: other}


def test_a_page_without_a_cause_gets_that_of_its_program() -> None:
    upstream = generator()
    own = upstream.of_pages(upstream.load())["71811b9acb"]
    page = (ROOT / "docs" / "upstream" / "71811b9acb.md").read_text()
    head, _, rest = page.partition("### Cause\n")
    bare = head.replace("\nAlready", "\nPerhaps already") + "### Environment\n" + rest.partition("### Environment\n")[2]
    assert upstream.with_cause(bare, own) == page
    assert upstream.with_cause(page, own) == page, "what is there stays"
    fields = {name: getattr(own, name) for name in own.__struct_fields__}
    foreign = upstream.Judgement(**{**fields, "reason": "It drops lv77."})
    assert upstream.with_cause(bare, foreign) == bare, "a name of another program"


def test_causes_stand_in_pages_as_issues_write_what_was_said_of_them() -> None:
    """Two pages that were edited had escapes in escapes, and what a reader said of the report."""
    upstream = generator()
    judgements = upstream.load()
    known, shown = upstream.references(judgements), upstream.of_pages(judgements)
    for page in PAGES:
        own, text = shown[page.stem], page.read_text()
        version = re.findall(r"^\* TVM: (\S+)$", text, re.MULTILINE)[0]
        causes = [each.told for each in judgements if each.cause == own.cause]
        listed = ("", known.get(own.cause, ""))
        written = (upstream.cause_section(each, version, of) for each in causes for of in listed)
        assert any(f"\n{each}\n### Environment\n" in text for each in written), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_a_page_has_all_that_an_issue_needs(page: Path) -> None:
    text = page.read_text()
    for heading in ("Expected behavior", "Actual behavior", "Environment", "Steps to reproduce", "Notes"):
        assert f"\n### {heading}\n" in text
    assert "As found for" not in text, "a cause of another program is none"
    script = generator().script_of(text)
    severity = re.search(r"^Severity: (S[1-5], [^.;]+)", text.partition("###")[0], re.MULTILINE)
    assert severity is not None
    head = " ".join(line[2:] for line in script.partition("import ")[0].splitlines() if line.startswith("# "))
    assert f" Severity: {severity[1]}" in head
    ast.parse(script)
    assert len(script.splitlines()) <= generator().LONGEST


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_a_script_fails_while_the_defect_is_there(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "repro.py"
    file.write_text(generator().script_of(page.read_text()))
    done = subprocess.run([sys.executable, file.name], cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert done.returncode != 0
