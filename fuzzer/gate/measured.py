"""Measurements of a campaign, as the gate reads them: counts by oracle and pass, how often passes acted, findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated

import msgspec

from fuzzer.core.text import Standing
from fuzzer.findings.file import Decisions
from fuzzer.store.grouping import noted
from fuzzer.store.merge import MERGED
from fuzzer.store.records import CampaignInfo, FindingRecord, Tally
from fuzzer.store.writer import Store
from oracles.core.verdict import NOT_ASKED, UNDECIDED, Outcome
from relaxkit.passes.contract import OracleName


@dataclass(frozen=True, slots=True)
class Cell:
    """Counts of what was said; cells of several oracles and passes add up.

    Attributes:
        passed: Passes.
        failed: Failures, those of known findings among them.
        skipped: Skips, undecidable comparisons among them, but not what was left out on purpose.
        rejected: Documented refusals.
        invalid: Verdicts in which the harness was wrong.
        undecidable: Skips whose comparison was made and says nothing.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    rejected: int = 0
    invalid: int = 0
    undecidable: int = 0

    def __add__(self, other: Cell) -> Cell:
        return Cell(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def checks(self) -> int:
        """Pass and fail together: what was judged."""
        return self.passed + self.failed

    @property
    def verdicts(self) -> int:
        """Everything that was said."""
        return self.checks + self.skipped + self.rejected + self.invalid


class SeenFinding(msgspec.Struct, frozen=True):
    """A finding, as far as two campaigns can share it.

    Attributes:
        id: Id of the signature.
        signature: The signature in one line.
        oracle: Name of the oracle.
        culprit: Name of the pass.
        count: Cases that showed it.
        family: Id of its family, as decided.
        suspect: Whether it was seen without being proven.
        question: Whether it rests on a claim of ours, and is proven.
        former: The id that an earlier version of this program gave it.
    """

    id: str
    signature: str
    oracle: str
    culprit: str = msgspec.field(name="pass")
    count: Annotated[int, msgspec.Meta(ge=0)]
    family: str = ""
    suspect: bool = False
    question: bool = False
    former: str = ""

    @property
    def names(self) -> tuple[str, str, str, str]:
        """What an entry of the known findings may name it by."""
        return self.id, self.signature, self.family, self.former

    @property
    def standing(self) -> Standing:
        """What it stands as."""
        return Standing.SUSPECT if self.suspect else Standing.QUESTION if self.question else Standing.FINDING


@dataclass(frozen=True, slots=True)
class GateSubject:
    """Oracle and pass of a count.

    Attributes:
        oracle: Name of the oracle, or ``None`` for all together.
        culprit: Name of the pass, or ``None`` for all together.
    """

    oracle: str | None = None
    culprit: str | None = None

    @property
    def name(self) -> str:
        """Name in output."""
        return " ".join(part for part in (self.culprit, self.oracle) if part) or "campaign"

    def holds(self, oracle: str | None, culprit: str | None) -> bool:
        """Say whether a verdict of this oracle on this pass, or all of one, belongs to it."""
        return self.oracle in (None, oracle) and self.culprit in (None, culprit)


@dataclass(frozen=True, slots=True)
class MeasuredCampaign:
    """A campaign, or what a baseline kept of one.

    Attributes:
        info: The campaign as a whole.
        cells: Counts by oracle and pass.
        triggers: By pass, subjects that were judged and those of them that the pass changed.
        seen: The findings.
        silences: Why nothing was judged, and how agreements were reached: by pass, counts by oracle, outcome and
            reason; a baseline keeps none.
        records: The findings in full; a baseline keeps none.
        notes: What users' passes do of which no contract speaks; a baseline keeps none.
        never_ran: Which lines of users' passes no case ran; a baseline keeps none.
        directory: Of the campaign; of a baseline, the name of the directory that its campaign was in, if it is known.
        merged: Whether it was merged from several.
    """

    info: CampaignInfo
    cells: Mapping[tuple[str, str], Cell]
    triggers: Mapping[str, tuple[int, int]]
    seen: Sequence[SeenFinding]
    silences: Mapping[str, Mapping[tuple[str, str, str], int]] = field(default_factory=dict)
    records: Sequence[FindingRecord] = ()
    notes: Sequence[str] = ()
    never_ran: Sequence[str] = ()
    directory: Path = field(default=Path(), compare=False)
    merged: bool = False

    def count(self, subject: GateSubject) -> Cell:
        """Everything that was said of the subject; of a pass, without a look at the cells of others."""
        keys = self.cells if subject.culprit is None else [(each.value, subject.culprit) for each in OracleName]
        return sum((self.cells[key] for key in keys if key in self.cells and subject.holds(*key)), Cell())

    def trigger(self, subject: GateSubject) -> tuple[int, int]:
        """Judged and changed modules of a pass, or of all."""
        chosen = [pair for name, pair in self.triggers.items() if subject.culprit in (None, name)]
        return sum(judged for judged, _ in chosen), sum(changed for _, changed in chosen)

    def always_failed(self, culprit: str | None) -> bool:
        """Say whether a pass, or all, raised an exception or died on every module."""
        crash = self.count(GateSubject(OracleName.CRASH.value, culprit))
        return bool(crash.failed and not crash.passed)

    def reasons(
        self, subject: GateSubject, outcome: Outcome, among: frozenset[str] | None = None
    ) -> list[tuple[str, int]]:
        """List the reasons of an outcome, most frequent first; of ``among`` alone, where that is given."""
        counts: Counter[str] = Counter()
        for row in self.silences.values() if subject.culprit is None else (self.silences.get(subject.culprit, {}),):
            for (oracle, said, reason), count in row.items():
                if said == outcome.value and subject.oracle in (None, oracle) and (among is None or reason in among):
                    counts[reason] += count
        return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def measure(store: Store, decisions: Decisions | None = None) -> MeasuredCampaign:
    """Read a campaign; ``decisions`` say which family a finding is in.  Raises ``fuzzer.store.writer.StoreError``."""
    coverage = store.coverage()
    triggers = {name: (judged, coverage.changed[name]) for name, judged in coverage.judged.items()}
    return replace(
        measured(store.info(), store.tallies(), store.findings(), triggers, decisions),
        never_ran=tuple(noted((), store.lines())), directory=store.directory, merged=MERGED in store.meta(),
    )  # fmt: skip


def measured(
    info: CampaignInfo,
    tallies: Iterable[Tally],
    records: Sequence[FindingRecord],
    triggers: Mapping[str, tuple[int, int]],
    decisions: Decisions | None = None,
) -> MeasuredCampaign:
    """Sum up a campaign's records."""
    tallies = list(tallies)
    cells: dict[tuple[str, str], Cell] = {}
    silences: defaultdict[str, Counter[tuple[str, str, str]]] = defaultdict(Counter)
    for tally in tallies:
        key = (str(tally.oracle), tally.culprit)
        cells[key] = cells.get(key, Cell()) + _cell(tally)
        if tally.reason and tally.reason != NOT_ASKED:
            silences[tally.culprit][key[0], str(tally.outcome), tally.reason] += tally.count
    seen = [_seen(each, decisions or Decisions()) for each in records]
    return MeasuredCampaign(info, cells, triggers, seen, silences, records, tuple(noted(tallies, {})))


def _seen(record: FindingRecord, decisions: Decisions) -> SeenFinding:
    family = decisions.place(record.id, record.family, record.former).id
    return SeenFinding(
        record.id, record.signature, str(record.oracle), record.culprit, record.count, family, record.suspect,
        record.standing is Standing.QUESTION, record.former,
    )  # fmt: skip


def _cell(tally: Tally) -> Cell:
    outcome, count = Outcome(tally.outcome), tally.count
    if outcome is Outcome.SKIP:
        return Cell(skipped=count * (tally.reason != NOT_ASKED), undecidable=count * (tally.reason in UNDECIDED))
    return Cell(*(count * (each is outcome) for each in Outcome))  # whose order the fields have
