"""Findings by family, for people and for programs."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.core.text import Standing, by_standing, counted, enumerated
from fuzzer.findings.file import Decisions, Placed
from fuzzer.store.known import rank
from oracles.core.notes import brief, settling
from oracles.core.verdict import NOT_ASKED, NOTE, Outcome

if TYPE_CHECKING:
    from fuzzer.core.coverage import Coverage
    from fuzzer.store.records import FindingRecord, Tally


@dataclass(frozen=True, slots=True)
class FamilyGroup:
    """A family and its findings.

    Attributes:
        family: The family.
        findings: In the order in which they were given.
    """

    family: Placed
    findings: tuple[FindingRecord, ...]

    @property
    def count(self) -> int:
        """Cases that showed any of them."""
        return sum(finding.count for finding in self.findings)

    @property
    def operators(self) -> tuple[str, ...]:
        """Operators that all minimized modules have in common: what is left is likelier to matter."""
        seen = [set(finding.traits.skeleton.operators) for finding in self.findings if finding.traits.culprit]
        return tuple(sorted(set.intersection(*seen))) if seen else ()

    def to_object(self) -> dict[str, object]:
        """Give what ``relaxfuzz findings --json`` prints of it."""
        decision = self.family.decision
        return {
            "id": self.family.id, "text": self.family.text, "count": self.count, "operators": list(self.operators),
            "findings": [finding.id for finding in self.findings],
            "by_hand": None if decision is None else decision.reason,
        }  # fmt: skip


def group(findings: Sequence[FindingRecord], decisions: Decisions) -> list[FamilyGroup]:
    """Findings by family; a family stands where its first finding does."""
    found: dict[str, list[FindingRecord]] = {}
    placed: dict[str, Placed] = {}
    for finding in findings:
        place = decisions.place(finding.id, finding.family, finding.former)
        found.setdefault(place.id, []).append(finding)
        # The family that others are merged into says itself what it is.
        if place.id not in placed or place.decision is None:
            placed[place.id] = place
    return [FamilyGroup(placed[key], tuple(members)) for key, members in found.items()]


_JUDGED = (Outcome.PASS, Outcome.FAIL)
_MOST_NOTES = 20
_FEW = 0.1
_MOST_RUNS = 12


def noted(
    tallies: Sequence[Tally], lines: Mapping[str, Mapping[int, bool]], coverage: Coverage | None = None
) -> list[str]:
    """Write what users' passes do of which no contract speaks, the most frequent first, and what of them never ran.

    ``coverage`` tells how many modules they changed.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for each in tallies:
        counts[each.culprit, each.reason] += each.count
    rows = [(name, many, said) for (name, said), many in counts.most_common() if said.startswith(NOTE)]
    rest = [f"and {counted(len(rows) - _MOST_NOTES, 'more note')}"] if len(rows) > _MOST_NOTES else []
    first = rows[:_MOST_NOTES]
    told = [f"{name}, in {counted(many, 'module')}: {brief(said.removeprefix(NOTE))}" for name, many, said in first]
    told += [*rest, *settling(said for _, _, said in rows)]
    places = itertools.islice(lines.items(), _MOST_NOTES)
    if lines and coverage is not None:
        ran = {(each.culprit, each.outcome) for each in tallies if each.oracle == "crash"}
        judged = coverage.judged.most_common(_MOST_NOTES)
        told = [_changed(name, many, coverage.changed[name], ran) for name, many in judged] + told
    return told + [_never_ran(Path(place).name, statements) for place, statements in places]


def _changed(name: str, judged: int, changed: int, ran: Collection[tuple[str, str]]) -> str:
    """Write how many modules a pass changed, and what to do where that is few."""
    hint = "; `--plant` inserts a pattern that it acts on into most modules" if changed < _FEW * judged else ""
    if (name, Outcome.PASS) not in ran:
        hint = "; it never ran without an error, so no results could be judged" * ((name, Outcome.FAIL) in ran)
    return f"{name} changed {changed} of {counted(judged, 'module')}{hint}"


def blind(tallies: Sequence[Tally]) -> str:
    """Say why most cases could not be judged, if so: even by the oracle that passes or fails most of them."""
    said: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in tallies:
        if each.reason != NOT_ASKED:
            said[each.oracle]["" if each.outcome in _JUDGED else f"{each.outcome}: {each.reason}"] += each.count
    counts = max(said.values(), key=lambda each: each[""], default=Counter[str]())
    cases, judged = counts.total(), counts.pop("", 0)
    if 2 * judged >= cases:
        return ""
    (why, many), *_ = counts.most_common(1)
    return f"Only {judged} of {counted(cases, 'case')} could be judged; most frequent reason: {why} ({many}x)"


def _never_ran(file: str, statements: Mapping[int, bool]) -> str:
    """Write which of the lines that a file's statements begin in, in their order, no case has run."""
    runs = [[*run] for ran, run in itertools.groupby(statements, statements.__getitem__) if not ran]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if not texts:
        return f"every line of the pass in {file} was executed"
    rest = [f"{len(texts) - _MOST_RUNS} more places"] if len(texts) > _MOST_RUNS + 1 else []
    shown = texts[:_MOST_RUNS] if rest else texts
    several = [*statements.values()].count(False) > 1
    return f"in {file}, line{'s' if several else ''} {enumerated(shown + rest)} never ran"


def apart_by_family(groups: Sequence[FamilyGroup], known: Container[str] = ()) -> dict[Standing, list[FamilyGroup]]:
    """Families with their findings, questions and suspects, the gravest first; a family may be in all of them."""
    parts: dict[Standing, list[FamilyGroup]] = {standing: [] for standing in Standing}
    for each in groups:
        for standing, members in by_standing(each.findings).items():
            if members:
                parts[standing].append(replace(each, findings=tuple(members)))
    for part in parts.values():
        part.sort(key=lambda each: rank(each.findings[0], known))
    return parts
