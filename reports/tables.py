"""The rows of all reports: what is counted of verdicts and findings, computed once and rendered by each format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fuzzer.core.coverage import Coverage
from fuzzer.core.terminal import bars
from fuzzer.core.text import Standing, by_standing, counted, times
from fuzzer.store.grouping import blind, noted
from fuzzer.store.known import KnownAs, compared, ordered, recognize, state_of
from fuzzer.store.records import Cost
from fuzzer.store.timeline import Timeline
from fuzzer.store.writer import CampaignInfo, FindingRecord, FindingState, Store, Tally
from oracles.core.verdict import NOT_ASKED, Agreement, Outcome
from relaxkit.files import resolved
from relaxkit.passes.contract import OracleName


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is read from a campaign, at one moment.

    Attributes:
        directory: The campaign's directory.
        info: What was run.
        tallies: Verdicts by oracle, pass, outcome and reason.
        findings: One record a signature, the gravest first; questions and suspects are among them, behind the rest.
        features: Modules by feature that they had.
        coverage: What was generated, and what the passes did with it.
        timeline: How it went over time.
        costs: What findings took, by id.
        recognized: What people know of findings, by id.
        blocks: Cases, and blocks of the compiler that they had reached; empty where nobody watched.
        notes: What users' passes do of which no contract speaks, and what of them never ran.
    """

    directory: Path
    info: CampaignInfo
    tallies: Sequence[Tally]
    findings: Sequence[FindingRecord]
    features: Mapping[str, int] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=Coverage)
    timeline: Timeline = field(default_factory=Timeline)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    recognized: Mapping[str, KnownAs] = field(default_factory=dict)
    blocks: Sequence[tuple[int, int]] = ()
    notes: Sequence[str] = ()

    @property
    def blind(self) -> str:
        """Why most cases could not be judged; empty where most could."""
        return blind(self.tallies)

    @property
    def known(self) -> KnownCost:
        """Cost of known findings."""
        spent = sum(self.timeline.spent.values()) or self.info.elapsed_seconds * self.info.workers
        return known_cost(self.findings, self.costs, spent)


@dataclass(frozen=True, slots=True)
class KnownCost:
    """The cost of known findings to a campaign, although they are cut short.

    Attributes:
        findings: Findings that are listed.
        hits: Cases that showed one, each finding counted for itself.
        seconds: Workers' seconds that judging these cases and looking into these findings took.
        total: Workers' seconds of the campaign.
    """

    findings: int
    hits: int
    seconds: float
    total: float

    @property
    def share(self) -> float:
        """Share of the campaign's time, 0 to 1."""
        return min(1.0, self.seconds / self.total) if self.total > 0 else 0.0

    @property
    def text(self) -> str:
        """One line for the summary."""
        return (
            f"Findings known at the start: {self.findings}, found {times(self.hits)}, took "
            f"{100 * self.share:.1f}% of the time ({self.seconds:.0f} s)"
        )

    def to_object(self) -> dict[str, object]:
        """Return the values for JSON."""
        return {
            "findings": self.findings, "hits": self.hits, "seconds": round(self.seconds, 3),
            "share": round(self.share, 6),
        }  # fmt: skip


def known_cost(findings: Sequence[FindingRecord], costs: Mapping[str, Cost], total: float) -> KnownCost:
    """Compute what known findings took of ``total`` seconds of workers."""
    known = [finding for finding in findings if finding.state is FindingState.KNOWN]
    seconds = sum(costs[finding.id].seconds for finding in known if finding.id in costs)
    return KnownCost(len(known), sum(finding.count for finding in known), seconds, total)


ORACLE_COLUMNS = ("oracle", "pass", "fail", "pass rate", "skip", "reject", "invalid")
"""Names of the columns of :attr:`OracleRow.values`."""


@dataclass(frozen=True, slots=True)
class OracleRow:
    """Verdicts of one oracle, or of one oracle on one pass.

    Attributes:
        name: The oracle or the pass.
        counts: Number of verdicts of each outcome, in the order of ``Outcome``.
    """

    name: str
    counts: Mapping[Outcome, int]

    @property
    def passed(self) -> int:
        """Number of verdicts that passed."""
        return self.counts[Outcome.PASS]

    @property
    def failed(self) -> int:
        """Number of verdicts that failed."""
        return self.counts[Outcome.FAIL]

    @property
    def rate(self) -> float | None:
        """Pass rate, pass / (pass + fail), failures of what is known or suspect included; ``None`` without any."""
        checks = self.passed + self.failed
        return self.passed / checks if checks else None

    @property
    def values(self) -> tuple[object, ...]:
        """The values of ``ORACLE_COLUMNS``."""
        passed, failed, *others = self.counts.values()
        return self.name, passed, failed, self.rate, *others

    @property
    def cells(self) -> tuple[object, ...]:
        """The values of ``ORACLE_COLUMNS``, the rate in percent."""
        name, passed, failed, _, *others = self.values
        return name, passed, failed, percent(self.rate), *others


class ReasonRow(NamedTuple):
    """Why verdicts of one oracle judged nothing.

    Attributes:
        oracle: The oracle.
        outcome: ``skip``, ``reject`` or ``invalid``.
        reason: The reason's text.
        number: Number of verdicts.
    """

    oracle: str
    outcome: str
    reason: str
    number: int


def load_report(directory: Path) -> Report:
    """Read a finished or running campaign; raises what ``Store.open`` raises."""
    store = Store.open(directory, read_only=True)
    try:
        findings, tallies = store.findings(), store.tallies()
        known = recognize(findings)
        findings = ordered(findings, known)
        coverage = store.coverage()
        return Report(
            directory, store.info(), tallies, compared(findings, known), store.features(),
            coverage, store.timeline(), store.costs(), known,
            store.reached_by_cases(), noted(tallies, store.lines(), coverage),
        )  # fmt: skip
    finally:
        store.close()


