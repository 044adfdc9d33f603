"""What a campaign's store holds, as records; reading them needs no database."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field

from fuzzer.cases import Case
from fuzzer.signatures import Signature
from oracles.verdict import OracleName, Outcome, Verdict


class CampaignState(str, enum.Enum):
    """Where a campaign is."""

    RUNNING = "running"  # or killed: the lock tells
    INTERRUPTED = "interrupted"
    FINISHED = "finished"

    def __str__(self) -> str:
        return self.value


class FindingState(str, enum.Enum):
    """What is known of a finding."""

    NEW = "new"  # not yet tried again
    CONFIRMED = "confirmed"  # came back in every fresh process, and its script shows it
    FLAKY = "flaky"  # did not always come back, or in no script
    KNOWN = "known"  # listed by the user, with a reference
    FIXED = "fixed"  # its script no longer shows it

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class CampaignInfo:
    """What was run.

    Attributes:
        seed: The campaign's seed.
        started_at: First start, seconds since the epoch.
        elapsed_seconds: Wall time of all sessions together.
        examples: Cases judged: (module, pass or pipeline) pairs.
        modules: Modules drawn.
        discarded: Draws that gave no module.
        workers: Workers of the last session.
        tvm_version: Of ``apache-tvm``.
        ffi_version: Of ``apache-tvm-ffi``.
        passes: Names of the passes under test.
        oracles: The oracles that judge.
        state: Where it is.
        budget_text: ``10m`` or ``5000 examples``.
        shards: Pieces of shards recorded.
    """

    seed: int
    started_at: float
    elapsed_seconds: float
    examples: int
    modules: int
    discarded: int
    workers: int
    tvm_version: str
    ffi_version: str
    passes: tuple[str, ...]
    oracles: tuple[OracleName, ...]
    state: CampaignState
    budget_text: str
    shards: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How often one oracle said one thing of one pass."""

    oracle: OracleName
    culprit: str
    outcome: Outcome
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """Everything that failed with one signature.

    Attributes:
        id: Ten hexadecimal digits, see ``fuzzer.signatures``.
        signature: The signature as one line.
        oracle: Who failed.
        culprit: The pass to blame.
        kind: Class of the failure.
        message: Message of the first case, as TVM gave it.
        frames: Frames inside TVM of the first case, innermost first.
        count: Cases that failed so.
        state: What is known.
        first_seen_seconds: Elapsed time of the campaign when it was first recorded.
        last_seen_seconds: The same for the last time.
        case: The case of the lowest (shard, index).
        minimized: The reduced case.
        bindings: Bindings of the reduced module.
        repro: Path of the script, relative to the campaign's directory.
        evidence: The failing verdict on ``case``.
        note: What triage has to say, for people.
        shard: Shard of ``case``.
        index: Index of ``case`` in its shard.
    """

    id: str
    signature: str
    oracle: OracleName
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
    evidence: Verdict
    note: str
    shard: int = 0
    index: int = 0


@dataclass(slots=True)
class Failures:
    """All failures of one signature in one piece of a shard.

    Attributes:
        signature: What they share.
        count: How many.
        index: Index of the first.
        verdict: Verdict on the first.
        case: The first case.
    """

    signature: Signature
    count: int
    index: int
    verdict: Verdict
    case: Case


@dataclass(slots=True)
class ShardResult:
    """What a piece of a shard gave: the examples from ``start`` up to, not including, ``stop``.

    Attributes:
        shard: Number of the shard.
        start: Index of the first example.
        stop: Index behind the last.
        modules: Modules drawn for them.
        discarded: Draws that gave no module.
        tallies: Counts by (oracle, culprit, outcome, reason).
        counts: Counts by (kind, name): ``feature`` and ``operator`` by module, ``pass`` by example.
        failures: By id of the signature.
        seconds: Wall time.
    """

    shard: int
    start: int
    stop: int
    modules: int = 0
    discarded: int = 0
    tallies: Counter[tuple[OracleName, str, Outcome, str]] = field(default_factory=Counter)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: dict[str, Failures] = field(default_factory=dict)
    seconds: float = 0.0
