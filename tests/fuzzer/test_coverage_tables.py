"""What ``ops --campaign`` and ``passes --campaign`` show, at 80 columns and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sample_records import META, shard

from fuzzer.cli.main import main
from fuzzer.cli.operator_tables import ENDS, dtypes_text, ranks_text
from fuzzer.store.writer import Store


@pytest.fixture
def campaign(tmp_path: Path) -> str:
    result = shard(0)
    result.coverage.pairs = Counter({("relax.add", f"relax.op{number}"): number for number in range(1, 3 * ENDS)})
    result.coverage.judged["FuseOps"] = 200
    result.coverage.changed["FuseOps"] = 30
    result.coverage.rewrites = Counter({("FuseOps", "+call +function"): 25, ("FuseOps", "-many"): 5})
    result.coverage.idioms = Counter({"dropped_idiom": 4})
    with Store.create(tmp_path / "campaign", META) as store:
        store.record_shard(result, 1.5)
    return str(tmp_path / "campaign")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def loaded(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(shown(capsys, *arguments, "--json"))


def test_the_summary_comes_first(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    text = shown(capsys, "ops", "--campaign", campaign)
    assert text.startswith(
        "Campaign with seed 7, killed\n\nmodules    8, with 4.0 bindings on average\noperators  2 of "
    )
    assert f"pairs      {3 * ENDS - 1} distinct" in text
    (line,) = [line for line in text.splitlines() if line.startswith("add ")]
    assert line.split() == ["add", "binary", "2", "2", "?", "f32"]


@pytest.mark.parametrize("option", ["", "--pairs", "--features", "--idioms"])
def test_everything_fits_eighty_columns(capsys: pytest.CaptureFixture[str], campaign: str, option: str) -> None:
    text = shown(capsys, "ops", "--campaign", campaign, *([option] if option else []))
    assert max(map(len, text.splitlines())) <= 80
    assert max(map(len, shown(capsys, "passes", "--campaign", campaign).splitlines())) <= 80


def test_pairs_from_both_ends(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    text = shown(capsys, "ops", "--campaign", campaign, "--pairs")
    assert f"op{3 * ENDS - 1} " in text
    assert "op1 " in text
    assert f"op{ENDS + ENDS // 2} " not in text
    assert f"The rarest of {3 * ENDS - 1}; 1 occurred in one module only" in text


def test_features_with_their_shares(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    lines = shown(capsys, "ops", "--campaign", campaign, "--features").splitlines()
    assert lines[-1].split() == ["if", "3", "37.5%"], "the most frequent comes last"
    assert [line.split() for line in lines if line.startswith("tuples")] == [["tuples", "1", "12.5%"]]
    assert any(line.split()[1:] == ["0", "-"] for line in lines)


def test_idioms_that_are_no_longer_known_are_shown(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    rows = loaded(capsys, "ops", "--campaign", campaign)["idioms"]
    assert rows[-1] == {"name": "dropped_idiom", "modules": 4, "share": 0.5, "near_misses": []}
    assert "dropped_idiom" in shown(capsys, "ops", "--campaign", campaign, "--idioms")


def test_near_misses_stand_with_their_idiom(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from strategies.idioms import IDIOMS

    idiom = next(each for each in IDIOMS if each.near_misses)
    miss = idiom.near_misses[0].name
    result = shard(0)
    result.coverage.idioms = Counter({idiom.name: 2, f"{idiom.name}!{miss}": 1})
    with Store.create(tmp_path / "campaign", META) as store:
        store.record_shard(result, 1.5)
    found = loaded(capsys, "ops", "--campaign", str(tmp_path / "campaign"))
    (row,) = [row for row in found["idioms"] if row["name"] == idiom.name]
    assert (row["modules"], row["near_misses"][0]) == (2, {"name": miss, "modules": 1, "share": 0.125})
    assert (found["summary"]["idioms"], found["summary"]["near_misses"]) == (1, 1)


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    found = loaded(capsys, "ops", "--campaign", campaign)
    assert found.keys() == {"summary", "operators", "pairs", "features", "idioms"}
    assert found["summary"]["pairs"] == len(found["pairs"]) == 3 * ENDS - 1
    assert {row["name"]: row["modules"] for row in found["operators"]}["relax.add"] == 2
    (add,) = [row for row in found["operators"] if row["name"] == "relax.add"]
    assert (add["dtypes"], add["ranks"]) == (["float32"], [-1, 2])


def test_what_passes_did(capsys: pytest.CaptureFixture[str], campaign: str) -> None:
    text = shown(capsys, "passes", "--campaign", campaign)
    lines = text.splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("FuseOps ")]
    assert lines[at].split() == ["FuseOps", "64", "0", "200", "15%", "2"]
    assert lines[at + 1].split() == ["25", "+call", "+function"]
    assert lines[at + 3].split() == ["crash", "64", "pass"]
    assert "passes judged: 1; 0 changed at least 20% of their modules, 0 less than 5%" in text
    (row,) = [row for row in loaded(capsys, "passes", "--campaign", campaign) if row["name"] == "FuseOps"]
    assert (row["subjects"], row["changed"], row["distinct_rewrites"]) == (200, 30, 2)
    assert row["rewrites"][1] == {"rewrite": "-many", "count": 5}


@pytest.mark.parametrize("option", ["--pairs", "--features", "--idioms"])
def test_tables_of_a_campaign_need_one(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main(["ops", option]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"relaxfuzz: error: {option} needs --campaign DIR\n"


@pytest.mark.parametrize(
    ("ranks", "expected"), [([2, 0, 1, 4], "0-2,4"), ([-1], "?"), ([3, -1], "3 ?"), ([], ""), ([0, 2, 4], "0,2,4")]
)
def test_ranks_as_text(ranks: list[int], expected: str) -> None:
    assert ranks_text(ranks) == expected


def test_dtypes_as_text() -> None:
    dtypes = ["float32", "float16", "int64", "int8", "bool", "uint8", "bfloat16", "float8_e4m3fn", "unknown"]
    assert dtypes_text(dtypes) == "bf16 f16,32 f8 i8,64 u8 ? bool"
