"""Failures of real campaigns with the cause that somebody found for each: what families are measured on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fuzzer.findings.family import Edit, Family, Skeleton, Traits, family
from fuzzer.findings.file import Decisions
from fuzzer.findings.signature import signature
from oracles.core.verdict import Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName

FILE = Path(__file__).parent / "labelled" / "failures.jsonl"
AUDITED = frozenset({4001, 90210, 31337, 60611, 71993, 271828})
"""Seeds of the campaigns of docs/audit.md, of whose findings the first part of ``findings.toml`` was made."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A failure and its cause.

    Attributes:
        id: Id of its signature, as the campaign recorded it.
        cause: A case of the corpus, or a few words.
        seeds: Campaigns that met it.
        verdict: The verdict; of the message as much as normalisation looks at.
        traits: What was found out when it was minimized.
    """

    id: str
    cause: str
    seeds: frozenset[int]
    verdict: Verdict
    traits: Traits

    @property
    def family(self) -> Family:
        """What the rule says."""
        return family(self.verdict, self.traits)

    @property
    def exact(self) -> str:
        """Id of the signature, computed again."""
        return signature(self.verdict).id

    @property
    def former(self) -> str:
        """The id that the campaign gave it, before signatures had subjects."""
        return signature(self.verdict).former


@dataclass(frozen=True, slots=True)
class Measured:
    """How well reports stand for causes.

    Attributes:
        failures: Failures that were grouped.
        causes: Causes among them.
        reports: Groups, counted once a cause.
        merged: Causes that share a group.
    """

    failures: int
    causes: int
    reports: int
    merged: tuple[tuple[str, ...], ...]

    @property
    def per_cause(self) -> float:
        """Reports a cause; 1 is perfect."""
        return self.reports / self.causes

    def __str__(self) -> str:
        return (
            f"{self.failures} failures of {self.causes} causes: {self.per_cause:.3f} reports per cause, "
            f"{len(self.merged)} groups of several causes"
        )


def load() -> list[Labelled]:
    """All labelled failures."""
    return [_labelled(json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines()]


def _labelled(raw: dict[str, object]) -> Labelled:
    def many(key: str) -> tuple[str, ...]:
        value = raw.get(key, ())
        assert isinstance(value, list | tuple)
        return tuple(value)

    details = Details(subject=str(raw.get("subject", "")))
    evidence = Evidence(str(raw["kind"]), str(raw.get("message", "")), many("frames"), details=details)
    culprit = str(raw["culprit"])
    return Labelled(
        str(raw["id"]),
        str(raw["cause"]),
        frozenset(map(int, many("seeds"))),
        Verdict(OracleName(str(raw["oracle"])), Outcome.FAIL, culprit, evidence=evidence),
        Traits(
            str(raw.get("origin", culprit)),
            Skeleton(many("operators"), many("constructs")),
            frozenset(map(Edit, many("gone"))),
        ),
    )


def measure(groups: Iterable[tuple[str, str]]) -> Measured:
    """Compare groups with causes; a pair of group and cause a failure."""
    causes: dict[str, set[str]] = defaultdict(set)
    members: dict[str, set[str]] = defaultdict(set)
    failures = 0
    for group, cause in groups:
        failures += 1
        causes[cause].add(group)
        members[group].add(cause)
    merged = tuple(tuple(sorted(found)) for _, found in sorted(members.items()) if len(found) > 1)
    return Measured(failures, len(causes), sum(map(len, causes.values())), merged)


def by_signature(failures: Iterable[Labelled]) -> Measured:
    """The exact level."""
    return measure((each.exact, each.cause) for each in failures)


def by_family(failures: Iterable[Labelled], decisions: Decisions | None = None) -> Measured:
    """The family level, by the rule alone or with decisions by hand."""
    decided = decisions or Decisions()
    return measure((decided.place(each.exact, each.family, each.former).id, each.cause) for each in failures)


def halves(failures: Iterable[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """The failures that the rules were chosen on, and those that no campaign of docs/audit.md met."""
    chosen: list[Labelled] = []
    held: list[Labelled] = []
    for each in failures:
        (chosen if each.seeds & AUDITED else held).append(each)
    return chosen, held
