"""Baselines: written, read back, compared, and refused when they are not what they should be."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from prepared_campaigns import CLEAN, TRIGGERS, campaign, finding_id

from fuzzer.campaign.setup import configure, open_campaign
from fuzzer.cli.main import main
from fuzzer.core.installed import installed
from fuzzer.gate.baseline import BaselineError, read_baseline, to_text
from fuzzer.gate.measured import MeasuredCampaign, measure
from fuzzer.store.records import SUSPECTS, FindingState
from fuzzer.store.writer import Store


def read(directory: Path) -> MeasuredCampaign:
    with Store.open(directory) as store:
        return measure(store)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return campaign(tmp_path_factory.mktemp("kept") / "campaign", CLEAN, {"boom": 7, "ba\x1bng": 1})


@pytest.fixture
def kept(directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "baseline.json"
    assert main(["baseline", str(directory), "--output", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: 3508 checks, 2 findings, TVM 0.27.0.post1\n"
    return path


def test_what_is_read_is_what_was_measured(directory: Path, kept: Path) -> None:
    measured, back = read(directory), read_baseline(kept)
    assert sorted(back.seen, key=lambda each: each.id) == sorted(measured.seen, key=lambda each: each.id)
    assert replace(back, seen=()) == replace(measured, seen=(), silences={}, records=())
    assert to_text(back) == kept.read_text()


def test_a_campaign_and_its_baseline_record_the_version_of_relaxfuzz(tmp_path: Path) -> None:
    config = configure({"passes": "FuseOps", "oracles": "crash", "max-examples": "1", "seed": "7"})
    with open_campaign(tmp_path / "now", config, installed()).store as store:
        begun = measure(store)
    (tmp_path / "kept.json").write_text(to_text(begun))
    assert read_baseline(tmp_path / "kept.json").info.relaxfuzz_version == metadata.version("relaxfuzz")


def test_it_is_small_and_a_line_an_entry(kept: Path) -> None:
    lines = kept.read_text().splitlines()
    assert len(kept.read_text()) < 2000
    assert '  "FuseOps": [1000, 600],' in lines
    assert len([line for line in lines if f'"id": "{finding_id("boom")}"' in line]) == 1


def test_standard_output(directory: Path, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", str(directory), "--output", "-"]) == 0
    assert capsys.readouterr().out == kept.read_text()


def test_nothing_changed(directory: Path, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", str(directory), "--compare", str(kept)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "10 comparisons: 0 worse, 0 better; 0 findings new, 0 gone"


def test_what_nobody_has_looked_into_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = "relaxfuzz: 2 of these findings are untriaged, that is, neither confirmed nor minimized\n"
    for state, said in ((FindingState.CONFIRMED, ""), (FindingState.NEW, told)):
        made = campaign(tmp_path / f"{state}", CLEAN, {"boom": 7, "bang": 1}, state=state)
        assert main(["baseline", str(made), "--output", str(tmp_path / "kept.json")]) == 0
        assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("state", "code", "said"),
    [
        ("finished", 0, ""),
        ("running", 3, "was killed before it finished"),
        ("interrupted", 3, "was interrupted before it finished"),
    ],
)
def test_a_campaign_that_did_not_finish_is_no_good_baseline(
    tmp_path: Path, state: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = campaign(tmp_path / "made", CLEAN)
    with Store.open(made, read_only=False) as store:
        store.set_meta(state=state)
    assert main(["baseline", str(made), "--output", str(tmp_path / "kept.json")]) == code
    told = f"relaxfuzz: the campaign {said}; resume it, or its baseline will miss findings\n"
    assert capsys.readouterr().err == (told if code else "")


def test_worse_better_new_and_gone(tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = {"FuseOps": (1000, 100), "LegalizeOps": (1000, 1000)}
    now = campaign(tmp_path / "now", CLEAN, {"boom": 7, "crack": 40}, changed, tvm_version="0.28.0")
    assert main(["baseline", str(now), "--compare", str(kept)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL  FuseOps: changed 10% of its modules, 60% in the baseline")
    assert "better LegalizeOps: changed 100%, 95% in the baseline" not in lines  # better, but no more than twice
    assert any(line.startswith(f"new   {finding_id('crack')} (40x) crash: FuseOps: ") for line in lines)
    assert any(line.startswith("gone  ") and "\x1b" not in line for line in lines)
    assert "note  the baseline was made with TVM 0.27.0.post1, the campaign with 0.28.0" in lines
    assert lines[-1] == "10 comparisons: 4 worse, 0 better; 1 finding new, 1 gone"
    assert main(["baseline", str(now), "--compare", str(kept), "--json"]) == 1
    values = json.loads(capsys.readouterr().out)
    assert next(row["subject"] for row in values["worse"]) == "FuseOps"
    assert [row["id"] for row in values["new"]] == [finding_id("crack")]


def test_an_oracle_without_checks_is_not_worse_but_too_little_evidence(
    tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = {key: count for key, count in CLEAN.items() if key[0] == "crash"}
    now = campaign(tmp_path / "now", counts, {"boom": 7, "ba\x1bng": 1})
    assert main(["baseline", str(now), "--compare", str(kept)]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("SHORT numeric: no checks at all; about 1500 were expected from the baseline's 1500 ")
    assert ": 0 worse, 0 better, 1 without checks; " in said
    assert main(["baseline", str(now), "--compare", str(kept), "--json"]) == 3
    values = json.loads(capsys.readouterr().out)
    assert values["worse"] == []
    assert [row["subject"] for row in values["short"]] == ["numeric"]


def test_better_is_said_with_both_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = campaign(tmp_path / "before", CLEAN, {"boom": 100}, {**TRIGGERS, "FuseOps": (1000, 100)})
    assert main(["baseline", str(before), "--output", str(tmp_path / "b.json")]) == 0
    now = campaign(tmp_path / "now", CLEAN)
    assert main(["baseline", str(now), "--compare", str(tmp_path / "b.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "better FuseOps: changed 60%, 10% in the baseline" in lines
    assert "better FuseOps crash: pass rate 100%, 90.909% in the baseline" in lines


@pytest.mark.parametrize("state", sorted(SUSPECTS))
def test_suspects_are_kept_and_compared_apart(
    state: FindingState, tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now, path = campaign(tmp_path / "now", CLEAN, {"boom": 7, "crack": 1}, state=state), tmp_path / "suspects.json"
    assert main(["baseline", str(now), "--output", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: 3508 checks, 0 findings, 2 suspects, TVM 0.27.0.post1\n"
    assert [each.suspect for each in read_baseline(path).seen] == [True, True]
    assert main(["baseline", str(now), "--compare", str(kept)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(f"new   {finding_id('crack')} (1x, suspect) crash: FuseOps: ") for line in lines)
    assert lines[-1].endswith("; 0 findings new, 1 gone; 1 suspect new, 0 gone")
    assert main(["baseline", str(now), "--compare", str(kept), "--json"]) == 0
    assert [row["suspect"] for row in json.loads(capsys.readouterr().out)["new"]] == [True]


def broken(kept: Path, **changes: Any) -> str:
    values = json.loads(kept.read_text())
    for key, value in changes.items():
        values[key] = value
        if value is None:
            del values[key]
    kept.write_text(json.dumps(values))
    with pytest.raises(BaselineError) as caught:
        read_baseline(kept)
    message = str(caught.value)
    assert message.startswith(f"{kept}: ")
    assert "\n" not in message
    return message.removeprefix(f"{kept}: ")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"format": None}, "is not a baseline: it has no 'format'"),
        ({"format": 3}, "its format is 3, this version reads 'relaxfuzz-baseline-2'"),
        ({"columns": ["passed"]}, "'columns' must be passed, failed, skipped, rejected, invalid, undecidable"),
        ({"campaign": None}, "'campaign' is missing"),
        ({"campaign": {"seed": True}}, "'campaign.seed' is invalid: Expected `int`, got `bool`"),
        ({"campaign": {"seed": 1}}, "'campaign.started_at' is missing"),
        ({"verdicts": {"crash": {"FuseOps": [1, 2]}}}, "'verdicts.crash.FuseOps' must contain 6 counts"),
        ({"verdicts": {"crash": {"FuseOps": [1, 2, 0, 0, 0, -1]}}}, "'verdicts.crash.FuseOps' must contain 6 counts"),
        (
            {"verdicts": {"crash": {"FuseOps": [10**400, 2, 0, 0, 0, 0]}}},
            "'verdicts.crash.FuseOps' must contain 6 counts",
        ),
        ({"verdicts": {"crash": []}}, "'verdicts.crash' is invalid: Expected `object`, got `array`"),
        ({"triggers": {"FuseOps": [1, 2]}}, "'triggers.FuseOps' has more changed modules than judged ones"),
        ({"findings": [7]}, "'findings.1' is invalid: Expected `object`, got `int`"),
        ({"findings": [{"count": 1}]}, "'findings.1.id' is missing"),
    ],
)
def test_what_is_no_baseline_is_refused_in_one_line(kept: Path, changes: dict[str, Any], complaint: str) -> None:
    assert broken(kept, **changes) == complaint


def test_bad_input_is_one_line(directory: Path, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("no JSON")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    empty = campaign(tmp_path / "empty", {}, triggers={})
    for arguments, complaint in (
        ([str(directory)], "one of the arguments --output --compare is required"),
        ([str(directory), "--output", "a", "--compare", "b"], "not allowed with argument"),
        ([str(directory), "--compare", str(tmp_path / "absent")], "absent: No such file or directory"),
        ([str(directory), "--compare", str(tmp_path / "text")], "text: is not a baseline: "),
        ([str(directory), "--compare", str(tmp_path / "bytes")], "bytes: is not a baseline: "),
        ([str(directory), "--output", str(tmp_path / "no" / "where")], "cannot write"),
        ([str(directory), "--output", "-", "--json"], "--json needs --compare"),
        ([str(tmp_path), "--compare", str(kept)], "contains no campaign"),
        ([str(empty), "--output", "-"], "the campaign has no checks"),
    ):
        assert main(["baseline", *arguments]) == 2
        captured = capsys.readouterr()
        assert complaint in captured.err
        assert captured.err.count("\n") == 1
        assert captured.out == ""
