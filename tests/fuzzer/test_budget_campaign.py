"""Campaigns whose budget follows the yield: that it does, and what workers and a kill may not change."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import budgeted
import pytest
from budgeted import EXAMPLES, PASSES, config, run

from fuzzer.budget import EVEN_SHARE, Budget
from fuzzer.config import ConfigError
from fuzzer.environment import installed
from fuzzer.known import KnownFinding, KnownFindings
from fuzzer.preparation import open_campaign
from fuzzer.store import Store


def substance(out: Path) -> dict[str, Any]:
    """All of a campaign that its seed and budget decide, the account of its passes included."""
    with Store.open(out) as store:
        account = store.account()
        return {
            "examples": store.info().examples, "tallies": store.tallies(), "coverage": store.coverage(),
            "findings": [(each.id, each.count, each.case) for each in store.findings()], "account": account,
            "shares": {epoch: shares for epoch, shares in store.shares().items() if epoch >= account.epochs},
            "yields": store.yields(range(EXAMPLES)),
        }  # fmt: skip


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of one worker."""
    out = tmp_path_factory.mktemp("budgeted") / "one"
    assert run(out, config(1)) == "finished"
    return out


def test_shares_follow_the_yield(one: Path, tmp_path: Path) -> None:
    there = substance(one)
    account, shares = there["account"], there["shares"]
    assert account.epochs == EXAMPLES // 64
    assert account.seen == {each for each, _, _ in there["findings"]}
    last = shares[max(shares)]
    assert set(last) == set(PASSES)
    assert max(last.values()) > EVEN_SHARE > min(last.values())
    assert there["yields"] == [], "what an epoch has counted is not kept"
    assert run(tmp_path / "even", config(1, Budget.EVEN)) == "finished"
    even = substance(tmp_path / "even")
    assert even["coverage"].judged != there["coverage"].judged
    assert (even["account"].epochs, even["shares"], even["yields"]) == (0, {}, [])


def test_workers_do_not_change_what_is_drawn(one: Path, tmp_path: Path) -> None:
    assert run(tmp_path / "two", config(2)) == "finished"
    assert substance(tmp_path / "two") == substance(one)


def test_a_killed_campaign_goes_on_the_same(one: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for epochs in (1, 3):
        with subprocess.Popen([sys.executable, budgeted.__file__, str(out)], stderr=subprocess.DEVNULL) as session:
            deadline = time.monotonic() + 300
            while epochs_of(out) < epochs:
                assert session.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            session.kill()
    assert substance(out)["examples"] < EXAMPLES
    assert run(out, config(1)) == "finished"
    assert substance(out) == substance(one)


def epochs_of(out: Path) -> int:
    if not (out / "campaign.sqlite").exists():
        return 0
    with Store.open(out) as store:
        return store.account().epochs


def test_known_findings_are_no_yield(one: Path, tmp_path: Path) -> None:
    entries = tuple(KnownFinding(each, "", "issue 7", "w") for each, _, _ in substance(one)["findings"])
    assert run(tmp_path / "out", config(2), KnownFindings(entries)) == "finished"
    there = substance(tmp_path / "out")
    listed = {entry.exact for entry in entries}
    news = sum(found for found in there["account"].found.values())
    assert there["account"].seen >= listed & {each for each, _, _ in there["findings"]}
    assert news <= len(there["account"].seen - listed)


def test_another_budget_is_another_campaign(one: Path) -> None:
    with pytest.raises(ConfigError, match="with --budget yield"):
        open_campaign(one, config(1, Budget.EVEN), installed())
