"""Regression first: earlier findings are judged again, closed where they are fixed, and watched from then on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tvm
from sample_records import META, shard
from tvm import relax

from fuzzer.campaign import regression
from fuzzer.campaign.known_filter import KnownFilter
from fuzzer.campaign.regression import EarlierCases, chosen, gather, in_words, judged_again, regress_first, replay_all
from fuzzer.cli.main import main
from fuzzer.core.case import Case, judge_case
from fuzzer.core.config import Config, ConfigError, user_pass
from fuzzer.findings.signature import signature
from fuzzer.store.records import Earlier, EarlierState, FindingState, SignatureHits
from fuzzer.store.writer import Store, StoreError
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

HERE = Path(__file__).parent
VERSION = META["tvm_version"]
FOUND = Earlier("old", "0123456789", "crash: P: E: m", "crash", "P", "m", EarlierState.FAILS, failed_on="0.26.0")
FIXED = replace(FOUND, state=EarlierState.FIXED, fixed_in="0.27.0")


@pytest.mark.parametrize(
    ("before", "seen", "state", "fixed_in", "failed_on"),
    [
        (FOUND, EarlierState.FAILS, EarlierState.FAILS, "", "0.28.0"),
        (FOUND, EarlierState.FIXED, EarlierState.FIXED, "0.28.0", "0.26.0"),
        (FOUND, EarlierState.CHANGED, EarlierState.CHANGED, "", "0.26.0"),
        (FOUND, EarlierState.UNDECIDED, EarlierState.UNDECIDED, "", "0.26.0"),
        (FIXED, EarlierState.FIXED, EarlierState.HOLDS, "0.27.0", "0.26.0"),
        (FIXED, EarlierState.FAILS, EarlierState.REGRESSED, "", "0.28.0"),
        (FIXED, EarlierState.UNDECIDED, EarlierState.UNDECIDED, "0.27.0", "0.26.0"),
        (replace(FIXED, state=EarlierState.WAITING), EarlierState.FIXED, EarlierState.HOLDS, "0.27.0", "0.26.0"),
        (replace(FIXED, state=EarlierState.UNDECIDED), EarlierState.FAILS, EarlierState.REGRESSED, "", "0.28.0"),
    ],
)
def test_what_becomes_of_an_earlier_finding(
    before: Earlier, seen: EarlierState, state: EarlierState, fixed_in: str, failed_on: str
) -> None:
    after = judged_again(before, seen, "", "0.28.0")
    assert (after.state, after.fixed_in, after.failed_on) == (state, fixed_in, failed_on)
    if state is EarlierState.REGRESSED:
        assert after.note == "was fixed in 0.27.0"


def test_what_is_not_judged_in_time_is_said_to_wait() -> None:
    past = [replace(FOUND, id=f"{number:010}") for number in range(5)]
    seen: list[str] = []

    def replay(earlier: Earlier) -> tuple[EarlierState, str]:
        seen.append(earlier.id)
        return EarlierState.FIXED, ""

    after = list(replay_all(past, replay, "0.28.0", 2, lambda: len(seen) >= 2))
    assert sorted(each.id for each in after) == [each.id for each in past], "none is lost"
    late = [each for each in after if each.state is EarlierState.WAITING]
    assert 1 <= len(late) <= 3
    assert all(each.note == "time ran out" for each in late)
    assert f"{len(late)} not judged again" in in_words(after)


@pytest.fixture
def mend(tmp_path: Path) -> Callable[[str], object]:
    """Says how the pass of this test behaves from now on."""
    shutil.copyfile(HERE / "mendable.py", tmp_path / "mendable.py")
    state = tmp_path / "state"
    state.write_text("broken")
    return state.write_text


def module_json() -> str:
    builder = relax.BlockBuilder()
    argument = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [argument]):
        builder.emit_func_output(builder.emit(relax.op.add(argument, argument)))
    return str(tvm.ir.save_json(builder.get()))


def the_pass(directory: Path) -> PassRef:
    """The pass of the test that a campaign belongs to."""
    return user_pass(f"{directory.parent / 'mendable.py'}:mendable")


def config(directory: Path) -> Config:
    return Config(
        seed=7, passes=(), user_passes=(the_pass(directory),), oracles=(OracleName.CRASH,), max_examples=10,
        seconds=None, workers=2,
    )  # fmt: skip


def earlier_campaign(directory: Path) -> str:
    """A campaign that found and minimized the pass's error; returns the id of the finding."""
    case = Case(module_json(), (the_pass(directory),), 0)
    (failed,) = [each for each in judge_case(case, (OracleName.CRASH,)) if each.outcome is Outcome.FAIL]
    with Store.create(directory, META) as store:
        (name,) = store.record_shard(shard(0, SignatureHits.of(signature(failed), failed, case, 0, 1)), 1.0)
        store.save_triage(name, FindingState.CONFIRMED, case, 1, None, "")
        store.set_meta(state="finished")
    return name


