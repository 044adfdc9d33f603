"""Records of a campaign: what the store keeps and what reports, gate and verbs read."""

from __future__ import annotations

import pickle
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fuzzer.core.case import Case
from fuzzer.core.coverage import Coverage, add_counts
from fuzzer.core.text import Standing, first_line
from fuzzer.findings.assessment import Assessment, provisional
from fuzzer.findings.family import UNKNOWN, Family, Traits, family
from fuzzer.findings.releases import Bisected
from fuzzer.findings.script_parts import Ending, ScriptParts
from fuzzer.findings.signature import Signature, readable, signature
from oracles.core.verdict import Death, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.text_enum import TextEnum

# Values that travel closed and are opened by whoever needs them, since most are needed by nobody.

T = TypeVar("T")


class LazyPickle(Generic[T]):
    """A value that is pickled as bytes, and unpickled when somebody asks for it.

    It goes on from process to process as it came; the one that made it has paid for it, once.

    Args:
        value: The value; not to be changed any more.
    """

    __slots__ = ("_bytes", "_value")

    def __init__(self, value: T) -> None:
        self._value: T | None = value
        self._bytes: bytes | None = None

    @property
    def value(self) -> T:
        """The value."""
        if self._bytes is not None and self._value is None:
            self._value = pickle.loads(zlib.decompress(self._bytes))
        return self._value  # type: ignore[return-value]  # None only where that was sealed

    @property
    def closed(self) -> bool:
        """Say whether it came from elsewhere and nobody has asked for it yet."""
        return self._bytes is not None and self._value is None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._bytes is None:
            # Modules as text shrink to a quarter, and reading them from a pipe or a socket with them.
            self._bytes = zlib.compress(pickle.dumps(self._value, pickle.HIGHEST_PROTOCOL), 1)
        return _received, (self._bytes,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyPickle) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def _received(text: bytes) -> LazyPickle[Any]:
    sealed = LazyPickle[Any].__new__(LazyPickle)
    sealed._value, sealed._bytes = None, text
    return sealed


class FindingState(TextEnum):
    """States of a finding."""

    NEW = "new"  # seen, not yet looked into
    CONFIRMED = "confirmed"  # shows in fresh processes, and in its repro script
    UNSCRIPTED = "unscripted"  # shows in every fresh process, but not in a script of its own
    FLAKY = "flaky"  # does not show every time
    KNOWN = "known"  # confirmed, and on a list of known findings

    def __str__(self) -> str:
        return "untriaged" if self is FindingState.NEW else self.value  # to people, new is what nobody accepted yet


# A finding proves itself: its script shows it, or nobody has looked into it yet.  These two were seen, and no script of
# their own proves it, so they are listed apart, not counted as findings, and fail no gate by themselves.  Of the 1,430
# findings of five campaigns (docs/audit.md) 9 were unscripted, and 8 of these were errors of this program and not of
# TVM; of the 1,399 confirmed ones 18 were, 1.3%.  What does not come back every time is proven no better.
SUSPECTS = frozenset({FindingState.FLAKY, FindingState.UNSCRIPTED})


class CampaignState(TextEnum):
    """States of a campaign."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    KILLED = "killed"  # never recorded: nobody runs what says that it is running


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
        state: Whether it runs, and how it ended.
        budget_text: The budget as the user gave it, ``10m`` or ``2000 cases``.
        relaxfuzz_version: Version that began the campaign; empty where that was not recorded.
        seeds: Those of the campaigns that it was merged from.
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
    state: CampaignState
    budget_text: str
    relaxfuzz_version: str = ""
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedCampaign:
    """A campaign as it was run: its seed, how many cases it judged, when it began."""

    seed: int
    examples: int
    started_at: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Count of equal verdicts of an oracle on a pass; strings, as the store keeps them."""

    oracle: str
    culprit: str
    outcome: str
    reason: str
    count: int


