"""Entries of the known findings that somebody should look at again: expired, out of their range of releases, stale.

An entry that no longer fits is a hole in the gate: it excuses whatever comes to look like it.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Sequence

from fuzzer.findings.file import KnownFinding
from fuzzer.gate.measured import MeasuredCampaign
from fuzzer.gate.policy import STALE_AFTER, Policy, Weight
from fuzzer.gate.ruling import Requirement, Ruling, RulingStatus
from relaxkit.text_enum import TextEnum


class Fault(TextEnum):
    """Faults of an entry; the names are those of a policy's ``[known_entries]``."""

    EXPIRED = "expired"
    OUT_OF_RANGE = "out_of_range"
    STALE = "stale"


def entry_rulings(
    policy: Policy, measured: MeasuredCampaign, history: Sequence[MeasuredCampaign], day: datetime.date
) -> list[Ruling]:
    """Make a ruling for each entry that is expired, out of its range of releases, stale, or was not seen."""
    rulings = []
    faulty = set()
    for entry in policy.known.entries:
        for fault, text in entry_faults(entry, day, measured, history, policy.entries.stale_after):
            faulty.add(entry)
            status = RulingStatus.FAIL if getattr(policy.entries, fault.value) is Weight.FAIL else RulingStatus.NOTE
            rulings.append(_ruling(status, policy, entry, text))
    for entry in policy.known.unseen(each.names for each in measured.seen):
        if entry not in faulty:
            rulings.append(_ruling(RulingStatus.NOTE, policy, entry, "did not occur"))
    return rulings


def _ruling(status: RulingStatus, policy: Policy, entry: KnownFinding, text: str) -> Ruling:
    file = "the policy" if policy.known_file is None else policy.known_file.name
    return Ruling(status, Requirement.ENTRY, f"the entry for {entry.name} in {file} ({entry.where})", text)


def entry_faults(
    entry: KnownFinding,
    day: datetime.date,
    measured: MeasuredCampaign,
    history: Sequence[MeasuredCampaign] = (),
    least: int = STALE_AFTER,
) -> Iterator[tuple[Fault, str]]:
    """Find everything that is wrong with an entry, and say it in a line each.

    Args:
        entry: The entry.
        day: ``fuzzer.gate.entries.today()``.
        measured: The campaign at hand.
        history: Earlier campaigns.
        least: Campaigns without a hit that make an entry stale.
    """
    if told := expiry(entry, day):
        yield Fault.EXPIRED, told
    if not entry.concerns(measured.info.tvm_version):
        yield Fault.OUT_OF_RANGE, f"does not apply to TVM {measured.info.tvm_version}"
    if is_stale(entry, [*history, measured], least):
        yield Fault.STALE, f"did not occur in the last {least} campaigns that tested its pass"


def expiry(entry: KnownFinding, day: datetime.date) -> str:
    """Say when an entry expired; empty where it has not."""
    return f"expired on {entry.expires}" if entry.expires is not None and entry.expires <= day else ""


def is_stale(entry: KnownFinding, campaigns: Sequence[MeasuredCampaign], least: int) -> bool:
    """Say whether the last ``least`` campaigns which could have met an entry did not meet it.

    A campaign could have met an entry when it tested a release that the entry speaks of, and judged its pass: the pass
    that the entry names, or that any of ``campaigns`` met it in; for an entry of which neither is known, any pass.
    """
    hits = [[each for each in campaign.seen if entry.matches(*each.names)] for campaign in campaigns]
    passes = {entry.culprit} if entry.culprit else {each.culprit for seen in hits for each in seen}
    able = [
        (campaign.info.started_at, bool(seen))  # what triage alone met has no count
        for campaign, seen in zip(campaigns, hits, strict=True)
        if entry.concerns(campaign.info.tvm_version)
        and any(cell.checks for (_, name), cell in campaign.cells.items() if not passes or name in passes)
    ]
    return len(able) >= least and not any(met for _, met in sorted(able)[-least:])


TODAY = "RELAXFUZZ_TODAY"
"""Environment variable that stands for today's date, ``2027-03-01``: so a test need not wait for it."""


def today() -> datetime.date:
    """Today, in UTC; raises ``ValueError`` when :data:`TODAY` is set to something else than a date."""
    given = os.environ.get(TODAY)
    if given is None:
        return datetime.datetime.now(datetime.timezone.utc).date()
    try:
        return datetime.date.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{TODAY} is '{given}', not a date such as 2027-03-01") from None
