"""Which shares of the draws the passes get in each epoch of a campaign (``fuzzer.budget``).

Runs in the campaign's process, between shards, as guidance does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fuzzer.budget import Account, Budget, Yield
from fuzzer.budget_store import PieceYield
from fuzzer.config import Config
from fuzzer.pool import LAG, epoch_of
from fuzzer.records import ShardResult
from fuzzer.store import Store

PIPELINE = "pipeline"
"""What pipelines are counted under (``oracles.subject.PIPELINE``, which brings TVM along)."""

EVEN: Mapping[str, int] = {}
"""Shares that leave the even weights as they are."""


class Allotment:
    """The shares of one campaign.

    Args:
        store: Opened for writing.
        config: Of the campaign.
        known: Whether the finding of an id was known before; it must not depend on what triage has found out, since
            nobody can tell when that comes.

    Attributes:
        follows: Whether shares follow the yield at all.
    """

    def __init__(self, store: Store, config: Config, known: Callable[[str], bool]) -> None:
        self.follows = config.budget is Budget.YIELD
        self._store = store
        self._config = config
        self._known = known
        self._account = store.account() if self.follows else Account()
        self._shares: dict[int, Mapping[str, int]] = dict(store.shares()) if self.follows else {}

    def of(self, shard: int) -> Mapping[str, int] | None:
        """The shares for a shard; ``None`` when they are not decided yet."""
        epoch = epoch_of(shard, self._config.epoch)
        return EVEN if not self.follows or epoch < LAG else self._shares.get(epoch)

    def told(self, results: Sequence[ShardResult]) -> list[PieceYield]:
        """What pieces of shards gave, as far as it may count; nothing where shares do not follow it."""
        return [(each.number, each.first, self._yield(each)) for each in results] if self.follows else []

    def _yield(self, result: ShardResult) -> Yield:
        # What an epoch has counted is new no more: the cases of all other sightings stay closed.
        fresh = {each: hit.case.passes for each, hit in result.hits.items() if each not in self._account.seen}
        shown = {each: PIPELINE if len(passes) > 1 else passes[0].name for each, passes in fresh.items()}
        return Yield(dict(result.coverage.judged), shown)

    def learn(self, settled: int) -> None:
        """Count all epochs whose shards are below ``settled``."""
        size = self._config.epoch
        while self.follows and (self._account.epochs + 1) * size <= settled:
            shards = range(self._account.epochs * size, (self._account.epochs + 1) * size)
            account = self._account.after(self._store.yields(shards), self._known)
            epoch, oldest = account.epochs + LAG - 1, epoch_of(settled, size)
            shares = account.shares(self._config.passes)
            self._store.save_account(account, shards, epoch, shares, oldest)
            self._account = account
            self._shares = {each: kept for each, kept in self._shares.items() if each >= oldest} | {epoch: shares}
