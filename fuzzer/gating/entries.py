"""Entries of the known findings that somebody should look at again."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence

from fuzzer.gating.measured import Measured
from fuzzer.gating.rules import Policy, Weight
from fuzzer.gating.ruling import Demand, Ruling, Word
from fuzzer.known_age import CampaignSeen, EntryFault, Met, entry_faults


def entry_rulings(policy: Policy, measured: Measured, history: Sequence[Measured], day: datetime.date) -> list[Ruling]:
    """A ruling for each entry that is expired, out of its range of releases, stale, or was not seen."""
    campaigns = [_campaign_seen(each) for each in (*history, measured)]
    faults = entry_faults(policy.known, day, measured.info.tvm_version, campaigns, policy.stale_after)
    rulings = [_ruling(policy, fault) for fault in faults]
    said = {fault.entry for fault in faults}
    for entry in policy.known.unseen((each.id, each.signature, each.family) for each in measured.seen):
        if entry not in said:
            told = f"was not seen ({entry.reference})"
            rulings.append(Ruling(Word.NOTE, Demand.ENTRY, f"known '{entry.name}'", told))
    return rulings


def _ruling(policy: Policy, fault: EntryFault) -> Ruling:
    word = Word.FAIL if policy.entries.get(fault.fault.value) is Weight.FAIL else Word.NOTE
    subject = f"known '{fault.entry.name}'"
    return Ruling(word, Demand.ENTRY, subject, fault.text.removeprefix(subject).strip())


def _campaign_seen(measured: Measured) -> CampaignSeen:
    checks: Counter[str] = Counter()
    for (_, culprit), cell in measured.cells.items():
        checks[culprit] += cell.checks
    met = tuple(Met(each.id, each.signature, each.family, each.culprit, each.count) for each in measured.seen)
    return CampaignSeen(measured.info.started_at, measured.info.tvm_version, checks, met)
