import json
from dataclasses import replace
from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.family import Skeleton, Traits
from fuzzer.store import known
from fuzzer.store.writer import FindingState, Store
from oracles.core.verdict import NOTE
from reports.markdown import render_markdown
from reports.tables import load_report
from reports.text import render_text


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
    assert lines[0] == "Findings: by family, most severe first"
    headings = [line for line in lines[1:] if line.startswith("F")]
    assert headings[1].startswith(family), "the other one was seen more often, and both are as grave"
    assert len(headings) == 2
    below = lines[lines.index(headings[1]) + 1]
    assert "all with abs" in below, "what the minimized modules of a family have in common"
    assert lines[-1] == "3 findings in 2 families"


def test_both_levels_are_in_the_json(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    family = merge(directory)
    capsys.readouterr()
    assert main(["findings", directory, "--json"]) == 0
    three, two, one = json.loads(capsys.readouterr().out)
    assert len({one["id"], two["id"], three["id"]}) == 3
    assert one["family"]["id"] == two["family"]["id"] == family != three["family"]["id"]
    assert one["family"]["findings"] == [two["id"], one["id"]]
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
    heading = "Suspects: flaky, or not reproduced by a script; not counted as findings"
    findings, suspects = text.split(f"\n\n{heading}\n")
    shown = [[line.split()[0] for line in part.splitlines()[1:] if line[:1] == "F"] for part in (findings, suspects)]
    assert shown[0] == [family] == shown[1][1:]
    assert len(shown[1]) == 2
    assert [name in findings for name in (one, two, three)] == [False, True, False]
    assert [name in suspects for name in (one, two, three)] == [True, False, True]
    assert [line.split()[6] for line in suspects.splitlines() if " crash " in line] == ["flaky", "unscripted"]
    assert text.splitlines()[-1] == "1 finding in 1 family; 2 suspects in 2 families"
    assert all(len(line) <= 80 for line in text.splitlines())
    assert main(["findings", directory, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["state"], row["suspect"]) for row in rows] == [
        (two, "known", False), (three, "flaky", True), (one, "unscripted", True),
    ]  # fmt: skip


def test_suspects_alone(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    settle(directory, *[FindingState.FLAKY] * 3)
    assert main(["findings", directory]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Suspects: ")
    assert lines[-1] == "no findings; 3 suspects in 3 families"


def weigh(directory: str, *assessments: Assessment) -> list[str]:
    """Give the findings these assessments, and their ids."""
    with Store.open(Path(directory), read_only=False) as store:
        found = store.findings()
        for each, assessment in zip(found, assessments, strict=True):
            store.save_triage(each.id, each.state, None, 3, None, "", assessed=assessment)
    return [each.id for each in found]


def ids(directory: str, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    capsys.readouterr()
    assert main(["findings", directory, "--json", *options]) == 0
    return [row["id"] for row in json.loads(capsys.readouterr().out)]


def test_one_finding_is_shown_by_its_id(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = ids(directory, capsys)
    for given, shown in ((second, second), (first[:9], first)):
        assert main(["findings", directory, given, "--json"]) == 0
        assert [row["id"] for row in json.loads(capsys.readouterr().out)] == [shown]
    assert main(["findings", directory, "f" * 10]) == 2
    assert "has an id that begins with 'ffffffffff'" in capsys.readouterr().err


HARD, _, OURS, _ = EvidenceClass
S1, S2, S3, *_ = Severity


def test_the_gravest_come_first_then_stock_passes_and_what_is_seen_most(
    directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grave = (Assessment(HARD, S3, "FuseOps"), Assessment(HARD, S1, "FuseOps"), Assessment(HARD, S2, "FuseOps"))
    one, two, three = weigh(directory, *grave)
    assert ids(directory, capsys) == [two, three, one]
    weigh(directory, *(Assessment(HARD, S3, "FuseOps", stock=stock) for stock in (False, True, False)))
    assert ids(directory, capsys) == [two, three, one], "the third was seen four times"


def test_questions_have_a_part_of_their_own(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = Assessment(OURS, S1, "FuseOps", final=True)
    _, two, _ = weigh(directory, Assessment(HARD, S3, "FuseOps"), asked, Assessment(HARD, S3, "FuseOps"))
    capsys.readouterr()
    assert main(["findings", directory]) == 0
    text = capsys.readouterr().out
    findings, questions = text.split("\n\nQuestions: failures that break no documented promise; ")
    assert two not in findings
    assert two in questions
    assert text.splitlines()[-1] == "2 findings in 2 families; 1 question in 1 family"


def test_who_is_at_fault_and_why_stand_below(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    other = Assessment(HARD, Severity.S4, "\x1bLambdaLift", "needs local functions", final=True)
    weigh(directory, other, *[Assessment(HARD, S3, "FuseOps")] * 2)
    capsys.readouterr()
    assert main(["findings", directory]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines if "fault" in line] == ["at fault: ?LambdaLift; needs local functions"]


def test_filters_choose_and_limit(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    blamed = (Assessment(HARD, S3, "LambdaLift"), Assessment(HARD, S1, "FuseOps"), Assessment(HARD, S2, "FuseOps"))
    one, two, three = weigh(directory, *blamed)
    settled = (FindingState.CONFIRMED, FindingState.KNOWN, FindingState.CONFIRMED)
    settle(directory, *settled)
    assert ids(directory, capsys, "--severity", "S1", "--severity", "S3") == [two, one], (
        "the gravest first, known or not"
    )
    assert ids(directory, capsys, "--pass", "LambdaLift") == [one]
    assert ids(directory, capsys, "--pass", "FuseOps") == [two, three, one], "judged, or at fault"
    assert ids(directory, capsys, "--known") == [two]
    assert ids(directory, capsys, "--new") == [three, one]
    assert ids(directory, capsys, "--state", "known", "--oracle", "crash") == [two]
    assert ids(directory, capsys, "--limit", "1") == [two]
    settle(directory, FindingState.NEW, FindingState.KNOWN, FindingState.CONFIRMED)
    assert ids(directory, capsys, "--state", "untriaged") == ids(directory, capsys, "--state", "new") == [one]
    assert ids(directory, capsys, "--severity", "s2") == [three]
    assert main(["repro", directory, f"{three[:-1]}x"]) == 2
    assert f"(closest: {three}" in capsys.readouterr().err
    assert main(["findings", directory, "--pass", "FuseOp"]) == 2
    assert "the campaign has no pass 'FuseOp'; did you mean FuseOps?" in capsys.readouterr().err.replace(
        "'FuseOps'", "FuseOps"
    )
    assert main(["findings", directory, "--severity", "S5"]) == 0
    assert capsys.readouterr().out == "no match among 3 findings\n"
    settle(directory, FindingState.KNOWN, FindingState.KNOWN, FindingState.KNOWN)
    weigh(directory, *blamed[:2], Assessment(EvidenceClass.OURS, S3, "FuseOps"))
    told = (
        "o unknown findings: 2 findings and 1 question are known; "
        "leave out --new to list them. The gate counts as new what is neither on your list nor in a "
        "baseline whose findings the policy accepts"
    )
    assert main(["findings", directory, "--new"]) == main(["report", directory, "--new"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(f"n{told} ")
    assert main(["findings", directory, "--new", "--limit", "1"]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith(f"n{told}"), "of all that are known"
    assert shown.endswith(f" N{told}.")
    assert main(["findings", directory, "--new", "--severity", "S5"]) == 0
    assert capsys.readouterr().out == "no match among 2 findings and 1 question\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--severity", "S6"], "invalid choice: 'S6'"),
        (["--oracle", "crush"], "--oracle: 'crush' is not an oracle; did you mean crash?"),
        (["--limit", "0"], "invalid positive number value: '0'"),
        (["--new", "--known"], "not allowed with argument"),
    ],
)
def test_a_filter_that_does_not_exist_is_told(
    directory: str, capsys: pytest.CaptureFixture[str], options: list[str], complaint: str
) -> None:
    assert main(["findings", directory, *options]) == 2
    assert complaint in capsys.readouterr().err


def test_what_no_contract_speaks_of_is_told_behind_the_findings(
    directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = shard(1)
    result.tallies["idempotence", "Mine", "pass", f"{NOTE}a second run changes the module again"] = 7
    with Store.open(Path(directory), read_only=False) as store:
        store.record_shard(result, 2.0)
        report = replace(load_report(Path(directory)), findings=[])
    told = "Mine, in 7 modules: a second run changes the module again"
    assert main(["findings", directory]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == told
    assert f"\n{told}\n" in render_text(report)
    assert f"\n{told}.\n" in render_markdown(report, lambda _: "")


def test_a_campaign_that_judged_few_cases_says_so_behind_the_findings(
    directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = shard(1)
    result.tallies["crash", "Mine", "invalid", "it cannot be built"] = 200
    with Store.open(Path(directory), read_only=False) as store:
        store.record_shard(result, 2.0)
    assert main(["findings", directory]) == 0
    told = "Only 128 of 328 cases could be judged; most frequent reason: invalid: it cannot be built (200x)"
    assert " ".join(capsys.readouterr().out.split()).endswith(told)


def test_what_is_not_reported_upstream_is_chosen_apart(
    directory: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = ids(directory, capsys)
    reported = known.KnownAs("case", "It fails.", "https://github.com/apache/tvm/issues/1")
    local = known.KnownAs("issue 7", "It fails.", "https://example.org/7", listed=True)
    beside = replace(local, also=reported)
    told = {one: reported, two: local}
    monkeypatch.setattr(known, "recognize", lambda findings: told)
    assert ids(directory, capsys, "--new") == [three]
    assert ids(directory, capsys, "--unreported") == [three, two], "a list of one's own is not upstream"
    assert ids(directory, capsys, "--unreported", "--known") == [two]
    told[two] = beside
    assert ids(directory, capsys, "--unreported") == [three]
    assert main(["findings", directory]) == 0
    assert f"\n1 not reported upstream: relaxfuzz findings {directory} --unreported\n" in capsys.readouterr().out


def test_of_one_severity_new_ones_come_first(
    directory: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(Path(directory)) as store:
        gravest, *others = sorted(store.findings(), key=lambda each: each.rank)
    monkeypatch.setattr(known, "recognize", lambda findings: {gravest.id: known.KnownAs("case", "It fails.")})
    assert main(["findings", directory]) == 0
    text = capsys.readouterr().out
    assert {each.assessment.severity for each in others} == {gravest.assessment.severity}
    assert all(text.index(gravest.id) > text.index(each.id) for each in others if each.standing is gravest.standing)
    assert f"\n{len(others)} unknown: relaxfuzz findings {directory} --new\n" in text


def test_no_more_rows_are_laid_out_than_are_shown(
    directory: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fuzzer.core.terminal.MOST_ROWS", 1)
    monkeypatch.setattr("reports.text.MOST_ROWS", 1, raising=False)
    assert main(["findings", directory]) == 0
    assert "and 2 more rows; --json prints all" in capsys.readouterr().out
    assert main(["report", directory]) == 0
    said = capsys.readouterr().out
    assert "and 2 more findings: " in said
    assert sum(each.id in said for each in load_report(Path(directory)).findings) <= 2, "and one in a next step"


def test_commands_and_totals_count_the_whole_campaign(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    settle(directory, FindingState.NEW, FindingState.KNOWN, FindingState.CONFIRMED)
    for verb, total in (
        ("findings", "1 of 3 findings in 1 family"),
        ("report", "Selected from 3 findings\n1 finding: "),
    ):
        capsys.readouterr()
        assert main([verb, directory, "--limit", "1"]) == 0
        text = capsys.readouterr().out
        assert total in text
        assert "\n2 unknown: " in text
        assert "\n1 untriaged; to confirm and minimize it: " in text


def test_the_command_that_triages_is_told_where_only_questions_wait(
    directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    weigh(directory, *3 * [Assessment(OURS, S1, "FuseOps", final=True)])
    settle(directory, FindingState.CONFIRMED, FindingState.NEW, FindingState.CONFIRMED)
    for verb in ("findings", "report"):
        capsys.readouterr()
        assert main([verb, directory]) == 0
        assert "\n1 untriaged; to confirm and minimize it: relaxfuzz minimize " in capsys.readouterr().out