def session(directory: Path, *given: Path, tell: Callable[[str], None] = lambda _: None) -> list[Earlier]:
    """The beginning of a campaign that is given earlier ones."""
    past = chosen([str(each) for each in given], config(directory), directory)
    store = Store.create(directory, META) if not directory.exists() else Store.open(directory, read_only=False)
    with store:
        assert regress_first(store, config(directory), past, VERSION, tell, lambda _: lambda: None) == (False, None)
        return store.regressions()


def test_a_signal_ends_the_campaign_also_while_earlier_findings_are_judged(
    tmp_path: Path, mend: Callable[[str], object]
) -> None:
    earlier_campaign(tmp_path / "a")
    past = chosen([str(tmp_path / "a")], config(tmp_path / "b"), tmp_path / "b")

    def at_once(stop: Callable[[], None]) -> Callable[[], None]:
        stop()
        return lambda: None

    with Store.create(tmp_path / "b", META) as store:
        assert regress_first(store, config(tmp_path / "b"), past, VERSION, lambda _: None, at_once) == (True, None)
        assert [each.state for each in store.regressions()] == [EarlierState.WAITING]


def test_a_campaign_that_was_ended_there_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression, "regress_first", lambda *_: (True, None))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--out", "out", "--max-examples", "1", "--passes", "Normalize"]) == 130
    with Store.open(tmp_path / "out") as store:
        assert store.info().examples == 0


def test_from_campaign_to_campaign(tmp_path: Path, mend: Callable[[str], object]) -> None:
    name = earlier_campaign(tmp_path / "a")
    evidence = (tmp_path / "a" / "campaign.sqlite").read_bytes()
    (there,) = session(tmp_path / "b", tmp_path / "a")
    assert (there.id, there.state, there.source) == (name, EarlierState.FAILS, str(tmp_path / "a"))
    mend("otherwise")
    (changed,) = session(tmp_path / "otherwise", tmp_path / "b")
    assert changed.state is EarlierState.CHANGED, "another error is not the end of the old one"
    assert changed.note.startswith("fails differently: crash: mendable: KeyError")
    mend("deadly")
    (dead,) = session(tmp_path / "dead", tmp_path / "b")
    assert (dead.state, "signal 11" in dead.note) == (EarlierState.CHANGED, True)
    mend("mended")
    (fixed,) = session(tmp_path / "c", tmp_path / "b")
    assert (fixed.state, fixed.fixed_in, fixed.source) == (EarlierState.FIXED, VERSION, str(tmp_path / "a"))
    (holds,) = session(tmp_path / "d", tmp_path / "c")
    assert (holds.state, holds.fixed_in) == (EarlierState.HOLDS, VERSION)
    mend("broken")
    lines: list[str] = []
    (again,) = session(tmp_path / "e", tmp_path / "d", tell=lines.append)
    assert (again.state, again.fixed_in) == (EarlierState.REGRESSED, "")
    assert [line.startswith("REGRESSED: ") for line in lines] == [True, False]
    assert (tmp_path / "a" / "campaign.sqlite").read_bytes() == evidence, "the past is left as it was"


