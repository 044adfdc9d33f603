"""Records of a campaign: what the store keeps and what reports, gate and verbs read."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzzer.bisection import Bisected
from fuzzer.cases import Case
from fuzzer.coverage import Coverage, add_counts
from fuzzer.families import UNKNOWN, Family, Traits, family
from fuzzer.pool import Deed, Origin
from fuzzer.sealed import Sealed
from fuzzer.signatures import Signature
from oracles.verdict import Evidence, OracleName, Outcome, Verdict


class FindingState(str, enum.Enum):
    """How far a finding has come."""

    NEW = "new"  # seen, not yet looked into
    CONFIRMED = "confirmed"  # shows in fresh processes, and in its repro script
    UNSCRIPTED = "unscripted"  # shows in every fresh process, but not in a script of its own
    FLAKY = "flaky"  # does not show every time
    KNOWN = "known"  # confirmed, and listed as known

    def __str__(self) -> str:
        return self.value


# A finding proves itself: its script shows it, or nobody has looked into it yet.  These two were seen, and no script of
# their own proves it, so they are listed apart, not counted as findings, and fail no gate by themselves.  Of the 1,430
# findings of five campaigns (docs/audit.md) 9 were unscripted, and 8 of these were errors of this program and not of
# TVM; of the 1,399 confirmed ones 18 were, 1.3 %.  What does not come back every time is proven no better.
SUSPECTS = frozenset({FindingState.FLAKY, FindingState.UNSCRIPTED})


@dataclass(frozen=True, slots=True)
class CampaignInfo:
    """A campaign as a whole.

    Attributes:
        seed: Decides everything that is drawn.
        started_at: Start of the first session, ISO 8601 with time zone.
        elapsed_seconds: Wall time of all sessions together.
        examples: Subjects judged (one module under one pass or pipeline each).
        modules: Modules drawn.
        workers: Workers of the last session.
        tvm_version: Installed ``apache-tvm``.
        ffi_version: Installed ``apache-tvm-ffi``.
        passes: Names of the passes under test.
        oracles: Names of the oracles that judge.
        state: ``running``, ``finished``, ``interrupted``.
        budget_text: The budget as the user gave it, ``10m`` or ``2000 examples``.
    """

    seed: int
    started_at: str
    elapsed_seconds: float
    examples: int
    modules: int
    workers: int
    tvm_version: str
    ffi_version: str
    passes: tuple[str, ...]
    oracles: tuple[str, ...]
    state: str
    budget_text: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How often an oracle said the same of the same pass; strings, as the store keeps them."""

    oracle: str
    culprit: str
    outcome: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """Everything with one signature.

    Attributes:
        id: Id of the signature.
        signature: The signature in one line.
        oracle: Name of the oracle.
        culprit: Name of the pass to blame.
        kind: Class of the failure.
        message: Message of the first case, as TVM gave it.
        frames: Innermost frames inside TVM.
        count: Cases that showed it.
        state: How far it has come.
        first_seen_seconds: Campaign time of the first sighting.
        last_seen_seconds: Campaign time of the last one.
        case: The case of the lowest shard and number that showed it.
        minimized: The smallest case that shows it, once it was minimized.
        bindings: Bindings of the minimized module.
        repro: Path of the script, relative to the campaign's directory.
        evidence: Evidence of ``case``.
        note: What triage had to say.
        traits: Where it shows first, and what the minimized module is made of.
        bisected: In which releases of TVM it is, once that was asked.
    """

    id: str
    signature: str
    oracle: str
    culprit: str
    kind: str
    message: str
    frames: tuple[str, ...]
    count: int
    state: FindingState
    first_seen_seconds: float
    last_seen_seconds: float
    case: Case
    minimized: Case | None
    bindings: int | None
    repro: str | None
    evidence: Evidence
    note: str
    traits: Traits = UNKNOWN
    bisected: Bisected | None = None

    @property
    def suspect(self) -> bool:
        """Whether it was seen without being proven."""
        return self.state in SUSPECTS

    @property
    def family(self) -> Family:
        """The family that the rule puts it into; people may have decided otherwise (``fuzzer.decisions``)."""
        verdict = Verdict(OracleName(self.oracle), Outcome.FAIL, self.culprit, evidence=self.evidence)
        return family(verdict, self.traits)

    def to_object(self) -> dict[str, object]:
        """What ``relaxfuzz findings --json`` prints of it."""
        return {
            "id": self.id, "signature": self.signature, "oracle": self.oracle, "pass": self.culprit, "kind": self.kind,
            "message": self.message, "count": self.count, "state": self.state.value, "suspect": self.suspect,
            "first_seen_seconds": round(self.first_seen_seconds, 3),
            "last_seen_seconds": round(self.last_seen_seconds, 3),
            "bindings": self.bindings, "repro": self.repro, "note": self.note,
            "family": self.family.id, "origin": self.traits.culprit, "operators": list(self.traits.skeleton.operators),
            "constructs": list(self.traits.skeleton.constructs),
            "releases": None if self.bisected is None else self.bisected.judgement,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was seen: the verdict, its signature, the case."""

    signature: Signature
    verdict: Verdict
    case: Case


@dataclass(frozen=True, slots=True)
class Hit:
    """First sighting of a signature within a shard, and how often the shard showed it.

    Attributes:
        seen: The sighting; needed once for a finding, and not for each shard that shows it.
        index: Number of the example.
        count: How often it was seen.
    """

    seen: Sealed[Sighting]
    index: int
    count: int

    @classmethod
    def of(cls, signature: Signature, verdict: Verdict, case: Case, index: int, count: int) -> Hit:
        """A hit where it is made."""
        return cls(Sealed(Sighting(signature, verdict, case)), index, count)

    def counted(self, count: int) -> Hit:
        """The same, seen so often."""
        return Hit(self.seen, self.index, count)

    def __reduce__(self) -> tuple[Any, ...]:
        return Hit, (self.seen, self.index, self.count)  # at a third of what a frozen dataclass takes

    @property
    def signature(self) -> Signature:
        """Signature of the verdict."""
        return self.seen.value.signature

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.seen.value.verdict

    @property
    def case(self) -> Case:
        """The case."""
        return self.seen.value.case


@dataclass(slots=True)
class ShardResult:
    """What a shard, or a piece of one, gave.

    Attributes:
        number: Number of the shard.
        first: Index of its first example.
        stop: Index behind its last example.
        examples: Subjects judged.
        modules: Modules drawn.
        discarded: Draws that gave no module.
        tallies: Count per (oracle, culprit, outcome, reason).
        hits: By signature id.
        coverage: What was generated, and what the passes did with it.
        origins: Of campaigns that are guided, where each module came from, by its number in the shard.
        deeds: Of campaigns that are guided, what became of each subject.
        failing: Seconds of the examples that failed, by signature id; as ``spent``.
        spent: Seconds by step and pass (``fuzzer.stopwatch``); no part of what makes two results equal.
    """

    number: int
    first: int = 0
    stop: int = 0
    examples: int = 0
    modules: int = 0
    discarded: int = 0
    tallies: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    hits: dict[str, Hit] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=Coverage)
    origins: dict[int, Origin] = field(default_factory=dict)
    deeds: list[Deed] = field(default_factory=list)
    failing: dict[str, float] = field(default_factory=dict, compare=False)
    spent: dict[tuple[str, str], float] = field(default_factory=dict, compare=False)

    def add(self, more: ShardResult) -> None:
        """Count what the next piece has counted as well."""
        self.stop = more.stop
        self.examples += more.examples
        self.modules += more.modules
        self.discarded += more.discarded
        add_counts(self.tallies, more.tallies)
        self.coverage.add(more.coverage)
        for finding_id, hit in more.hits.items():
            known = self.hits.get(finding_id)
            self.hits[finding_id] = hit if known is None else known.counted(known.count + hit.count)
        self.origins.update(more.origins)
        self.deeds.extend(more.deeds)
        add_counts(self.failing, more.failing)
        add_counts(self.spent, more.spent)


def total_of(results: Sequence[ShardResult]) -> ShardResult:
    """What several pieces of shards count together; what belongs to a shard alone means nothing in it."""
    if len(results) == 1:
        return results[0]
    total = ShardResult(-1)
    for result in results:
        total.add(result)
    return total
