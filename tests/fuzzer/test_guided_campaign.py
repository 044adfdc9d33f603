"""Campaigns with guidance: what the number of workers and an interruption may not change, and that it does guide."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from fuzzer.campaign import Campaign
from fuzzer.config import Config
from fuzzer.environment import installed
from fuzzer.preparation import open_campaign
from fuzzer.progress import Progress
from fuzzer.records import ShardResult
from fuzzer.store import Store
from oracles.verdict import OracleName

PASSES = ("CanonicalizeBindings", "DeadCodeElimination", "EliminateCommonSubexpr", "Normalize")
EPOCH = 1
EXAMPLES = 64 * 4


def config(workers: int, guidance: bool = True) -> Config:
    oracles = (OracleName.CRASH, OracleName.MUTATION)
    return Config(5, PASSES, (), oracles, EXAMPLES, None, workers, guidance=guidance, epoch=EPOCH)


class Stopper(Progress):
    """Ends the campaign after some pieces."""

    def __init__(self, config: Config, pieces: int) -> None:
        super().__init__(config)
        self.campaign: Campaign | None = None
        self._left = pieces

    def shard(self, result: ShardResult, fresh: list[str]) -> None:
        self._left -= 1
        if self._left == 0 and self.campaign is not None:
            # From another thread, as a signal would: shards under way are cut where they are.
            threading.Timer(0.05, self.campaign.stop).start()


def run(out: Path, config: Config, pieces: int = 0) -> str:
    with open_campaign(out, config, installed()).store as store:
        progress = Stopper(config, pieces)
        campaign = Campaign(store, config, progress)
        progress.campaign = campaign
        return campaign.run()


def substance(out: Path) -> dict[str, Any]:
    """All of a campaign that its seed and budget decide, guidance included."""
    with Store.open(out) as store:
        info, guide = store.info(), store.guide()
        return {
            "examples": info.examples, "modules": info.modules, "tallies": store.tallies(),
            "coverage": store.coverage(), "discarded": store.discarded(), "guide": guide.to_json(),
            "counts": guide.counts, "findings": [(each.id, each.count, each.case) for each in store.findings()],
            "pools": {epoch: pool for epoch, pool in store.pools().items() if epoch >= guide.epochs},
        }  # fmt: skip


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of one worker."""
    out = tmp_path_factory.mktemp("guided") / "one"
    assert run(out, config(1)) == "finished"
    return out


def test_guidance_guides(one: Path) -> None:
    with Store.open(one) as store:
        coverage, guide = store.coverage(), store.guide()
    assert coverage.outdone > 20
    assert coverage.neighbours + coverage.repeated > 0
    assert guide.epochs >= EXAMPLES // 64 - 1
    assert len(guide.kept) > 10


def test_workers_do_not_change_what_is_guided(one: Path, tmp_path: Path) -> None:
    assert run(tmp_path / "two", config(2)) == "finished"
    assert substance(tmp_path / "two") == substance(one)


def test_an_interrupted_campaign_goes_on_the_same(one: Path, tmp_path: Path) -> None:
    assert run(tmp_path / "out", config(2), pieces=1) == "interrupted"
    assert substance(tmp_path / "out")["examples"] < EXAMPLES
    assert run(tmp_path / "out", config(1)) == "finished"
    assert substance(tmp_path / "out") == substance(one)


def test_without_guidance_nothing_is_kept(tmp_path: Path) -> None:
    blind = Config(5, PASSES, (), (OracleName.CRASH,), 70, None, 1, guidance=False)
    assert run(tmp_path / "out", blind) == "finished"
    with Store.open(tmp_path / "out") as store:
        assert (store.guide().epochs, store.pools(), store.reports(range(9))) == (0, {}, [])
        assert store.coverage().neighbours == store.coverage().outdone == 0
        assert store.coverage().pairs
