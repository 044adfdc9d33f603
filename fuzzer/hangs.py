"""Time limits for cases that hang: each costs its limit, and triage judges dozens of them.

The slowest honest case seen took 3 s, on a loaded machine (``fuzzer.isolation.DEFAULT_TIME_LIMIT``).  A hang is
recorded, and confirmed in the end, at the campaign's full limit.  In between shorter limits suffice, because what they
let pass wrongly the full limit refuses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.minimizer.search import Limits

if TYPE_CHECKING:
    from oracles.verdict import Verdict

AGAIN_SECONDS = 6.0
"""Limit of the further runs of a confirmation: twice the slowest honest case."""
SEARCH_SECONDS = 4.0
"""Limit of a candidate while minimizing: should an honest one be taken for a hang, the confirmation tells."""
SEARCH_QUERIES = 60
"""Most candidates while minimizing: they are what the time of the search allows if every fifth one hangs."""
KIND = "hang"


def is_hang(verdict: Verdict) -> bool:
    """Whether the failure is that a case did not end."""
    return verdict.evidence is not None and verdict.evidence.kind == KIND


def confirmation_seconds(verdict: Verdict | None, seconds: float, runs: int) -> tuple[float, ...]:
    """Time limit of each run of a confirmation in s; the last is always the full one."""
    if verdict is None or not is_hang(verdict):
        return (seconds,) * runs
    return (min(seconds, AGAIN_SECONDS),) * (runs - 1) + (seconds,) * min(runs, 1)


def search_seconds(verdict: Verdict, seconds: float) -> float:
    """Time limit of a candidate while minimizing in s."""
    return min(seconds, SEARCH_SECONDS) if is_hang(verdict) else seconds


def search_limits(verdict: Verdict, limits: Limits) -> Limits:
    """Limits of the search."""
    return replace(limits, queries=min(limits.queries, SEARCH_QUERIES)) if is_hang(verdict) else limits