STOPPED = "minimization stopped at its limit"
"""How triage's note on that begins."""


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """Everything with one signature.

    Attributes:
        id: Id of the signature.
        signature: The signature in one line.
        oracle: Name of the oracle.
        culprit: Name of the pass to blame.
        evidence: Evidence of ``case``.
        count: Cases that showed it.
        state: How far it has come.
        first_seen_seconds: Campaign time of the first sighting.
        last_seen_seconds: Campaign time of the last one.
        case: The case of the lowest shard and number that showed it.
        minimized: The smallest case that shows it, once it was minimized.
        bindings: Bindings of the minimized module.
        repro: Path of the script, relative to the campaign's directory.
        note: What triage had to say.
        traits: Where it shows first, and what the minimized module is made of.
        bisected: In which releases of TVM it is, once that was asked.
        parts: What the script at ``repro`` is made of.
        assessed: How much it weighs, once triage has looked.
        others: The known defects of its pass, in a line, where it is not known itself.
    """

    id: str
    signature: str
    oracle: str
    culprit: str
    evidence: Evidence
    count: int
    state: FindingState
    first_seen_seconds: float
    last_seen_seconds: float
    case: Case
    minimized: Case | None
    bindings: int | None
    repro: str | None
    note: str
    traits: Traits = UNKNOWN
    bisected: Bisected | None = None
    parts: ScriptParts | None = None
    assessed: Assessment | None = None
    others: str = ""

    @property
    def kind(self) -> str:
        """Class of the failure."""
        return self.evidence.kind

    @property
    def message(self) -> str:
        """Message as TVM gave it: the one that its script prints, or else that of the first case."""
        return (self.parts and self.parts.words.message) or self.evidence.message

    @property
    def former(self) -> str:
        """The id that an earlier version of this program gave it (``Signature.former``)."""
        return signature(self.verdict).former

    @property
    def title(self) -> str:
        """What is wrong, in one line: the sentence of its script, or else TVM's message."""
        if self.parts and self.parts.words.title:
            return self.parts.words.title
        if self.kind == "wrong-value" and self.evidence.expected:  # the message names only what was promised
            return _wrong_result(self.evidence)
        said = first_line(readable(self.message), self.kind)
        return f"{said}; expected: {self.evidence.expected}" if self.kind == "not-equal" else said

    @property
    def times(self) -> str:
        """How often it was seen, in brackets; empty for what only a minimization met."""
        return f" ({self.count}x)" if self.count else ""

    @property
    def is_minimized(self) -> bool:
        """Say whether a minimization came to its end: what is saved of one under way is no smallest case."""
        return self.minimized is not None and self.state is not FindingState.NEW

    @property
    def is_reduced(self) -> bool:
        """Say whether its minimized module is a smaller one than it was generated with."""
        return self.minimized is not None and self.minimized.module_json != self.case.module_json

    @property
    def shown_case(self) -> Case:
        """The case to show beside the message: until minimization has ended, the message is of the first one."""
        if self.parts and self.parts.other:
            return self.parts.other[0]
        return self.minimized if self.minimized is not None and self.is_minimized else self.case

    @property
    def suspect(self) -> bool:
        """Say whether it was seen without being proven."""
        return self.state in SUSPECTS

    @property
    def standing(self) -> Standing:
        """What it stands as: one that is not proven is not even a question."""
        if self.suspect:
            return Standing.SUSPECT
        return Standing.QUESTION if self.assessment.question else Standing.FINDING

    @property
    def rank(self) -> tuple[Any, ...]:
        """Its place in lists: findings first, then by severity; docs/triage.md has the rest."""
        assessment, size = self.assessment, len((self.minimized or self.case).module_json)
        return (
            list(Standing).index(self.standing), assessment.severity.value, self.state is FindingState.KNOWN,
            self.evidence.details.death is not Death.SIGNAL, not assessment.stock, -self.count, self.bindings is None,
            self.bindings or 0, size, self.id,
        )  # fmt: skip

    @property
    def family(self) -> Family:
        """The family that the rule puts it into; people may have decided otherwise (``fuzzer.findings.file``)."""
        return family(self.verdict, self.traits)

    @property
    def of_users(self) -> bool:
        """Say whether a user's pass is at fault."""
        return any(ref.is_user and ref.name == self.assessment.blame for ref in self.shown_case.passes)

    @property
    def verdict(self) -> Verdict:
        """The failing verdict that it was recorded with."""
        return Verdict(OracleName(self.oracle), Outcome.FAIL, self.culprit, evidence=self.evidence)

    @property
    def failure(self) -> Verdict:
        """The failing verdict that texts tell of: the one that its script shows, where that is of another case."""
        other = None if self.parts is None else self.parts.other
        return other[1] if other and other[1].evidence else self.verdict

    @property
    def assessment(self) -> Assessment:
        """How much it weighs; before triage has looked, as far as its evidence tells."""
        return self.assessed or provisional(self.verdict)

    def to_object(self) -> dict[str, object]:
        """Give what ``relaxfuzz findings --json`` prints of it."""
        return {
            "id": self.id, "signature": self.signature, "oracle": self.oracle, "pass": self.culprit, "kind": self.kind,
            "title": self.title, "message": self.message, "count": self.count, "state": str(self.state),
            "suspect": self.suspect, "standing": self.standing.value,
            "first_seen_seconds": round(self.first_seen_seconds, 3),
            "last_seen_seconds": round(self.last_seen_seconds, 3),
            "bindings": self.bindings, "repro": self.repro, "note": self.note,
            "family": self.family.id, "origin": self.traits.culprit, "operators": list(self.traits.skeleton.operators),
            "constructs": list(self.traits.skeleton.constructs),
            **self.assessment.to_object(),
            "releases": None if self.bisected is None else self.bisected.judgement,
        }  # fmt: skip


