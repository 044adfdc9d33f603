"""Joining campaigns: sums, findings, and that neither order nor repetition counts."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sample_records import META, hit, shard, verdict

from fuzzer.cli.main import main
from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.core.text import Standing
from fuzzer.findings.assessment import Assessment, Severity
from fuzzer.findings.family import Traits, family
from fuzzer.findings.signature import signature
from fuzzer.store import merge as merging
from fuzzer.store.merge import MergeError, _growth, merge
from fuzzer.store.records import Earlier, EarlierState, FindingState
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from oracles.core.verdict import Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import EvidenceClass, OracleName
from relaxkit.passes.pass_ref import PassRef

BAD, WORSE, RARE = "it is bad", "it is worse", "it is rare"
SEEDED = Config(2, ("FuseOps",), (), (OracleName.CRASH,), 9, None, 1, seeds_digest="0123")
LESS = msgspec.json.encode(Assessment(EvidenceClass.HARD, Severity.S5, "FuseOps")).decode()
SUBJECT = Details(subject="3D")


def campaign(directory: Path, seed: int, *messages: str, shards: int = 2, **meta: str) -> Path:
    """A campaign whose every shard shows each message once."""
    with Store.create(directory, {**META, "seed": str(seed), **meta}) as store:
        for number in range(shards):
            store.record_shard(shard(number, *(hit(text, 3 + seed) for text in messages)), 10.0 * (number + 1))
        store.set_meta(state="finished")
    return directory


def test_nothing_planted_is_written_into(tmp_path: Path) -> None:
    """Whoever may write beside ``out`` can put a link where the process is foreseen to work."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("merging", "merging-"):
        (tmp_path / f".out.{name}{os.getpid()}").symlink_to(outside)
        (tmp_path / f".out.{name}").symlink_to(outside)
    merge([campaign(tmp_path / "one", 1, BAD)], tmp_path / "out")
    assert not list(outside.iterdir())
    assert not (tmp_path / "out").is_symlink()
    assert len([path for path in tmp_path.iterdir() if path.name.startswith(".out") and not path.is_symlink()]) == 0


