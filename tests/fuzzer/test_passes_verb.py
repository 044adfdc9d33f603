"""``relaxfuzz passes``: contracts as a table and in full, exclusions, and what a campaign says of each pass."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sample_records import META, shard

from fuzzer.cli.main import main
from fuzzer.cli.pass_sheets import drawn_expressions
from fuzzer.cli.pass_verdicts import rewrites_of
from fuzzer.core.coverage import Coverage
from fuzzer.store.writer import Store
from oracles import CONTRACTS
from relaxkit.passes.claims.kept import stated_claims
from relaxkit.passes.contract import OracleName, plain_claim
from relaxkit.passes.exclusions import EXCLUDED


@pytest.fixture
def campaign(tmp_path: Path) -> str:
    result = shard(0)
    result.tallies = Counter(
        {
            ("crash", "FuseOps", "pass", ""): 600,
            ("crash", "FuseOps", "fail", ""): 2,
            ("numeric", "FuseOps", "pass", ""): 90,
            ("numeric", "FuseOps", "skip", "pass changed nothing"): 70,
            ("numeric", "FuseOps", "skip", "no input"): 3,
            ("numeric", "FuseOps", "reject", "no such function"): 5,
        }
    )
    result.coverage.judged["FuseOps"] = 200
    result.coverage.changed["FuseOps"] = 30
    with Store.create(tmp_path / "campaign", META) as store:
        store.record_shard(result, 1.5)
    return str(tmp_path / "campaign")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["passes", *arguments]) == 0
    return capsys.readouterr().out


def loaded(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(shown(capsys, *arguments, "--json"))


def test_the_table_has_every_contract(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys).splitlines()
    rows = lines[2 : lines.index("")]
    assert {line.split()[0] for line in rows if line[0] != " "} == CONTRACTS.keys()
    assert "  results none" in rows, "what nearly all others promise is not said"
    (at,) = [at for at, line in enumerate(lines) if line.startswith("AnnotateTIROpPattern ")]
    assert " legalized > annotated" in " ".join(" ".join(lines[at : at + 2]).split())
    assert lines[-1] == f"{len(CONTRACTS)} passes with a contract, {len(EXCLUDED)} names excluded"


def test_a_pass_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "BindParams")
    contract = CONTRACTS["BindParams"]
    flat = " ".join(text.split())
    for refusal in (*contract.refusals, *contract.second_run_refusals):
        assert refusal.reason in flat
        assert " ".join(refusal.source.split()) in flat
    for postcondition in stated_claims(contract):
        assert " ".join(plain_claim(postcondition.claim).split()) in flat
    assert "relax.transform.BindParams(" in text.partition("  examples\n")[2]
    (row,) = loaded(capsys, "BindParams")
    assert row["refusals"][0]["source"] == contract.refusals[0].source
    assert row["second_run_refusals"][0]["error"] == "InternalError"


def test_what_a_pass_is_tested_on_is_a_condition(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "FoldConstant")
    assert "  tested only on modules that meet these conditions\n    - no distributed tensors\n" in text
    assert "  also           slow\n" in text


def test_every_pass_can_be_printed_in_full(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzer.cli.pass_sheets.drawn_expressions", lambda name: iter(()))
    for name in CONTRACTS:
        assert shown(capsys, name).startswith(f"{name}\n  stage ")


def test_claims_are_told_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    assert "- no function is dropped\n" in shown(capsys, "FastMathTransform")
    claims = loaded(capsys, "FastMathTransform")[0]["postconditions"]
    assert "no function goes" in {each["claim"] for each in claims}, "as signatures and JSON have it"


def test_examples_are_the_same_in_every_run() -> None:
    first = list(drawn_expressions("TopologicalSort", modules=4))
    assert len(first) >= 2
    assert first == list(drawn_expressions("TopologicalSort", modules=4))


def test_what_is_excluded(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "--excluded")
    for name, row in EXCLUDED.items():
        assert f"{name}: {row.why.value}" in text
    rows = {row["name"]: row for row in loaded(capsys, "--excluded")}
    assert rows.keys() == EXCLUDED.keys()
    assert rows["VMBuiltinLower"]["judged_as"] == ["LowerRuntimeBuiltin"]
    assert shown(capsys, "VMBuiltinLower").startswith("VMBuiltinLower: tested under another name\n")


def test_a_campaign_by_pass_and_oracle(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    lines = shown(capsys, "--campaign", campaign).splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("FuseOps ")]
    below = [line.split() for line in lines[at + 1 :]]
    assert lines[at].split()[:5] == ["FuseOps", "692", "2", "200", "15%"]
    assert ["crash", "600", "pass", "2", "fail"] in below
    assert ["numeric", "90", "pass", "73", "skip", "5", "reject"] in below
    assert ["70", "pass", "changed", "nothing"] in below
    assert max(map(len, lines)) <= 80
    flat = " ".join(" ".join(lines).split())
    assert "fewer than 500 verdicts:" in flat
    assert "FuseOps: numeric 160 (70 x pass changed nothing)" in flat  # unchanged ones count, the rate stands beside
    assert "FoldConstant" not in flat, "it was not to be tested"  # could have been judged and was not


def test_a_campaign_as_json(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    (row,) = [row for row in loaded(capsys, "--campaign", campaign) if row["name"] == "FuseOps"]
    assert row["trigger_rate"] == 0.15
    said = row["oracles"]["numeric"]
    assert (said["pass"], said["fail"], said["skip"], said["reject"]) == (90, 0, 73, 5)
    assert said["reasons"][0] == {"outcome": "skip", "reason": "pass changed nothing", "count": 70}
    assert row["hardly_judged"] == ["numeric"]
    (row,) = loaded(capsys, "FuseOps", "--campaign", campaign, "--least", "160")
    assert row["hardly_judged"] == []


def test_enough_verdicts(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    text = shown(capsys, "FuseOps", "--campaign", campaign, "--least", "160")
    assert text.endswith("every oracle has at least 160 verdicts on every pass\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fuseop",), "no pass is called 'fuseop'; did you mean FuseOps"),
        (("--least", "5"), "--least needs --campaign DIR"),
        (("--campaign", "nowhere", "--least", "many"), "'many' is not a count"),
        (("--campaign", "nowhere"), "'nowhere' does not exist"),
        (("--campaign", "nowhere", "--excluded"), "give --excluded or --campaign, not both"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    assert main(["passes", *arguments]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert streams.err.startswith("relaxfuzz: error: ")
    assert streams.err.count("\n") == 1


def test_rewrites_are_grouped_by_pass() -> None:
    coverage = Coverage(rewrites=Counter({("A", "x"): 1, ("A", "y"): 2, ("B", "z"): 3, ("A", "a"): 1}))
    assert rewrites_of(coverage) == {"A": [("y", 2), ("a", 1), ("x", 1)], "B": [("z", 3)]}


def test_many_passes_take_no_longer_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"P{number}" for number in range(2_000)]
    result = shard(0)
    result.tallies = Counter({("crash", name, "pass", ""): 1 for name in names})
    meta = {**META, "passes": json.dumps(names), "oracles": json.dumps([*OracleName])}
    with Store.create(tmp_path / "many", meta) as store:
        store.record_shard(result, 1.5)
    begun = time.process_time()
    rows = {row["name"]: row["hardly_judged"] for row in loaded(capsys, "--campaign", str(tmp_path / "many"))}
    assert time.process_time() - begun < 1.5
    assert [rows[name] for name in names] == [[*OracleName]] * len(names)
