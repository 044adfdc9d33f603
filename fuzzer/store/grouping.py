"""Findings by family, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fuzzer.core.text import Standing, by_standing, counted
from fuzzer.findings.file import Decisions, Placed
from oracles.core.verdict import NOTE

if TYPE_CHECKING:
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


_MOST_NOTES = 20


def noted(tallies: Sequence[Tally]) -> list[str]:
    """Write what users' passes do of which no contract speaks, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in tallies:
        counts[each.culprit, each.reason] += each.count
    rows = [(name, many, said) for (name, said), many in counts.most_common() if said.startswith(NOTE)]
    rest = [f"and {counted(len(rows) - _MOST_NOTES, 'more note')}"] if len(rows) > _MOST_NOTES else []
    return [f"{name}, {counted(many, 'module')}, {said}" for name, many, said in rows[:_MOST_NOTES]] + rest


def apart_by_family(groups: Sequence[FamilyGroup], known: Container[str] = ()) -> dict[Standing, list[FamilyGroup]]:
    """Families with their findings, questions and suspects, new ones first; a family may be in all of them."""
    parts: dict[Standing, list[FamilyGroup]] = {standing: [] for standing in Standing}
    for each in groups:
        for standing, members in by_standing(each.findings).items():
            if members:
                parts[standing].append(replace(each, findings=tuple(members)))
    for part in parts.values():
        part.sort(key=lambda each: (each.findings[0].id in known, each.findings[0].rank))
    return parts
