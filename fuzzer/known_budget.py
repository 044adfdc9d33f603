"""What known findings cost a campaign: they are cut short, and how much they take all the same is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fuzzer.finding_store import Cost
from fuzzer.records import FindingRecord, FindingState


@dataclass(frozen=True, slots=True)
class KnownBudget:
    """What known findings took.

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
            f"Known findings: {self.findings}, met {self.hits} times, took {100 * self.share:.1f} % of the time "
            f"({self.seconds:.0f} s)"
        )

    def to_object(self) -> dict[str, object]:
        """For programs."""
        return {
            "findings": self.findings, "hits": self.hits, "seconds": round(self.seconds, 3),
            "share": round(self.share, 6),
        }  # fmt: skip


def known_budget(findings: Sequence[FindingRecord], costs: Mapping[str, Cost], total: float) -> KnownBudget:
    """What known findings took of ``total`` seconds of workers."""
    known = [finding for finding in findings if finding.state is FindingState.KNOWN]
    seconds = sum(costs[finding.id].seconds for finding in known if finding.id in costs)
    return KnownBudget(len(known), sum(finding.count for finding in known), seconds, total)
