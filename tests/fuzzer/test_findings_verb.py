import json
from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.findings.family import Skeleton, Traits
from fuzzer.store.writer import FindingState, Store


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A campaign of three findings, of which two show first in one elementary pass."""
    monkeypatch.chdir(tmp_path)
    long = "Check failed: (a_condition_that_is_long) is false: " + "words " * 30
    with Store.create(tmp_path / "c", META) as store:
        store.record_shard(shard(0, hit("boom", 1), hit("\x1b[31mcolour", 2), hit(long, 3, 4)), 1.0)
        for each, operators in zip(store.findings(), (("abs", "add"), ("abs",), ()), strict=True):
            traits = Traits("Normalize" if operators else "FuseOps", Skeleton(operators, ("if",)))
            store.save_triage(each.id, FindingState.CONFIRMED, None, 3, None, "", traits, 2.0)
    return str(tmp_path / "c")


def merge(directory: str) -> str:
    with Store.open(Path(directory)) as store:
        first, second, _ = (each.family.id for each in store.findings())
    assert main(["triage", "merge", first, second, "--reason", "one cause"]) == 0
    return first


def test_families_are_shown_with_their_findings(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    family = merge(directory)
    capsys.readouterr()
    assert main(["findings", directory]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert not any("\x1b" in line for line in lines)
    headings = [line for line in lines if line.startswith("F")]
    assert headings[0].startswith(family)
    assert len(headings) == 2
    assert "all with abs" in lines[3], "what the minimized modules of a family have in common"
    assert lines[-1] == "3 findings in 2 families"


def test_both_levels_are_in_the_json(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    family = merge(directory)
    capsys.readouterr()
    assert main(["findings", directory, "--json"]) == 0
    one, two, three = json.loads(capsys.readouterr().out)
    assert len({one["id"], two["id"], three["id"]}) == 3
    assert one["family"]["id"] == two["family"]["id"] == family != three["family"]["id"]
    assert one["family"]["findings"] == [one["id"], two["id"]]
    assert (one["family"]["by_hand"], three["family"]["by_hand"]) == (None, None)
    assert one["origin"] == "Normalize"
    assert (one["operators"], one["constructs"]) == (["abs", "add"], ["if"])


def test_one_family_alone(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    family = merge(directory)
    capsys.readouterr()
    assert main(["findings", directory, "--family", family, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert main(["findings", directory, "--family", "F000000000"]) == 2
    assert "no finding in" in capsys.readouterr().err


def test_a_wrong_file_of_decisions_is_told(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.toml").write_text("[[merge]]\n")
    assert main(["findings", directory, "--triage", "wrong.toml"]) == 2
    assert "wrong.toml:1: 'merge.1' needs 'into'" in capsys.readouterr().err


def settle(directory: str, *states: FindingState) -> list[str]:
    """Give the findings these states, and their ids."""
    with Store.open(Path(directory), read_only=False) as store:
        found = store.findings()
        for each, state in zip(found, states, strict=True):
            store.save_triage(each.id, state, None, 3, None, "", each.traits, 2.0)
    return [each.id for each in found]


def test_suspects_have_a_part_of_their_own(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A family with findings and suspects is in both parts, one of suspects alone only in theirs."""
    family = merge(directory)
    one, two, three = settle(directory, FindingState.UNSCRIPTED, FindingState.KNOWN, FindingState.FLAKY)
    capsys.readouterr()
    assert main(["findings", directory]) == 0
    text = capsys.readouterr().out
    heading = "Suspects: seen, but no script of theirs proves it; not counted as findings"
    findings, suspects = text.split(f"\n\n{heading}\n")
    shown = [[line.split()[0] for line in part.splitlines() if line[:1] == "F"] for part in (findings, suspects)]
    assert shown[0] == [family] == shown[1][:1]
    assert len(shown[1]) == 2
    assert [name in findings for name in (one, two, three)] == [False, True, False]
    assert [name in suspects for name in (one, two, three)] == [True, False, True]
    assert [line.split()[4] for line in suspects.splitlines() if " crash " in line] == ["unscripted", "flaky"]
    assert text.splitlines()[-1] == "1 finding in 1 family; 2 suspects in 2 families"
    assert all(len(line) <= 80 for line in text.splitlines())
    assert main(["findings", directory, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["state"], row["suspect"]) for row in rows] == [
        (one, "unscripted", True), (two, "known", False), (three, "flaky", True),
    ]  # fmt: skip


def test_suspects_alone(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    settle(directory, *[FindingState.FLAKY] * 3)
    assert main(["findings", directory]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Suspects: ")
    assert lines[-1] == "no findings; 3 suspects in 3 families"
