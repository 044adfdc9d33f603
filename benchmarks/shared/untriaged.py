"""Campaigns that look into no finding, and the processor time of a process with all that it has started."""

from __future__ import annotations

import psutil

from fuzzer.campaign.campaign import Campaign


class Untriaged(Campaign):
    """Looks into no finding: triage would take the time of some campaigns and not of others."""

    def _next_triage(self, shards_left: bool) -> str | None:
        return None


def processor_seconds() -> float:
    """Processor time of this process and its descendants, those that ended included."""
    total = 0.0
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
