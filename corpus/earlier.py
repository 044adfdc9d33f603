"""Tell what was said of earlier findings: ``judgements.toml`` and ``audit.toml``, by id or by family.

A cause that comes to light under another pass or oracle has another id, and the same family.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpus import judgements
from corpus.case import KnownCase, load
from fuzzer.core.toml import read_tables, read_toml
from fuzzer.findings.family import Family, symptom_of_verdict
from fuzzer.store.known import KnownAs, same_title, without_numbers
from fuzzer.store.records import FindingRecord
from relaxkit.passes.same_code import same_code

_AUDIT = Path(__file__).resolve().parent / "audit.toml"
_VERDICTS = {"defect": "", "debatable": "judged debatable: ", "ours": "judged no defect of TVM: "}


@dataclass(frozen=True, slots=True)
class EarlierFinding:
    """An earlier finding that somebody has read.

    Attributes:
        id: Of its signature.
        family: Of it, where that was recorded.
        operators: Of its minimized module, where its symptom says too little; ``None`` where nobody recorded them.
        known: What was said of it.
        blamed: What its report blamed; reports of one finding may blame several parts, which have causes of their own.
        at_fault: What a reader found to be at fault instead.
        title: The report's title.
        doubts: How many more of its readers say that it may be no defect than that it is one.
    """

    id: str
    family: str
    operators: frozenset[str] | None
    known: KnownAs
    blamed: str = ""
    at_fault: str = ""
    title: str = ""
    doubts: int = 0

    def may_blame(self, name: str, judged: str) -> bool:
        """Say whether something may be at fault for it: no, if its report or reader named another thing of its kind."""
        kind = name.rpartition(" ")[0] or name  # lowering of
        known = name in (judged, self.blamed, self.at_fault.partition(" (")[0]) or not self.blamed
        return known or (self.blamed == judged and self.at_fault != "" and not self.at_fault.startswith(kind))

    def is_of(self, finding: FindingRecord) -> bool:
        """Say whether the finding's program was read, as far as titles tell."""
        return same_title(finding.parts, self.title)


def said_before(finding: FindingRecord) -> tuple[list[KnownAs], list[KnownAs]]:
    """Return what was said of a finding with this id, and of those of its family, which may have other causes."""
    family, (by_id, by_family) = finding.family, _indexed()
    places_like = (finding.assessment.blame, *same_code(family.place))  # which may have been judged themselves
    families = (family, *(replace(family, place=each) for each in places_like))
    alike = [place for each in families for place in by_family.get(each.id, ())]
    blame = finding.assessment.blame
    accused = [at for at, row in enumerate(_earlier()) if row.blamed == blame != finding.culprit and row.is_of(finding)]
    places = {*by_id.get(finding.id, ()), *(alike if family.final else ()), *accused}
    near = [_earlier()[place] for place in sorted(places)]
    if mute := symptom_of_verdict(finding.verdict).mute:  # a wrong value or a death tells no cause without operators
        near = [row for row in near if finding.is_minimized and (row.is_of(finding) or _alike(row, finding, family))]
    own = [row for row in near if row.id == finding.id and row.may_blame(blame, finding.culprit)]
    near = [row for row in near if row.blamed == blame or blame == finding.culprit]
    own.sort(key=lambda row: (not row.is_of(finding), not row.blamed.startswith(blame), row.known.cause is None))
    # What is mute has one id for many causes.
    same = [row for row in own if row.is_of(finding) or (row.title and row.blamed.startswith(blame) and not mute)]
    debatable = bool(same) and sum(row.doubts for row in same) >= 0
    said = [replace(row.known, debatable=debatable) for row in own]
    return said, [replace(row.known, certain=False) for row in near if row.id != finding.id]


def _alike(row: EarlierFinding, finding: FindingRecord, family: Family) -> bool:
    """Say whether one minimized module has all operators of the other; of none, both are of one family."""
    mine, others = frozenset(finding.traits.skeleton.operators), row.operators
    if not mine or not others:
        return others == mine and row.family == family.id
    return mine >= others or mine <= others


@functools.cache
def audit_rows() -> list[dict[str, Any]]:
    """Return the rows of ``audit.toml``."""
    return read_tables(read_toml(_AUDIT), "finding")


def _report(judged: judgements.Judgement) -> tuple[str, str, str]:
    """Return what reports of one program share."""
    return judged.id, judged.blamed, without_numbers(judged.title)


def _rows() -> Iterator[EarlierFinding]:
    judged, cases = judgements.load(), {case.slug: case for case in load()}
    pages = {each.cause: f"{each.id}.md" for each in judgements.of_pages(judged).values()}
    upstream = {each.cause: each.upstream for each in reversed(judged) if each.upstream.startswith("https:")}
    read = defaultdict[tuple[str, str, str], list[judgements.Judgement]](list)
    for each in judged:
        read[_report(each)].append(each)
    for readers in read.values():  # one word of what a report of a finding blamed and said
        doubts = [each for each in readers if each.verdict != "defect"]
        sure = [each for each in readers if each.verdict == "defect"]
        each = sure[0] if len(sure) > len(doubts) else doubts[-1]
        name = f"docs/upstream/{pages[each.cause]}" if each.cause in pages else f"corpus/judgements.toml: {each.cause}"
        of_case = next((cases[slug].reference for slug in each.cases if slug in cases), "")
        reported = each.upstream or upstream.get(each.cause, of_case)
        cause = each.told if each.verdict == "defect" else None
        known = KnownAs(name, _VERDICTS[each.verdict] + each.reason, reported, cause=cause)
        operators = None if each.operators is None else frozenset(each.operators)
        blames, more = (each.blamed, each.at_fault), len(doubts) - len(sure)
        yield EarlierFinding(each.id, each.family, operators, known, *blames, each.title, more)
    reasons = {each.id: each.reason for each in judged}
    for row in audit_rows():
        if row["whose"] != "ours":
            operators = frozenset(row["operators"]) if "operators" in row else None
            yield EarlierFinding(row["id"], row.get("family", ""), operators, _audited(row, cases, reasons))


_earlier = functools.cache(lambda: tuple(_rows()))


@functools.cache
def _indexed() -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return the places of the rows by id, and by family."""
    by_id, by_family = dict[str, list[int]](), dict[str, list[int]]()
    for place, row in enumerate(_earlier()):
        by_id.setdefault(row.id, []).append(place)
        by_family.setdefault(row.family, []).append(place)
    return by_id, by_family


def _audited(row: dict[str, Any], cases: dict[str, KnownCase], reasons: dict[str, str]) -> KnownAs:
    """Return what the audit says of a finding; of one that is only like another, it is not certain."""
    if "case" in row:
        return cases[row["case"]].known()
    like = row.get("like", "")
    reason = row.get("reason") or (cases[like].explanation if like in cases else reasons.get(like, f"as {like}"))
    return KnownAs("docs/audit.md", reason, certain=not like)