def load_reports(directories: Sequence[Path]) -> list[Report]:
    """Read several campaigns, each once, the one that was started first first; raises what ``Store.open`` raises."""
    once = {resolved(directory): directory for directory in directories}
    with bars() as bar:
        found = [load_report(each) for each in bar.track(list(once.values()), description="campaigns")]
    return sorted(found, key=lambda report: report.info.started_at)


def comparable(reports: Sequence[Report]) -> tuple[list[Report], list[Report]]:
    """Return the campaigns that tested the same passes as the last one, and the others."""
    passes = set(reports[-1].info.passes)
    alike = [report for report in reports if set(report.info.passes) == passes]
    return alike, [report for report in reports if report not in alike]


def oracle_rows(tallies: Sequence[Tally]) -> list[OracleRow]:
    """Count verdicts: one row an oracle, in the oracles' own order."""
    order = [str(name) for name in OracleName]
    return [_row(name, each) for name, each in sorted(grouped(tallies, "oracle"), key=lambda row: order.index(row[0]))]


def pass_rows(tallies: Sequence[Tally], oracle: str) -> list[OracleRow]:
    """Count verdicts of one oracle: one row a pass, sorted by name."""
    chosen = [tally for tally in tallies if tally.oracle == oracle]
    return [_row(name, each) for name, each in sorted(grouped(chosen, "culprit"))]


def reason_rows(tallies: Sequence[Tally], limit: int | None = None) -> list[ReasonRow]:
    """Count reasons of skips, rejects and invalid verdicts over all passes, most frequent first.

    What the shares of a campaign have left out comes last: nothing was the matter with it.
    """
    silent = (Outcome.SKIP, Outcome.REJECT, Outcome.INVALID)
    counts: Counter[tuple[str, str, str]] = Counter()
    for tally in tallies:
        if tally.outcome in silent:
            counts[str(tally.oracle), str(tally.outcome), tally.reason] += tally.count
    rows = [ReasonRow(*what, number) for what, number in counts.items()]
    return sorted(rows, key=lambda row: (row.reason == NOT_ASKED, -row.number, *row[:3]))[:limit]


def agreements(tallies: Sequence[Tally]) -> dict[Agreement, int]:
    """Count how the numeric oracle came to say that results agree, the strongest way first."""
    counts = dict.fromkeys(Agreement, 0)
    ways = {way.value: way for way in Agreement}
    for tally in tallies:
        if tally.outcome == Outcome.PASS and tally.reason in ways:  # a store may say more than this version knows
            counts[ways[tally.reason]] += tally.count
    return counts


def agreements_text(tallies: Sequence[Tally]) -> str:
    """Write ``Results agree: 812 proved for all inputs, 31 interpreted, 120 executed``; empty without any."""
    counts = agreements(tallies)
    if not any(counts.values()):
        return ""
    proved, *others = counts.items()
    tried = "".join(f", {count} {way}" for way, count in others)
    return f"Results agree: {proved[1]} proved for all inputs{tried}"


def grouped(records: Iterable[Any], attribute: str) -> Iterable[tuple[str, list[Any]]]:
    """Group tallies or findings by an attribute."""
    groups: dict[str, list[Any]] = {}
    for each in records:
        groups.setdefault(str(getattr(each, attribute)), []).append(each)
    return groups.items()


def _row(name: str, tallies: Sequence[Tally]) -> OracleRow:
    counts = dict.fromkeys(Outcome, 0)
    for tally in tallies:
        counts[Outcome(tally.outcome)] += tally.count
    return OracleRow(name, counts)


def percent(rate: float | None) -> str:
    """Write a rate as ``99.98%``, rounded down so that 100% means no failure; ``-`` for ``None``."""
    # The millionth undoes binary fractions that lie just below their decimal.
    return "-" if rate is None else f"{math.floor(rate * 1e4 + 1e-6) / 1e2:.2f}%"


def duration(seconds: float) -> str:
    """Write seconds as ``1 h 02 min``, ``10 min 05 s`` or ``42 s``."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"


def states_text(findings: Sequence[FindingRecord], known: Mapping[str, KnownAs]) -> str:
    """Write ``12 findings: 9 confirmed, 2 untriaged, 1 known; 2 questions; 3 suspects: 1 flaky``, without zeros."""
    parts = by_standing(findings)
    proven, suspects = parts[Standing.FINDING], parts[Standing.SUSPECT]
    text = _states("finding", proven, known, (FindingState.CONFIRMED, FindingState.NEW, FindingState.KNOWN))
    if parts[Standing.QUESTION]:
        text += f"; {counted(len(parts[Standing.QUESTION]), 'question')}"
    if suspects:
        text += f"; {_states('suspect', suspects, known, (FindingState.UNSCRIPTED, FindingState.FLAKY))}"
    return text


def severities_text(findings: Sequence[FindingRecord]) -> str:
    """Write how many findings there are of each severity, ``3 S1, 2 S1?, 9 S3``; empty for none."""
    counts = Counter(each.assessment.grade for each in by_standing(findings)[Standing.FINDING])
    return ", ".join(f"{counts[grade]} {grade}" for grade in sorted(counts))


def _states(
    noun: str, findings: Sequence[FindingRecord], known: Mapping[str, KnownAs], order: Sequence[FindingState]
) -> str:
    counts = Counter(state_of(finding, known.get(finding.id)) for finding in findings)
    parts = [f"{counts[state]} {state}" for state in order if counts[state]]
    return counted(len(findings), noun) + (f": {', '.join(parts)}" if parts else "")
