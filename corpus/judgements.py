"""What independent readers said of findings, ``corpus/judgements.toml``: cause, place in TVM's source, possible fix."""

from __future__ import annotations

import functools
import html
from pathlib import Path
from typing import Literal

import msgspec

from fuzzer.store.known import Cause, without_numbers

DATA = Path(__file__).resolve().parent / "judgements.toml"
PAGES = DATA.parents[1] / "docs" / "upstream"


class Judgement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an independent reader said of a finding.

    Attributes:
        campaign: Seed of its campaign; 0 for a page of docs/upstream.
        id: Identifier of its signature.
        title: The report's title.
        better: A title that names the cause, where a reader found that the report's does not.
        verdict: Whether it is a defect of TVM.
        blamed: What the report blames.
        at_fault: What is at fault instead, empty where the report is right.
        severity: What the report says.
        judged_severity: What the reader says.
        cause: Name of the cause, the same for findings of one cause.
        cases: Cases of the corpus that have this cause.
        reason: Why, in a sentence or two.
        aside: How grave it is, and what others may say of it, which issues do not tell.
        of_report: What is wrong with the report of the finding, which issues do not tell.
        place: File and function of TVM that are at fault.
        mend: What a mend would be.
        upstream: Address of an issue or a change of TVM that speaks of it, where one was found; behind it
            ``(closed, ...)`` where the defect is there all the same.
        family: Of the finding (``fuzzer.findings.family``): another finding of it is perhaps of this cause.
        operators: Of its minimized module, where its symptom says nothing of the cause.
    """

    campaign: int
    id: str
    title: str
    better: str = ""
    verdict: Literal["defect", "debatable", "ours"]
    blamed: str
    at_fault: str = ""
    severity: Literal["S1", "S2", "S3", "S4", "S5"]
    judged_severity: Literal["S1", "S2", "S3", "S4", "S5"]
    cause: str
    cases: tuple[str, ...] = ()
    reason: str
    aside: str = ""
    of_report: str = ""
    place: str = ""
    mend: str = ""
    upstream: str = ""
    family: str = ""
    operators: tuple[str, ...] | None = None

    @property
    def told(self) -> Cause:
        """The cause, as issues tell it."""
        return Cause(self.cause, self.reason, self.place, self.mend, self.upstream, self.title)


class Judgements(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``corpus/judgements.toml``: what was judged, in the order in which it was."""

    judgements: tuple[Judgement, ...] = msgspec.field(name="judgement")


def load(path: Path = DATA) -> tuple[Judgement, ...]:
    """Read the judgements; raises ``msgspec.ValidationError`` for what is none."""
    return msgspec.toml.decode(path.read_bytes(), type=Judgements).judgements


def title_of(page: Path) -> str:
    """Return the title of a page, as it is written, without the marks that TVM's issues begin with."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").removeprefix("[Bug][Relax] ")


def of_pages(judged: tuple[Judgement, ...]) -> dict[str, Judgement]:
    """Return by id the judgements of the programs that pages show: other programs of an id may have other causes."""
    pages = {page.stem: html.unescape(title_of(page)).replace("\\", "") for page in PAGES.glob("*.md")}
    titles, found = {name: without_numbers(title) for name, title in pages.items()}, dict[str, Judgement]()
    for each in sorted(judged, key=lambda each: bool(each.at_fault)):
        if each.verdict == "defect" and without_numbers(each.title) == titles.get(each.id):
            found.setdefault(each.id, each)
    return found


@functools.cache
def without_case() -> list[Judgement]:
    """Return the defects that no case shows, one a cause."""
    shown = {each.cause for each in load() if each.cases}
    found = {each.cause: each for each in reversed(load()) if each.verdict == "defect" and each.cause not in shown}
    return [*found.values()]


@functools.cache
def causes() -> dict[str, Cause]:
    """Return the causes of defects by the names of the cases that show them."""
    return {case: each.told for each in load() if each.verdict == "defect" for case in each.cases}