def _wrong_result(evidence: Evidence) -> str:
    """Write where a result is wrong, and both values."""
    if not evidence.details.numbers:
        return f"wrong result: {evidence.observed}; expected {evidence.expected}"
    path, expected, observed, *_ = evidence.details.numbers
    output = ".".join(re.findall(r"\d+", path))
    due, _, index = expected.partition(" at index ")
    seen, _, share = observed.partition("; ")
    place = f"output {output} of {evidence.details.entry}" if output else f"the output of {evidence.details.entry}"
    return f"wrong result: {place}{index and f' at {index}'} is {seen}; expected {due}{share and f' ({share})'}"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of workers that a finding took.

    Attributes:
        judging: Judging the cases that showed it; a case that showed several findings counts in equal parts.
        triage: Confirming and minimizing it.
    """

    judging: float = 0.0
    triage: float = 0.0

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.judging + self.triage


@dataclass(frozen=True, slots=True)
class Sighting:
    """A failure that was seen: the verdict, its signature, the case."""

    signature: Signature
    verdict: Verdict
    case: Case


@dataclass(frozen=True, slots=True)
class SignatureHits:
    """First sighting of a signature within a shard, and how often the shard showed it.

    Attributes:
        seen: The sighting; needed once for a finding, and not for each shard that shows it.
        index: Number of the example.
        count: How often it was seen.
    """

    seen: LazyPickle[Sighting]
    index: int
    count: int

    @classmethod
    def of(cls, signature: Signature, verdict: Verdict, case: Case, index: int, count: int) -> SignatureHits:
        """A hit where it is made."""
        return cls(LazyPickle(Sighting(signature, verdict, case)), index, count)

    def counted(self, count: int) -> SignatureHits:
        """The same, seen so often."""
        return SignatureHits(self.seen, self.index, count)

    def __reduce__(self) -> tuple[Any, ...]:
        return SignatureHits, (self.seen, self.index, self.count)  # at a third of what a frozen dataclass takes

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
    """Result of a shard, or of a piece of one.

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
        failing: Seconds of the examples that failed, by signature id; as ``spent``.
        spent: Seconds by step and pass (``fuzzer.shard.shard``); no part of what makes two results equal.
        reached: Addresses of blocks of the compiler, without those that an earlier shard in the same process has
            reached; as ``spent``.
        entered: Functions of the compiler that passes enter when they first run, each with the first example of that
            (``fuzzer.shard.guidance``); as ``spent``.
        lines: Statements of the user's passes, by place and line, and whether each ran (``fuzzer.shard.own_lines``);
            as ``spent``.
    """

    number: int
    first: int = 0
    stop: int = 0
    examples: int = 0
    modules: int = 0
    discarded: int = 0
    tallies: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    hits: dict[str, SignatureHits] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=Coverage)
    failing: dict[str, float] = field(default_factory=dict, compare=False)
    spent: dict[tuple[str, str], float] = field(default_factory=dict, compare=False)
    reached: set[int] = field(default_factory=set, compare=False)
    entered: dict[int, int] = field(default_factory=dict, compare=False)
    lines: dict[tuple[str, int], bool] = field(default_factory=dict, compare=False)

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
        add_counts(self.failing, more.failing)
        add_counts(self.spent, more.spent)
        self.reached |= more.reached
        self.entered = more.entered | self.entered
        self.lines |= {key: ran or self.lines.get(key, False) for key, ran in more.lines.items()}


def total_of(results: Sequence[ShardResult]) -> ShardResult:
    """Add up several pieces of shards; what belongs to a shard alone means nothing in the sum."""
    if len(results) == 1:
        return results[0]
    total = ShardResult(-1)
    for result in results:
        total.add(result)
    return total


class EarlierState(TextEnum):
    """States of an earlier finding, or of a known case, that was judged again."""

    FAILS = "fails"  # as before
    CHANGED = "changed"  # fails, but otherwise than before
    FIXED = "fixed"  # no longer fails
    HOLDS = "holds"  # was fixed, and still is
    REGRESSED = "regressed"  # was fixed, and fails again
    UNDECIDED = "undecided"  # cannot be judged here, for a reason that the note gives
    WAITING = "waiting"  # the time was up


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier finding or known case, and what became of it.

    Attributes:
        source: The campaign's directory as it was given, or the name of the collection.
        id: Id of its signature, or its name in the collection.
        signature: In one line; empty for a case of a collection.
        oracle: Who objected.
        culprit: Who was to blame.
        message: What was said of it.
        state: What became of it; of what is still to be judged, what was known before.
        fixed_in: Release of TVM that it was first seen not to fail on; empty while it fails.
        failed_on: Release that it was last seen to fail on.
        note: Why it is undecided; how it fails now.
        cases: What shows it, the smallest first; empty for a case of a collection.
        script: Its script, where there is one.
        bindings: Of the smallest case's module.
        at_work: The oracle at work when the process died, where it did.
        ending: How the script ends while the defect is there, where it is a short one.
        parts: What the script is made of.
        traits: Where it showed first, and what the smallest case is made of.
        assessed: How much it weighed.
    """

    source: str
    id: str
    signature: str
    oracle: str
    culprit: str
    message: str
    state: EarlierState
    fixed_in: str = ""
    failed_on: str = ""
    note: str = ""
    cases: tuple[Case, ...] = ()
    script: str = ""
    bindings: int | None = None
    at_work: OracleName | None = None
    ending: Ending | None = None
    parts: ScriptParts | None = None
    traits: Traits = UNKNOWN
    assessed: Assessment | None = None

    def to_object(self) -> dict[str, object]:
        """Give what ``relaxfuzz findings --earlier --json`` prints of it."""
        return {
            "id": self.id, "source": self.source, "oracle": self.oracle, "pass": self.culprit,
            "message": self.message, "state": self.state.value, "fixed_in": self.fixed_in,
            "failed_on": self.failed_on, "note": self.note,
        }  # fmt: skip
