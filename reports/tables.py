"""What the reports show, as plain rows; no rendering here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzzer.counting import apart, counted
from fuzzer.coverage import Coverage
from fuzzer.finding_store import Cost
from fuzzer.known_budget import KnownBudget, known_budget
from fuzzer.store import CampaignInfo, FindingRecord, FindingState, Store, Tally
from fuzzer.timeline import Timeline
from oracles.verdict import OracleName, Outcome


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is read from a campaign, at one moment.

    Attributes:
        directory: The campaign's directory.
        info: What was run.
        tallies: Verdicts by oracle, pass, outcome and reason.
        findings: One record a signature; suspects are among them, behind what is proven.
        features: Modules by feature that they had.
        coverage: What was generated, and what the passes did with it.
        timeline: How it went over time.
        costs: What findings took, by id.
    """

    directory: Path
    info: CampaignInfo
    tallies: Sequence[Tally]
    findings: Sequence[FindingRecord]
    features: Mapping[str, int] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=Coverage)
    timeline: Timeline = field(default_factory=Timeline)
    costs: Mapping[str, Cost] = field(default_factory=dict)

    @property
    def known(self) -> KnownBudget:
        """What known findings took of the campaign."""
        spent = sum(self.timeline.spent.values()) or self.info.elapsed_seconds * self.info.workers
        return known_budget(self.findings, self.costs, spent)


@dataclass(frozen=True, slots=True)
class OracleRow:
    """Verdicts of one oracle, or of one oracle on one pass.

    Attributes:
        name: The oracle or the pass.
        passed, failed, skipped, rejected, invalid: Numbers of verdicts.
    """

    name: str
    passed: int
    failed: int
    skipped: int
    rejected: int
    invalid: int

    @property
    def rate(self) -> float | None:
        """Pass rate, pass / (pass + fail), failures of what is known or suspect included; ``None`` without any."""
        checks = self.passed + self.failed
        return self.passed / checks if checks else None


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """Why verdicts of one oracle judged nothing.

    Attributes:
        oracle: The oracle.
        outcome: ``SKIP``, ``REJECT`` or ``INVALID``.
        reason: The reason's text.
        count: Number of verdicts.
    """

    oracle: str
    outcome: Outcome
    reason: str
    count: int


def load_report(directory: Path) -> Report:
    """Read a finished or running campaign; raises what ``Store.open`` raises."""
    store = Store.open(directory, read_only=True)
    try:
        return Report(
            directory, store.info(), store.tallies(), ordered(store.findings()), store.features(),
            store.coverage(), store.timeline(), store.costs(),
        )  # fmt: skip
    finally:
        store.close()


def load_reports(directories: Sequence[Path]) -> list[Report]:
    """Several campaigns, each once, the one that was started first first; raises what ``Store.open`` raises."""
    once = {directory.resolve(): directory for directory in directories}
    return sorted(map(load_report, once.values()), key=lambda report: report.info.started_at)


def ordered(findings: Sequence[FindingRecord]) -> list[FindingRecord]:
    """Findings by what there is to do: open ones, known ones, then suspects; each by oracle, pass and id."""
    order = list(OracleName)
    return sorted(
        findings, key=lambda finding: (
            finding.suspect, finding.state is FindingState.KNOWN, order.index(OracleName(finding.oracle)),
            finding.culprit, finding.id,
        )
    )  # fmt: skip


def oracle_rows(tallies: Sequence[Tally]) -> list[OracleRow]:
    """One row an oracle, in the oracles' own order."""
    order = [str(name) for name in OracleName]
    names = sorted({str(tally.oracle) for tally in tallies}, key=order.index)
    return [_row(name, [tally for tally in tallies if str(tally.oracle) == name]) for name in names]


def pass_rows(tallies: Sequence[Tally], oracle: str) -> list[OracleRow]:
    """One row a pass, as one oracle judged it, sorted by name."""
    chosen = [tally for tally in tallies if str(tally.oracle) == oracle]
    names = sorted({tally.culprit for tally in chosen})
    return [_row(name, [tally for tally in chosen if tally.culprit == name]) for name in names]


def reason_rows(tallies: Sequence[Tally], limit: int | None = None) -> list[ReasonRow]:
    """Reasons of skips, rejects and invalid verdicts over all passes, most frequent first."""
    silent = (Outcome.SKIP, Outcome.REJECT, Outcome.INVALID)
    counts: Counter[tuple[str, Outcome, str]] = Counter()
    for tally in tallies:
        if tally.outcome in silent:
            counts[str(tally.oracle), Outcome(tally.outcome), tally.reason] += tally.count
    rows = [ReasonRow(oracle, outcome, reason, count) for (oracle, outcome, reason), count in counts.items()]
    rows.sort(key=lambda row: (-row.count, row.oracle, row.outcome.value, row.reason))
    return rows[:limit]


def _row(name: str, tallies: Sequence[Tally]) -> OracleRow:
    counts: Counter[str] = Counter()
    for tally in tallies:
        counts[str(tally.outcome)] += tally.count
    passed, failed, skipped, rejected, invalid = (
        counts[str(outcome)] for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.SKIP, Outcome.REJECT, Outcome.INVALID)
    )
    return OracleRow(name, passed, failed, skipped, rejected, invalid)


def percent(rate: float | None) -> str:
    """``99.98 %``, rounded down so that 100 % means no failure; ``-`` for ``None``."""
    # The millionth undoes binary fractions that lie just below their decimal.
    return "-" if rate is None else f"{math.floor(rate * 1e4 + 1e-6) / 1e2:.2f} %"


def duration(seconds: float) -> str:
    """``1 h 02 min``, ``10 min 05 s`` or ``42 s``."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"


def states_text(findings: Sequence[FindingRecord]) -> str:
    """``12 findings: 9 confirmed, 2 new, 1 known; 3 suspects: 2 unscripted, 1 flaky``, as far as there are any."""
    proven, suspects = apart(findings)
    told = _states("finding", proven, (FindingState.CONFIRMED, FindingState.NEW, FindingState.KNOWN))
    if suspects:
        told += f"; {_states('suspect', suspects, (FindingState.UNSCRIPTED, FindingState.FLAKY))}"
    return told


def _states(noun: str, findings: Sequence[FindingRecord], order: Sequence[FindingState]) -> str:
    counts = Counter(finding.state for finding in findings)
    parts = [f"{counts[state]} {state}" for state in order if counts[state]]
    return counted(len(findings), noun) + (f": {', '.join(parts)}" if parts else "")
