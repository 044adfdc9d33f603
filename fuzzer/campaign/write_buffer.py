"""The ledger: results of shards that wait to be recorded together, since most of what they count is the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fuzzer.store.records import ShardResult, total_of
from fuzzer.store.writer import Store

WAIT_SECONDS = 1.0
"""Between two transactions.  So much of a campaign is judged again when its process is killed, beside the pieces of
shards under way, which are all but always more; a campaign of few cases a second records each piece as it comes."""


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """Results that were recorded together.

    Attributes:
        results: The pieces of shards, in the order in which they came.
        total: What they count together.
        fresh: Ids of the findings that are new.
    """

    results: tuple[ShardResult, ...]
    total: ShardResult
    fresh: tuple[str, ...]


class WriteBuffer:
    """Results that are not recorded yet, of one campaign.

    Args:
        store: Where they are recorded.
        clock: Seconds.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._written = clock() - WAIT_SECONDS
        self._waiting: list[ShardResult] = []
        self._seen = store.finding_ids()  # recorded findings
        self._news = False  # a finding waits that is not recorded

    def add(self, result: ShardResult) -> None:
        """A piece of a shard has come; the pieces of one shard in order."""
        self._waiting.append(result)
        self._news = self._news or not self._seen.issuperset(result.hits)

    @property
    def due(self) -> bool:
        """Say whether to write now: triage learns of a new finding at once, everything else may wait a little."""
        return bool(self._waiting) and (self._news or self._clock() - self._written >= WAIT_SECONDS)

    def write(self, elapsed: float) -> WrittenBatch | None:
        """Record all that waits, or nothing; ``None``: nothing waits. ``elapsed``: campaign time in s.

        Raises:
            StoreError: when it cannot be written.
        """
        if not self._waiting:
            return None
        results = tuple(self._waiting)
        total = total_of(results)
        fresh = self._store.record_shards(results, total, elapsed)
        self._waiting.clear()
        self._written, self._news = self._clock(), False
        self._seen.update(total.hits)
        return WrittenBatch(results, total, tuple(fresh))
