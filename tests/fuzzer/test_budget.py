"""How the budget is divided: what raises a share, what lowers it, and its bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.allotment import Allotment
from fuzzer.budget import EVEN_SHARE, LEAST_SHARE, MOST_SHARE, Account, Budget, Yield
from fuzzer.config import Config
from fuzzer.known import KnownFinding, KnownFindings
from fuzzer.pool import LAG
from fuzzer.recognition import Recognizer
from fuzzer.store import Store
from oracles.verdict import OracleName

NAMES = tuple("ABCDEFGH")
EACH = 14
"""Subjects of a pass in an epoch."""


def epoch(found: Mapping[str, str]) -> Yield:
    return Yield(dict.fromkeys(NAMES, EACH), found)


def after(*epochs: Mapping[str, str]) -> Account:
    account = Account()
    for found in epochs:
        account = account.after([epoch(found)])
    return account


def steady(epochs: int, *rich: str) -> Account:
    """Some passes yield two signatures in each epoch."""
    return after(*({f"{name}{number}{k}": name for name in rich for k in (0, 1)} for number in range(epochs)))


def test_a_pass_that_yields_gets_more_and_the_others_less() -> None:
    shares = steady(6, "A").shares(NAMES)
    assert shares["A"] > EVEN_SHARE
    assert all(shares[name] < EVEN_SHARE for name in NAMES[1:])


def test_one_find_decides_little() -> None:
    assert after({"x": "A"}, *[{}] * 3).shares(NAMES)["A"] <= 2 * EVEN_SHARE
    assert after(*[{}] * 200, {"x": "A"}).shares(NAMES)["A"] <= 2 * EVEN_SHARE, "nor when little is found any more"
    rich = {f"{name}{number}": name for name in NAMES for number in range(10)}
    more = after({**rich, "x": "A"}).shares(NAMES)
    assert set(more.values()) == {EVEN_SHARE}


def test_shares_become_even_when_nothing_is_found_any_more() -> None:
    assert set(after(*[{"x": "A", "y": "A"}] * 3, *[{}] * 60).shares(NAMES).values()) == {EVEN_SHARE}


def test_a_pass_that_is_exhausted_falls_slowly() -> None:
    account = steady(8, "A", "B")
    heights = [account.shares(NAMES)["A"]]
    for number in range(40):
        account = account.after([epoch({f"B{number}later": "B", f"{number}": "C"})])
        heights.append(account.shares(NAMES)["A"])
    assert heights == sorted(heights, reverse=True)
    assert heights[0] - heights[1] <= 1
    assert heights[-1] < EVEN_SHARE < heights[0]


def test_shares_are_bounded_and_even_in_the_mean() -> None:
    for rich in (NAMES[:1], NAMES[:2], NAMES[:4], NAMES[:7]):
        shares = steady(200, *rich).shares(NAMES)
        assert min(shares.values()) >= LEAST_SHARE
        assert max(shares.values()) <= MOST_SHARE
        assert sum(shares.values()) == pytest.approx(EVEN_SHARE * len(NAMES), rel=0.13)  # each is rounded
    names = tuple(f"P{number}" for number in range(70))
    account = Account()
    for number in range(30):
        account = account.after([Yield(dict.fromkeys(names, EACH), {f"{number} {k}": "P0" for k in range(9)})])
    assert account.shares(names)["P0"] == MOST_SHARE
    assert min(account.shares(names).values()) >= LEAST_SHARE
    # Where others yield a great deal, one that never does is at the least.
    assert steady(200, *NAMES[1:]).shares(NAMES)["A"] == LEAST_SHARE


def test_nothing_yielded_is_even() -> None:
    assert Account().shares(NAMES) == {}
    assert after({}, {}).shares(NAMES) == {}
    assert steady(3, "another").shares(NAMES) == {}


def test_a_pass_that_was_not_tried_yet_has_about_an_even_share() -> None:
    assert abs(steady(3, *NAMES).shares((*NAMES, "late"))["late"] - EVEN_SHARE) <= 1


def test_a_pass_of_few_subjects_is_not_believed_at_once() -> None:
    few = Account().after([Yield({**dict.fromkeys(NAMES, 400), "A": 1}, {"x": "A", **{n: n for n in NAMES[1:]}})])
    assert few.shares(NAMES)["A"] <= 2 * EVEN_SHARE


def test_only_the_first_sighting_counts() -> None:
    account = Account().after([epoch({"x": "A"}), epoch({"x": "B", "y": "B"})]).after([epoch({"x": "C", "y": "C"})])
    assert {name: found > 0 for name, found in account.found.items()} == {"A": True, "B": True}
    assert account.found["A"] == account.found["B"]
    assert account.seen == {"x", "y"}


def test_known_signatures_are_no_yield() -> None:
    account = Account().after([epoch({"x": "A", "y": "B"})], known={"x"}.__contains__)
    assert dict(account.found) == {"B": 1}
    assert account.seen == {"x", "y"}


def test_what_is_kept_reads_back_the_same() -> None:
    account = steady(7, "A", "C")
    again = Account.from_json(account.to_json())
    assert again == account
    assert again.after([epoch({"n": "B"})]).shares(NAMES) == account.after([epoch({"n": "B"})]).shares(NAMES)
    assert Yield.from_json(epoch({"n": "B"}).to_json()) == epoch({"n": "B"})


def config(budget: Budget) -> Config:
    return Config(1, ("Normalize", "FuseOps"), (), (OracleName.CRASH,), 640, None, 1, epoch=2, budget=budget)


def test_an_epoch_waits_for_what_its_shares_follow_from(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        allotment = Allotment(store, config(Budget.YIELD), lambda _: False)
        assert [allotment.of(number) for number in range(2 * LAG + 1)] == [{}] * 2 * LAG + [None]
        pieces = [shard(number, hit(f"boom {number}", 1)) for number in range(2)]
        for piece in pieces:
            store.record_shards([piece], piece, 1.0, allotment.told([piece]))
        allotment.learn(1)
        assert allotment.of(2 * LAG) is None, "half an epoch"
        allotment.learn(2)
        assert allotment.of(2 * LAG) is not None
        assert Allotment(store, config(Budget.YIELD), lambda _: False).of(2 * LAG) == allotment.of(2 * LAG)
        assert store.account().seen == set(pieces[0].hits) | set(pieces[1].hits)
        assert allotment.of(2 * LAG + 2) is None


def test_an_even_budget_waits_for_nothing_and_keeps_nothing(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        allotment = Allotment(store, config(Budget.EVEN), lambda _: False)
        assert allotment.of(10**6) == {}
        assert allotment.told([shard(0, hit("boom", 1))]) == []
        allotment.learn(10**6)
        assert store.account() == Account()


def test_known_before_does_not_depend_on_triage(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        store.record_shard(shard(0, hit("boom", 1)), 1.0)
        (finding,) = store.findings()
        by_family = KnownFindings((KnownFinding("", "", "issue 7", "w", family=finding.family.id),))
        assert Recognizer(store, by_family, None).expected(finding.id)
        assert not Recognizer(store, None, None).expected(finding.id)
        by_id = KnownFindings((KnownFinding(finding.id, "", "issue 7", "w"),))
        assert Recognizer(store, by_id, None).expected(finding.id)


def test_a_campaign_of_before_the_choice_is_even(tmp_path: Path) -> None:
    raw = json.loads(config(Budget.EVEN).to_json())
    del raw["budget"]
    assert Config.from_json(json.dumps(raw)) == config(Budget.EVEN)
    written = config(Budget.YIELD)
    assert Config.from_json(written.to_json()) == written
    assert Config.from_json(written.to_json()).budget is Budget.YIELD
    assert written.identity != config(Budget.EVEN).identity
    assert written.identity != replace(written, epoch=3).identity
    assert config(Budget.EVEN).identity == replace(config(Budget.EVEN), epoch=3).identity
    with Store.create(tmp_path / "c", META) as store:
        for table in ("yields", "account", "shares"):
            store._db.execute(f"DROP TABLE {table}")
        store._db.commit()
    with Store.open(tmp_path / "c") as store:
        assert (store.account(), store.shares(), store.yields(range(9))) == (Account(), {}, [])
    with Store.open(tmp_path / "c", read_only=False) as store:
        assert store.account() == Account()