def test_what_together_is_too_much_leaves_nothing(tmp_path: Path) -> None:
    parts = [campaign(tmp_path / f"part{seed}", seed, BAD) for seed in (1, 2)]
    for part in parts:
        with closing(sqlite3.connect(part / FILE_NAME)) as database, database:
            database.execute("UPDATE tallies SET count = 1 << 48")
    with pytest.raises(
        MergeError, match="the merged campaign exceeds the limits: table 'tallies', row 1, field 'count'"
    ):
        merge(parts, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part1", "part2"]
    merge(parts[:1], tmp_path / "out")


def settle(
    directory: Path,
    message: str,
    state: FindingState,
    bindings: int | None,
    module: str,
    note: str = "",
    script: str = "",
) -> str:
    """Triage of a finding; returns its id."""
    name = hit(message, 0).signature.id
    case = Case(module, (PassRef("FuseOps", "relax.transform.FuseOps()"),), 3)
    repro = f"repros/{name}.py" if script else None
    with Store.open(directory, read_only=False) as store:
        store.save_triage(name, state, case, bindings, repro, note, Traits("FuseOps"), 2.0)
    if script:
        (directory / "repros").mkdir(exist_ok=True)
        (directory / f"repros/{name}.py").write_text(script)
    return name


def change(directory: Path, **columns: Any) -> None:
    """Change a campaign's one finding, as who has no key can."""
    with closing(sqlite3.connect(directory / FILE_NAME)) as database, database:
        for name, value in columns.items():
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            database.execute(f"UPDATE findings SET {name} = ?", (text,))


def foul(evidence: Evidence, culprit: str = "FuseOps") -> Verdict:
    return Verdict(OracleName.CRASH, Outcome.FAIL, culprit, evidence=evidence)


def content(directory: Path) -> dict[str, Any]:
    """Everything in a campaign, in an order of its own."""
    with Store.open(directory) as store:
        rows = {name: sorted(map(repr, table)) for name, table in store.rows().items()}
    rows["meta"] = [row for row in rows["meta"] if "'seal'" not in row]
    scripts = {path.name: path.read_text() for path in sorted((directory / "repros").glob("*.py"))}
    return {**rows, "scripts": scripts}


def test_one_campaign_alone_is_itself(tmp_path: Path) -> None:
    one = campaign(tmp_path / "one", 1, BAD, WORSE)
    settle(one, BAD, FindingState.CONFIRMED, 3, "{}", script="print(1)")
    assert merge([one], tmp_path / "out") == []
    assert content(tmp_path / "out") == content(one)
    assert content(one)["findings"]


def test_counts_are_added_and_findings_joined(tmp_path: Path) -> None:
    one, two = campaign(tmp_path / "one", 1, BAD), campaign(tmp_path / "two", 2, BAD, RARE, shards=3)
    assert merge([one, two], tmp_path / "out") == []
    with Store.open(tmp_path / "out") as store, Store.open(one) as first, Store.open(two) as second:
        info = store.info()
        assert info.examples == first.info().examples + second.info().examples == 320
        assert info.modules == first.info().modules + second.info().modules
        assert (info.workers, info.state, info.seed) == (4, "finished", 1)
        assert info.budget_text == "2 campaigns of seeds 1, 2"
        failed = sum(each.count for each in store.tallies() if each.outcome == "fail")
        assert failed == 2 + 6
        assert store.coverage().operators["relax.add"] == 2 * 5
        assert {each.message: each.count for each in store.findings()} == {BAD: 5, RARE: 3}
        assert store.findings()[0].case == first.findings()[0].case, "the first campaign's case speaks"
        assert store.findings()[0].last_seen_seconds == 30.0
        growth = store.timeline().growth
        assert [(each.at, each.examples, each.findings) for each in growth] == [
            (10, 128, 2),
            (20, 256, 2),
            (30, 320, 2),
        ]
        assert sum(count for _, count in store.timeline().sightings[store.findings()[0].id]) == 5


def test_the_smallest_confirmed_module_is_kept_with_its_script(tmp_path: Path) -> None:
    places = [campaign(tmp_path / str(seed), seed, BAD) for seed in range(4)]
    settle(places[0], BAD, FindingState.FLAKY, 1, "{0}", "came back in 2 of 3 runs")
    settle(places[1], BAD, FindingState.CONFIRMED, 5, "{large}", script="large")
    name = settle(places[2], BAD, FindingState.CONFIRMED, 2, "{small}", script="small")
    merge(places, tmp_path / "out")
    with Store.open(tmp_path / "out") as store:
        (finding,) = store.findings()
        assert finding.state is FindingState.CONFIRMED
        assert finding.minimized is not None
        assert (finding.minimized.module_json, finding.bindings, finding.count) == ("{small}", 2, 8)
        assert finding.note == "in another campaign: flaky: came back in 2 of 3 runs"
        assert finding.traits == Traits("FuseOps")
        assert store.costs()[name].triage == 6.0
    assert (tmp_path / "out" / "repros" / f"{name}.py").read_text() == "small"


@pytest.mark.parametrize("state", [FindingState.CONFIRMED, FindingState.NEW])
@pytest.mark.parametrize(
    ("other", "evidence"),
    [
        (FindingState.CONFIRMED, EvidenceClass.OURS),
        (FindingState.FLAKY, EvidenceClass.HARD),
        (FindingState.UNSCRIPTED, EvidenceClass.HARD),
        (FindingState.KNOWN, EvidenceClass.HARD),
    ],
)
def test_no_campaign_makes_less_of_what_another_found(
    tmp_path: Path, state: FindingState, other: FindingState, evidence: EvidenceClass
) -> None:
    one, two = (campaign(tmp_path / str(seed), seed, BAD) for seed in (2, 1))
    if state is not FindingState.NEW:
        settle(one, BAD, state, 5, "{large}", script="large")
    name = settle(two, BAD, other, 2, "{small}", script="small")
    with closing(sqlite3.connect(two / FILE_NAME)) as database, database:
        assessment = msgspec.json.encode(Assessment(evidence, Severity.S2, "FuseOps")).decode()
        database.execute("UPDATE findings SET assessment = ?", (assessment,))
    merge([one, two], tmp_path / "out")
    with Store.open(tmp_path / "out") as store:
        (finding,) = store.findings()
    assert (finding.standing, finding.state) == (Standing.FINDING, state)
    if finding.repro:
        assert (tmp_path / "out" / "repros" / f"{name}.py").read_text() == "large"
        assert finding.minimized is not None
        assert finding.minimized.module_json == "{large}"


def test_triage_may_make_less_of_what_an_earlier_copy_had_not_looked_into(tmp_path: Path) -> None:
    now = campaign(tmp_path / "a", 1, BAD)
    earlier = Path(shutil.copytree(now, tmp_path / "b"))
    settle(now, BAD, FindingState.FLAKY, 5, "{}")
    merge([now, earlier], tmp_path / "out")
    with Store.open(tmp_path / "out") as store:
        assert [each.state for each in store.findings()] == [FindingState.FLAKY]


@pytest.mark.parametrize(
    "change", ["signature = 'another'", f"evidence = replace(evidence, '{BAD}', '{RARE}')", "culprit = 'LambdaLift'"]
)
def test_a_finding_has_the_signature_of_its_evidence(tmp_path: Path, change: str) -> None:
    """Otherwise what the user's list knows would excuse what another campaign found."""
    places = [campaign(tmp_path / str(seed), seed, BAD) for seed in (1, 2)]
    with closing(sqlite3.connect(places[0] / FILE_NAME)) as database, database:
        database.execute(f"UPDATE findings SET {change}")
    with pytest.raises(MergeError, match="does not have the signature of its evidence"):
        merge(places, tmp_path / "out")


@pytest.mark.parametrize("how", ["traits", "evidence", "nothing"])
def test_a_family_from_elsewhere_excuses_nothing(tmp_path: Path, how: str) -> None:
    """The user's list may excuse a family: either's, or the one that the evidence alone tells."""
    one, two = (campaign(tmp_path / str(seed), seed, BAD) for seed in (1, 2))
    for place, bindings in ((one, 5), (two, 0)):
        settle(place, BAD, FindingState.CONFIRMED, bindings, "{}")
    change(one, traits=Traits("FoldConstant"))
    if how == "evidence":
        shown = replace(verdict(BAD).shown, frames=("src/a.cc:F", "b", "relax/transform/legalize_ops/nn.py:_nn_pad"))
        change(one, evidence=replace(shown, frames=shown.frames[:2]), signature=signature(foul(shown)).text)
        change(one, id=signature(foul(shown)).id)
        change(two, evidence=shown, signature=signature(foul(shown)).text, id=signature(foul(shown)).id)
    elif how == "traits":
        change(two, traits=Traits("LambdaLift"))
    else:
        change(two, traits=Traits())
    excused = {family(verdict(BAD)).id}
    for place in (one, two):
        with Store.open(place) as store:
            excused |= {store.findings()[0].family.id}
    assert len(excused) >= 2
    merge([one, two], tmp_path / "out")
    with Store.open(tmp_path / "out") as store:
        assert store.findings()[0].family.id not in excused
        assert "campaigns disagree" in store.findings()[0].family.text


@pytest.mark.parametrize(
    ("message", "forged", "culprit"),
    [
        ("No type: none", Evidence("InternalError: No type", "none", ("src/a.cc:F",)), "FuseOps"),
        ("No type: none", Evidence("No type", "none", ("src/a.cc:F",)), "FuseOps: InternalError"),
        (
            "No type (3D)",
            Evidence("InternalError", "No type", ("src/a.cc:F",), details=Details(subject="3D")),
            "FuseOps",
        ),
        ("No type", Evidence("InternalError", "No type at src/a.cc:F"), "FuseOps"),
    ],
    ids=["kind", "pass", "former id", "frames"],
)
def test_what_only_reads_the_same_is_refused(tmp_path: Path, message: str, forged: Evidence, culprit: str) -> None:
    """One text, and another pass, kind or former id, of which the user's rules and lists tell."""
    one, two = (campaign(tmp_path / str(seed), seed, message) for seed in (5, 1))
    with Store.open(one) as store:
        assert signature(foul(forged, culprit)).text == store.findings()[0].signature
    change(two, evidence=forged, culprit=culprit)
    with pytest.raises(MergeError, match="is not the same in all campaigns, though its signature reads the same"):
        merge([one, two], tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "5"]
    holder = campaign(tmp_path / "holder", 5, message, shards=3)
    change(holder, evidence=forged, culprit=culprit)
    with pytest.raises(MergeError, match=r"lacks its finding [0-9a-f]* as it was found"):
        merge([one, holder], tmp_path / "out")


def test_a_campaign_from_elsewhere_rewords_no_earlier_finding(tmp_path: Path) -> None:
    one, two = campaign(tmp_path / "one", 1, BAD), campaign(tmp_path / "two", 2, BAD)
    for place in (one, two):
        with Store.open(place, read_only=False) as store:
            store.save_regression(Earlier("old", "0123456789", "", "crash", "FuseOps", "", EarlierState.FAILS))
    with closing(sqlite3.connect(two / FILE_NAME)) as database, database:
        database.execute("""UPDATE regressions SET body = replace(replace(body, 'FuseOps', 'LambdaLift'), '{', '{ ')""")
    for number, order in enumerate(([one, two], [two, one])):
        merge(order, tmp_path / f"out{number}")
        with Store.open(tmp_path / f"out{number}") as store:
            assert [earlier.culprit for earlier in store.regressions()] == ["FuseOps"]


@pytest.mark.parametrize("looked", [True, False])
def test_a_campaign_from_elsewhere_rates_no_finding_lower(tmp_path: Path, looked: bool) -> None:
    one, two = (campaign(tmp_path / str(seed), seed, BAD) for seed in (2, 1))
    if looked:
        settle(one, BAD, FindingState.CONFIRMED, 5, "{large}")
    settle(two, BAD, FindingState.CONFIRMED, 2, "{small}")
    change(two, assessment=Assessment(EvidenceClass.HARD, Severity.S5, "LambdaLift", "cosmetic", final=True))
    merge([one, two], tmp_path / "out")
    with Store.open(tmp_path / "out") as store:
        (finding,) = store.findings()
    assert (finding.assessment.severity, finding.assessment.blame) == (Severity.S3, "FuseOps")
    assert finding.minimized is not None
    assert finding.minimized.module_json == ("{large}" if looked else "{small}")
    change(two, assessment=Assessment(EvidenceClass.HARD, Severity.S1, "LambdaLift", final=True))
    merge([one, two], tmp_path / "graver")
    with Store.open(tmp_path / "graver") as store:
        assert store.findings()[0].assessment.severity is Severity.S1


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        ("DELETE FROM findings", "finding"),
        ("UPDATE findings SET state = 'flaky'", "finding"),
        ("""UPDATE findings SET traits = '{"culprit": "LambdaLift"}'""", "finding [0-9a-f]* as it was found"),
        (f"UPDATE findings SET assessment = '{LESS}'", "finding"),
        (f"UPDATE findings SET assessment = '{LESS}', state = 'confirmed'", "finding [0-9a-f]* as it was found"),
        ("UPDATE tallies SET count = 1", "verdicts of crash on FuseOps"),
        ("DELETE FROM regressions", "earlier finding 0123456789"),
    ],
)
def test_what_claims_to_hold_a_campaign_holds_all_of_it(tmp_path: Path, change: str, lacks: str) -> None:
    one, two = campaign(tmp_path / "one", 1, BAD), campaign(tmp_path / "two", 2, BAD)
    with Store.open(one, read_only=False) as store:
        store.save_regression(Earlier("old", "0123456789", "", "crash", "FuseOps", "", EarlierState.REGRESSED))
    merge([one, two], tmp_path / "claims")
    with closing(sqlite3.connect(tmp_path / "claims" / FILE_NAME)) as database, database:
        database.execute(change)
    with pytest.raises(MergeError, match=f"contains the cases of .*but lacks its {lacks}"):
        merge([one, tmp_path / "claims"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_scripts_are_joined_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = campaign(tmp_path / "one", 1, BAD), campaign(tmp_path / "two", 2, RARE)
    settle(one, BAD, FindingState.CONFIRMED, 2, "{a}", script="a" * 600)
    settle(two, RARE, FindingState.CONFIRMED, 2, "{b}", script="b" * 600)
    monkeypatch.setattr(merging, "MOST_SCRIPTS", 1_000)
    with pytest.raises(MergeError, match="the scripts have more than 0 MiB"):
        merge([one, two], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    merge([one, two], tmp_path / "out")
    assert len([*(tmp_path / "out/repros").iterdir()]) == 2


def test_the_order_is_of_no_account(tmp_path: Path) -> None:
    places = [campaign(tmp_path / str(seed), seed, *texts, shards=shards)
              for seed, texts, shards in ((3, (BAD, WORSE), 2), (1, (BAD,), 4), (2, (RARE, BAD), 1))]  # fmt: skip
    settle(places[0], BAD, FindingState.CONFIRMED, 2, "{a}", script="a")
    settle(places[1], BAD, FindingState.CONFIRMED, 2, "{b}", script="b")
    settle(places[2], RARE, FindingState.FLAKY, 2, "{c}", "came back in 1 of 3 runs")
    merge(places, tmp_path / "first")
    for number, order in enumerate(itertools.permutations(places)):
        merge(order, tmp_path / f"out{number}")
        assert content(tmp_path / f"out{number}") == content(tmp_path / "first")


def test_joining_in_steps_gives_the_same_but_for_what_growth_cannot_know(tmp_path: Path) -> None:
    places = [campaign(tmp_path / str(seed), seed, *texts) for seed, texts in ((1, (BAD,)), (2, (RARE,)), (3, (BAD,)))]
    merge(places, tmp_path / "at-once")
    merge([places[0], places[2]], tmp_path / "some")
    merge([tmp_path / "some", places[1]], tmp_path / "rest")
    assert content(tmp_path / "rest") == content(tmp_path / "at-once")


def test_a_campaign_that_is_given_twice_is_counted_once(tmp_path: Path) -> None:
    one, two = campaign(tmp_path / "one", 1, BAD), campaign(tmp_path / "two", 2, BAD)
    shorter = campaign(tmp_path / "shorter", 1, BAD, shards=1)
    merge([one, two], tmp_path / "expected")
    lines = merge([shorter, one, two, one], tmp_path / "out")
    assert len(lines) == 2
    assert all("is not counted" in line and "contains the same cases" in line for line in lines)
    assert content(tmp_path / "out") == content(tmp_path / "expected")
    assert len(merge([tmp_path / "expected", two], tmp_path / "again")) == 1
    assert content(tmp_path / "again") == content(tmp_path / "expected")


def test_what_overlaps_in_part_is_refused(tmp_path: Path) -> None:
    one, two, three = (campaign(tmp_path / str(seed), seed, BAD) for seed in (1, 2, 3))
    longer = campaign(tmp_path / "longer", 1, BAD, shards=5)
    merge([one, two], tmp_path / "ab")
    merge([two, three], tmp_path / "bc")
    with pytest.raises(MergeError, match="both contain the campaign with seed 2"):
        merge([tmp_path / "ab", tmp_path / "bc"], tmp_path / "out")
    with pytest.raises(MergeError, match="both contain the campaign with seed 1"):
        merge([tmp_path / "ab", longer], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"tvm_version": "0.26.0"}, r"their TVM differs \(0.27.0.post1 and 0.26.0\)"),
        ({"ffi_version": "0.1.13"}, "their ffi differs"),
        ({"passes": '["FoldConstant"]'}, "their passes differ;"),
        ({"oracles": '["crash"]'}, "their oracles differ;"),
        ({"config": SEEDED.to_json()}, "their seed collection differs;"),
        (
            {"config": replace(SEEDED, seeds_digest="", operators=(("relax.split", 5),)).to_json()},
            "their operators differ;",
        ),
    ],
)
def test_campaigns_of_another_kind_are_refused_in_one_line(
    tmp_path: Path, other: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = campaign(tmp_path / "one", 1, BAD), campaign(tmp_path / "two", 2, BAD, **other)
    with pytest.raises(MergeError, match=said):
        merge([one, two], tmp_path / "out")
    assert main(["merge", str(one), str(two), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_bad_places_are_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = campaign(tmp_path / "one", 1, BAD)
    for arguments in ([tmp_path / "none"], [one, tmp_path]):
        with pytest.raises(StoreError):
            merge(arguments, tmp_path / "out")
    with pytest.raises(StoreError, match="already exists"):
        merge([one], one)
    with closing(sqlite3.connect(one / FILE_NAME)) as database:
        database.execute("CREATE TABLE novelty (text TEXT)")
    assert main(["merge", str(one), "--out", str(tmp_path / "out")]) == 2
    assert "table 'novelty' does not belong in a campaign" in capsys.readouterr().err


def test_the_verbs_read_a_joined_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [campaign(tmp_path / str(seed), seed, BAD) for seed in (1, 2)]
    for place in places:
        settle(place, BAD, FindingState.CONFIRMED, 2, "{}", script="small")
    out = tmp_path / "out"
    assert main(["merge", *map(str, places), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 256 cases, 1 finding\n"
    again = tmp_path / "again"
    assert main(["merge", *map(str, places), "--out", str(again), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "out": str(again),
        "cases": 256,
        "findings": 1,
        "questions": 0,
        "suspects": 0,
    }
    assert main(["findings", str(out), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["count"] == 4
    for arguments in (["passes", "--campaign"], ["ops", "--campaign"]):
        assert main([*arguments, str(out)]) == 0
    assert main(["report", str(out), "--json"]) == 0
    assert main(["baseline", str(out), "--output", "-"]) == 0
    policy = tmp_path / "policy.toml"
    policy.write_text("[oracles.crash]\n")
    assert main(["gate", str(out), "--policy", str(policy)]) in (0, 1, 3)


def test_a_joined_campaign_is_not_gone_on_with(tmp_path: Path) -> None:
    from fuzzer.campaign.setup import open_campaign
    from fuzzer.core.config import Config, ConfigError
    from fuzzer.core.installed import Versions
    from relaxkit.passes.contract import OracleName

    config = Config(1, ("FuseOps",), (), (OracleName.CRASH, OracleName.NUMERIC), 64, None, 1)
    versions = Versions(META["tvm_version"], META["ffi_version"])
    places = []
    for seed in (1, 2):
        opened = open_campaign(tmp_path / str(seed), replace(config, seed=seed), versions)
        opened.store.close()
        places.append(tmp_path / str(seed))
    merge(places, tmp_path / "out")
    with pytest.raises(ConfigError, match="merged from others"):
        open_campaign(tmp_path / "out", config, versions)
    merge(places[:1], tmp_path / "alone")
    opened = open_campaign(tmp_path / "alone", config, versions)
    opened.store.close()
    assert opened.resumed


def test_suspects_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = campaign(tmp_path / "one", 1, BAD), campaign(tmp_path / "two", 2, BAD, RARE)
    settle(two, RARE, FindingState.UNSCRIPTED, 2, "{}")
    out, again = tmp_path / "out", tmp_path / "again"
    assert main(["merge", str(one), str(two), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 256 cases, 1 finding, 1 suspect\n"
    assert main(["merge", str(one), str(two), "--out", str(again), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["findings"], told["suspects"]) == (1, 1)


def test_long_courses_are_joined_quickly() -> None:
    """Moments and findings, each many, are not held against each other one by one."""
    many = 40_000
    growth = [
        {"at": at / 1000, "examples": at, "modules": at, "operators": 0, "operands": 0, "pairs": 0, "rewrites": 0}
        for at in range(many)
    ]
    sightings = [{"finding": f"{at:010x}", "at": at / 1000, "count": 1} for at in range(many)]
    joined: dict[str, list[dict[str, Any]]] = {"sightings": sightings, "findings": [{}] * many}
    joined |= {"operators": [], "operands": [], "pairs": [], "rewrites": []}
    begun = time.process_time()
    points = _growth([{"growth": growth}, {"growth": growth}], joined)
    assert [point["findings"] for point in points] == list(range(1, many + 1))
    assert time.process_time() - begun < 8  # it took more than a minute
