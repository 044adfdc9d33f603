"""Shares of oracles: what was never found is asked seldom, nothing never, and what is left out is counted."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest
import tvm

from fuzzer.core.config import Config, ConfigError, parse_switch
from fuzzer.gate.measured import GateSubject, measured
from fuzzer.shard import shares
from fuzzer.shard.shard import ExampleDone, ShardTask, run_shard
from fuzzer.shard.shares import SCRIPT, SELDOM, History, not_asked, share_of
from fuzzer.store.records import Tally
from oracles.core.subject import PIPELINE
from oracles.core.verdict import NOT_ASKED, Outcome
from oracles.structural.roundtrip import draws_script
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef

NAMES = ("DeadCodeElimination", "FoldConstant", "LambdaLift", PIPELINE)
SEED = next(seed for seed in range(1, 99) if not draws_script(seed))


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a test say what was found."""

    def found(tvm_version: str = tvm.__version__, **failed: set[str]) -> None:
        rows = {OracleName(name): frozenset(passes) for name, passes in failed.items()}
        past = History(tvm_version, frozenset(NAMES), rows)
        monkeypatch.setattr(shares, "recorded", lambda: past)
        share_of.cache_clear()

    yield found
    share_of.cache_clear()


def refs(*names: str) -> tuple[PassRef, ...]:
    return tuple(PassRef(name, f"relax.transform.{name}()") for name in names)


def test_what_failed_is_asked_always_and_the_rest_seldom_but_never_not_at_all(history: Any) -> None:
    history(locality={"LambdaLift"})
    assert share_of(OracleName.LOCALITY, ("LambdaLift",)) == 1
    assert share_of(OracleName.LOCALITY, ("DeadCodeElimination",)) == SELDOM
    assert share_of(OracleName.CRASH, ("DeadCodeElimination",)) == 1
    assert 0 < share_of(OracleName.LOCALITY, ("FoldConstant",)) < SELDOM  # costly
    assert 0 < share_of(OracleName.LOCALITY, ("LambdaLift", "DeadCodeElimination")) < SELDOM


def test_passes_without_history_and_those_of_users_are_asked_everything(history: Any) -> None:
    history()
    assert share_of(OracleName.LOCALITY, ("FuseOps",)) == 1
    assert share_of(OracleName.LOCALITY, ("LambdaLift", "FuseOps")) == 1
    own = (PassRef("mine", "user:passes.py:mine"),)
    assert all(not not_asked((1, 2, index), own, SEED, tuple(OracleName)) for index in range(64))


def test_another_release_than_that_of_the_history_is_asked_more_often(history: Any) -> None:
    history("0.1")
    assert SELDOM < share_of(OracleName.LOCALITY, ("LambdaLift",)) < 1


def test_the_draw_is_the_same_each_time_one_for_all_oracles_and_as_frequent_as_said(history: Any) -> None:
    history(environment={"LambdaLift"})
    left = [not_asked((7, 3, index), refs("LambdaLift"), SEED, tuple(OracleName)) for index in range(3200)]
    assert left == [not_asked((7, 3, index), refs("LambdaLift"), SEED, tuple(OracleName)) for index in range(3200)]
    count = Counter(name for each in left for name in each)
    assert len(set(left)) == 2  # all that is asked seldom, or nothing
    assert count[OracleName.LOCALITY] / 3200 == pytest.approx(1 - SELDOM, abs=0.02)
    assert not count[OracleName.ENVIRONMENT] + count[OracleName.CRASH] + count[OracleName.WELL_FORMED]


def test_a_drawn_script_is_parsed_more_often(history: Any) -> None:
    history()
    seed = next(seed for seed in range(1, 999) if draws_script(seed))
    left = [not_asked((7, 3, index), refs("LambdaLift"), seed, tuple(OracleName)) for index in range(3200)]
    assert sum(OracleName.ROUNDTRIP in each for each in left) / 3200 == pytest.approx(1 - SCRIPT, abs=0.03)


def test_the_recorded_history_names_passes_under_contract_and_oracles_that_are() -> None:
    past = shares.recorded()
    assert past.passes <= {*CONTRACTS, PIPELINE}
    assert all(passes <= past.passes | {*CONTRACTS} for passes in past.failed.values())
    assert len(past.passes) > 70


def test_a_shard_counts_what_was_not_asked_and_asks_all_without_shares(history: Any) -> None:
    history()
    oracles = (OracleName.CRASH, OracleName.IDEMPOTENCE)

    def tallies(on: bool) -> Counter[tuple[str, bool]]:
        config = Config(5, ("DeadCodeElimination", "LambdaLift"), (), oracles, None, 1.0, 1, shares=on)
        done = [each for each in run_shard(ShardTask(config, 0, limit=24)) if isinstance(each, ExampleDone)]
        rows = [tally for each in done for tally in each.tallies]
        assert len(rows) == 2 * len(done)
        return Counter((oracle, reason == NOT_ASKED) for oracle, _, _, reason in rows)

    with_shares, without = tallies(on=True), tallies(on=False)
    assert with_shares["idempotence", True] > with_shares["idempotence", False]
    assert not with_shares["crash", True] + without["idempotence", True] + without["crash", True]


def test_the_gate_does_not_count_what_was_not_asked_as_skipped() -> None:
    rows = [Tally("locality", "LambdaLift", Outcome.SKIP.value, reason, 5) for reason in (NOT_ASKED, "no output")]
    found = measured(cast(Any, None), rows, [], {})
    assert found.count(GateSubject("locality")).skipped == 5


def test_a_campaign_with_shares_is_another_one_than_without() -> None:
    on, off = (Config(1, ("FuseOps",), (), tuple(OracleName), 1, None, 1, shares=on) for on in (True, False))
    assert on.identity != off.identity
    assert parse_switch("on", "--shares") is True
    with pytest.raises(ConfigError, match="--shares 'maybe' is neither on nor off"):
        parse_switch("maybe", "--shares")