def test_what_was_found_before_is_not_looked_into_again_and_news_is(
    tmp_path: Path, mend: Callable[[str], object]
) -> None:
    name = earlier_campaign(tmp_path / "a")
    session(tmp_path / "b", tmp_path / "a")
    with Store.open(tmp_path / "a") as old:
        finding = old.finding(name)
    found = SignatureHits.of(
        signature(judge_case(finding.case, (OracleName.CRASH,))[0]), _verdict(finding), finding.case, 0, 1
    )
    with Store.open(tmp_path / "b", read_only=False) as store:
        store.record_shard(shard(0, found), 1.0)
        assert KnownFilter(store, None, None).shelve(name)
        shelved = store.finding(name)
        assert (shelved.state, shelved.minimized, shelved.bindings) == (FindingState.KNOWN, finding.case, 1)
        assert str(tmp_path / "a") in shelved.note
        assert KnownFilter(store, None, None).ids == frozenset(), "what is judged depends on the seed alone"
    mend("mended")
    session(tmp_path / "c", tmp_path / "b")
    mend("broken")
    session(tmp_path / "d", tmp_path / "c")
    with Store.open(tmp_path / "d", read_only=False) as store:
        store.record_shard(shard(0, found), 1.0)
        assert not KnownFilter(store, None, None).shelve(name), "what was fixed and fails again is news"


def _verdict(finding: Any) -> Any:
    return finding.verdict


def test_a_resumed_campaign_judges_nothing_twice(tmp_path: Path, mend: Callable[[str], object]) -> None:
    earlier_campaign(tmp_path / "a")
    first = session(tmp_path / "b", tmp_path / "a")
    mend("mended")
    assert session(tmp_path / "b", tmp_path / "a") == first


def test_a_case_that_cannot_be_judged_is_undecided_not_fixed(tmp_path: Path, mend: Callable[[str], object]) -> None:
    name = earlier_campaign(tmp_path / "a")
    with Store.open(tmp_path / "a", read_only=False) as store:
        torn = Case("{}", (the_pass(tmp_path / "a"),), 0)
        store.save_triage(name, FindingState.CONFIRMED, torn, 1, None, "")
    mend("mended")
    (seen,) = session(tmp_path / "b", tmp_path / "a")
    assert seen.state is EarlierState.UNDECIDED
    assert seen.note.startswith("the case cannot be run on this release: ")


def test_which_campaigns_are_meant(tmp_path: Path, mend: Callable[[str], object]) -> None:
    earlier_campaign(tmp_path / "monday")
    earlier_campaign(tmp_path / "tuesday")
    nights = tmp_path / "nights"
    nights.mkdir()
    for night in ("monday", "tuesday"):
        (tmp_path / night).rename(nights / night)
    (latest,) = gather([nights])
    assert latest.source == str(nights / "tuesday"), "the latest campaign has the last word"
    (other,) = gather([nights], own=nights / "tuesday")
    assert other.source == str(nights / "monday")
    elsewhere = nights.rename(tmp_path / "elsewhere")
    nights.mkdir()
    (nights / "linked").symlink_to(elsewhere / "tuesday")
    with pytest.raises(StoreError, match="contains no campaign"):
        gather([nights])
    (tmp_path / "empty").mkdir()
    for given, complaint in ((tmp_path / "empty", "contains no campaign"), (tmp_path / "none", "is not a directory")):
        with pytest.raises(StoreError, match=complaint):
            chosen([str(given)], config(tmp_path / "out"), tmp_path / "out")
    with pytest.raises(ConfigError, match="--regress off cannot be given with other values"):
        chosen(["off", "corpus"], config(tmp_path / "out"), tmp_path / "out")


def test_long_campaigns_begin_with_the_corpus(tmp_path: Path, mend: Callable[[str], object]) -> None:
    short = config(tmp_path / "out")
    long = replace(short, max_examples=None, seconds=3600.0)
    assert chosen(None, long, Path("out")) == EarlierCases(("corpus",))
    assert chosen(None, replace(long, seconds=600.0), Path("out")) == EarlierCases()
    assert chosen(["off"], long, Path("out")) == EarlierCases()
    assert chosen(["corpus"], short, Path("out")) == EarlierCases(("corpus",))
