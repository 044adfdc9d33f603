"""Write docs/upstream: the gravest defects of campaigns that independent readers confirmed, one issue a page.

python docs/generator/upstream.py [CAMPAIGN ...]

Pages of findings of other campaigns than those that are given stay as they are.

``corpus/judgements.toml`` holds what the readers said of the findings: they saw the report and TVM's sources, not the
contract, and had written neither. A page is what ``relaxfuzz repro --markdown`` prints, with the place in TVM's
source and the mend that the reader saw. The scripts are not run here: triage ran each before it listed it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from fuzzer.store.writer import Store

ROOT = Path(__file__).resolve().parents[2]
TARGET, DATA = ROOT / "docs" / "upstream", ROOT / "corpus" / "judgements.toml"
MOST = 60
"""Pages that are written, the gravest first."""
LONGEST = 150
"""Lines of a script that somebody reads; a defect that takes more has no page."""
_SEVERITIES = ("S1", "S2", "S3", "S4", "S5")


class Judgement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an independent reader said of a finding.

    Attributes:
        campaign: Seed of its campaign.
        id: Identifier of its signature.
        title: The report's title.
        verdict: Whether it is a defect of TVM.
        blamed: What the report blames.
        at_fault: What is at fault instead, empty where the report is right.
        severity: What the report says.
        judged_severity: What the reader says.
        cause: Name of the cause, the same for findings of one cause.
        reason: Why, in a sentence or two.
        place: File and function of TVM that are at fault.
        mend: What a mend would be.
        upstream: Address of an issue or a change of TVM that speaks of it, where one was found.
    """

    campaign: int
    id: str
    title: str
    verdict: Literal["defect", "debatable", "ours"]
    blamed: str
    at_fault: str = ""
    severity: Literal["S1", "S2", "S3", "S4", "S5"]
    judged_severity: Literal["S1", "S2", "S3", "S4", "S5"]
    cause: str
    reason: str
    place: str = ""
    mend: str = ""
    upstream: str = ""


class Judgements(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``corpus/judgements.toml``: what was judged, in the order in which it was."""

    judgements: tuple[Judgement, ...] = msgspec.field(name="judgement")


def load(path: Path = DATA) -> tuple[Judgement, ...]:
    """Read the judgements; raises ``msgspec.ValidationError`` for what is none."""
    return msgspec.toml.decode(path.read_bytes(), type=Judgements).judgements


def chosen(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return the defects that may have a page: of each cause the first whose blame is right, the gravest first."""
    causes: dict[str, Judgement] = {}
    for each in judgements:
        if each.verdict == "defect" and not each.at_fault:
            causes.setdefault(each.cause, each)
    return sorted(causes.values(), key=lambda each: (each.judged_severity, each.blamed, each.id))


def page(judgement: Judgement, issue: str) -> str:
    """Return an issue as Markdown, with what the reader found out before the notes."""
    found = [
        "### Cause",
        judgement.reason,
        f"At fault: {judgement.place}.",
        f"Possible fix: {judgement.mend}" if judgement.mend else "",
        f"Upstream: {judgement.upstream or 'no issue or change was found'}.",
    ]
    text = "\n\n".join(line for line in found if line)
    head, notes, tail = issue.partition("\n### Notes\n")
    return f"{head}\n{text}\n{notes}{tail}"


def figures(judgements: Sequence[Judgement]) -> list[str]:
    """Return the table of what was judged, by campaign."""
    rows = []
    for campaign in sorted({each.campaign for each in judgements}):
        here = [each for each in judgements if each.campaign == campaign]
        verdicts = Counter(each.verdict for each in here)
        defects = [each for each in here if each.verdict == "defect"]
        blamed = sum(not each.at_fault for each in defects)
        agreed = sum(each.severity == each.judged_severity for each in defects)
        cells = (campaign, len(here), *(verdicts[name] for name in ("defect", "debatable", "ours")))
        rows.append(f"| {' | '.join(map(str, cells))} | {blamed} of {len(defects)} | {agreed} of {len(defects)} |")
    head = "| campaign | judged | defects | debatable | ours | blamed rightly | severity agreed |"
    return [head, "|" + " --- |" * 7, *rows]


def index(judgements: Sequence[Judgement], pages: Sequence[Judgement], titles: Sequence[str]) -> str:
    """Return docs/upstream/index.md: how the findings were judged, and the pages by severity."""
    lines = [
        "# Defects to report",
        "",
        f"The {len(pages)} gravest distinct defects among the findings that independent readers judged, each as the",
        "issue that one would file. Generated by `docs/generator/upstream.py`; do not edit.",
        "",
        "The readers had the report and TVM's sources. They had neither the contracts nor the audit, and wrote none of",
        "them. What they said of each finding is in `corpus/judgements.toml`.",
        "",
        *figures(judgements),
        "",
    ]
    for severity in _SEVERITIES:
        here = [pair for pair in zip(pages, titles, strict=True) if pair[0].judged_severity == severity]
        if here:
            lines += [f"## {severity}", "", *(f"* [{title}]({file_name(each)})" for each, title in here), ""]
    return "\n".join(lines)


def title_of(path: Path) -> str:
    """Return the title of a page, without the marks that TVM's issues begin with."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").replace("[Bug][Relax] ", "")


def script_of(text: str) -> str:
    """Return the script of an issue: the last code in Python of its steps."""
    steps = text.partition("### Steps to reproduce")[2]
    return str(re.findall(r"```python\n(.*?)```", steps, flags=re.DOTALL)[-1])


def written(pages: Iterable[Judgement]) -> list[Judgement]:
    """Return the defects whose pages are there."""
    return [each for each in pages if (TARGET / file_name(each)).exists()]


def file_name(judgement: Judgement) -> str:
    """Return the name of a finding's page."""
    return f"{judgement.id}.md"


def issue(campaign: Path, judgement: Judgement) -> str:
    """Return the bug report of a finding as ``relaxfuzz repro --markdown`` prints it."""
    command = [
        sys.executable,
        "-m",
        "relaxfuzz",
        "repro",
        str(campaign),
        judgement.id,
        "--markdown",
        "--fresh",
        "--trust",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def seed_of(campaign: Path) -> int:
    """Return the seed of a campaign."""
    with Store.open(campaign) as store:
        return store.info().seed


def main(campaigns: Sequence[Path]) -> None:
    """Write the pages and their index; pages of defects that are no longer chosen go."""
    judgements, given = load(), {seed_of(each): each for each in campaigns}
    TARGET.mkdir(exist_ok=True)
    pages: list[Judgement] = []
    for each in chosen(judgements):
        place, campaign = TARGET / file_name(each), given.get(each.campaign)
        if len(pages) < MOST and campaign is not None:
            text = re.sub(r"[ \t]+$", "", page(each, issue(campaign, each)), flags=re.MULTILINE)
            if len(script_of(text).splitlines()) <= LONGEST:
                place.write_text(text, encoding="utf-8")
        if len(pages) < MOST and place.exists():
            pages.append(each)
    names = {file_name(each) for each in pages}
    for old in TARGET.glob("*.md"):
        if old.name not in names:
            old.unlink()
    titles = [title_of(TARGET / file_name(each)) for each in pages]
    (TARGET / "index.md").write_text(index(judgements, pages, titles), encoding="utf-8")


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
