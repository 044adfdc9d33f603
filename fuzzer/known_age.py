"""Entries of the known findings that somebody should look at again: expired, out of their range of releases, stale.

An entry that no longer fits is a hole in the gate: it excuses whatever comes to look like it.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fuzzer.decisions import Decisions
from fuzzer.known import KnownFinding, KnownFindings

if TYPE_CHECKING:
    from fuzzer.records import FindingRecord
    from fuzzer.store import Store

STALE_AFTER = 5
"""Campaigns that covered a pass without a hit, after which an entry is stale."""
_JUDGED = ("pass", "fail")


class Fault(str, enum.Enum):
    """What is wrong with an entry; the names are those of a policy's ``[known_entries]``."""

    EXPIRED = "expired"
    OUT_OF_RANGE = "out_of_range"
    STALE = "stale"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class EntryFault:
    """An entry and what is wrong with it, in one line."""

    entry: KnownFinding
    fault: Fault
    text: str


@dataclass(frozen=True, slots=True)
class Met:
    """A finding as far as entries name it: id, signature, family, culprit, and the cases that showed it."""

    id: str
    signature: str
    family: str
    culprit: str
    count: int


@dataclass(frozen=True, slots=True)
class CampaignSeen:
    """What a campaign says of entries.

    Attributes:
        started_at: When it began, ISO 8601.
        tvm_version: Which TVM it tested.
        checks: Passes and failures by pass.
        met: Its findings.
    """

    started_at: str
    tvm_version: str
    checks: Mapping[str, int] = field(default_factory=dict)
    met: tuple[Met, ...] = ()

    def hits(self, entry: KnownFinding) -> int:
        """Cases that showed what the entry names."""
        return sum(each.count for each in self.met if entry.matches(each.id, each.signature, each.family))


def campaign_seen(store: Store, decisions: Decisions | None = None) -> CampaignSeen:
    """What a campaign says of entries; ``decisions`` say which family a finding is in."""
    info = store.info()
    checks: dict[str, int] = {}
    for tally in store.tallies():
        if tally.outcome in _JUDGED:
            checks[tally.culprit] = checks.get(tally.culprit, 0) + tally.count
    met = tuple(_met(finding, decisions or Decisions()) for finding in store.findings())
    return CampaignSeen(info.started_at, info.tvm_version, checks, met)


def _met(finding: FindingRecord, decisions: Decisions) -> Met:
    placed = decisions.place(finding.id, finding.family)
    return Met(finding.id, finding.signature, placed.id, finding.culprit, finding.count)


def expired(known: KnownFindings, today: datetime.date) -> tuple[KnownFinding, ...]:
    """Entries whose day has come."""
    return tuple(entry for entry in known.entries if entry.expires is not None and entry.expires <= today)


def out_of_range(known: KnownFindings, tvm_version: str) -> tuple[KnownFinding, ...]:
    """Entries that do not speak of a release."""
    return tuple(entry for entry in known.entries if not entry.concerns(tvm_version))


def stale_entries(
    known: KnownFindings, campaigns: Sequence[CampaignSeen], least: int = STALE_AFTER
) -> tuple[KnownFinding, ...]:
    """Entries that the last ``least`` campaigns which could have met them did not meet.

    A campaign could have met an entry when it tested a release that the entry speaks of, and judged its pass: the pass
    that the entry names, or that any of ``campaigns`` met it in; for an entry of which neither is known, any pass.
    """
    ordered = sorted(campaigns, key=lambda each: each.started_at)
    return tuple(entry for entry in known.entries if _is_stale(entry, ordered, least))


def _is_stale(entry: KnownFinding, campaigns: Sequence[CampaignSeen], least: int) -> bool:
    passes = {entry.culprit} if entry.culprit else _passes(entry, campaigns)
    able = [
        each
        for each in campaigns
        if entry.concerns(each.tvm_version)
        and (any(each.checks.get(name) for name in passes) if passes else any(each.checks.values()))
    ]
    return least > 0 and len(able) >= least and not any(each.hits(entry) for each in able[-least:])


def _passes(entry: KnownFinding, campaigns: Sequence[CampaignSeen]) -> set[str]:
    return {
        met.culprit
        for each in campaigns
        for met in each.met
        if entry.matches(met.id, met.signature, met.family)
    }  # fmt: skip


def entry_faults(
    known: KnownFindings,
    today: datetime.date,
    tvm_version: str,
    campaigns: Sequence[CampaignSeen] = (),
    least: int = STALE_AFTER,
) -> list[EntryFault]:
    """Everything that is wrong with entries, in the order of the file.

    Args:
        known: The entries.
        today: ``fuzzer.clock.today()``.
        tvm_version: The release that is tested now.
        campaigns: Earlier campaigns and the one at hand; without any, nothing is stale.
        least: Campaigns without a hit that make an entry stale.
    """
    old, other, stale = expired(known, today), out_of_range(known, tvm_version), stale_entries(known, campaigns, least)
    found = []
    for entry in known.entries:
        where = f"known '{entry.name}' ({entry.reference})"
        if entry in old:
            found.append(EntryFault(entry, Fault.EXPIRED, f"{where} expired on {entry.expires}"))
        if entry in other:
            found.append(EntryFault(entry, Fault.OUT_OF_RANGE, f"{where} does not speak of TVM {tvm_version}"))
        if entry in stale:
            text = f"{where} was not met by the last {least} campaigns that tested its pass"
            found.append(EntryFault(entry, Fault.STALE, text))
    return found
