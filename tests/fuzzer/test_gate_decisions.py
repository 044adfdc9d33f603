"""The gate's decisions on prepared campaigns: exit code and deciding line of each."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from prepared_campaigns import CLEAN, TRIGGERS, campaign, finding_id

from fuzzer.cli.main import main
from fuzzer.core.text import shell
from fuzzer.findings.family import Traits
from fuzzer.gate.ruling import MOST
from fuzzer.store.known import KnownAs
from fuzzer.store.records import FindingState
from fuzzer.store.writer import Store

POLICY = """\
[oracles.crash]
min_pass_rate = 0.99
min_checks = 1000
[oracles.numeric]
min_pass_rate = 0.99
min_checks = 1000
max_skip_share = 0.5
max_reject_share = 0.05
max_undecidable_share = 0.02
[passes."*"]
min_trigger_rate = 0.05
"""
AIM = "`run --operators` or `run --plant` generates more of what a pass acts on, a longer --time more of everything"
REFERENCE = 'reference = "https://example.org/1"\nreason = "reported"\n'


def known(*messages: str, more: str = "") -> str:
    return "".join(f'[[known]]\nid = "{finding_id(message)}"\n{REFERENCE}{more}' for message in messages)


class Gate:
    """Runs ``relaxfuzz gate`` and keeps what it printed."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys
        self.lines: list[str] = []
        self.errors = ""

    def baseline(self, *arguments: Any, **meta: str) -> str:
        """Keep a campaign as the baseline; gives the policy's line for it."""
        kept = campaign(self.directory / "before", *arguments, **meta)
        assert main(["baseline", str(kept), "--output", str(self.directory / "baseline.json")]) == 0
        return 'baseline = "baseline.json"\n'

    def __call__(self, directory: Path, policy: str, *options: str) -> int:
        path = self.directory / "policy.toml"
        path.write_text(policy)
        self._capsys.readouterr()
        code = main(["gate", str(directory), "--policy", str(path), *options])
        captured = self._capsys.readouterr()
        self.lines, self.errors = captured.out.splitlines(), captured.err
        return code


@pytest.fixture
def gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Gate:
    return Gate(tmp_path, capsys)


def test_clean(gate: Gate) -> None:
    assert gate(campaign(gate.directory / "now", CLEAN), POLICY) == 0
    assert gate.lines == [
        "ok    crash: pass rate 100% (at least 99%; 2000 of 2000, 99.808% to 100%)",
        "ok    numeric: pass rate 100% (at least 99%; 1500 of 1500, 99.744% to 100%)",
        "ok    numeric: 5.625% skipped (at most 50%; 90 of 1600)",
        "ok    numeric: 0.5% rejected (at most 5%; 10 of 2000)",
        "ok    numeric: 0% undecidable (at most 2%; 0 of 1500)",
        "ok    met 4 requirements that the policy sets for each oracle and pass",
        "gate passed: TVM 0.27.0.post1, 3500 checks, 0 new findings, 0 known, 0 suspects",
    ]


def test_one_new_finding(gate: Gate) -> None:
    assert gate(campaign(gate.directory / "now", CLEAN, {"boom": 1}), POLICY) == 1
    name = finding_id("boom")
    assert gate.lines == [
        f"FAIL  new finding {name} S3? crash FuseOps: boom (1x)",
        f"      script: {gate.directory}/now/repros/{name}.py",
        f"note  campaign: to reproduce {name}: `{shell('python')} {gate.directory}/now/repros/{name}.py`",
        f"note  campaign: to accept {name}: add a [[known]] table to {gate.directory}/policy.toml",
        "gate FAILED: TVM 0.27.0.post1, 3501 checks, 1 new finding, 0 known, 0 suspects",
    ]


def test_only_known_findings(gate: Gate) -> None:
    """400 failures of known findings: they neither fail the gate nor lower the rate."""
    now = campaign(gate.directory / "now", CLEAN, {"boom": 300, "bang": 100})
    assert gate(now, POLICY + known("boom", "bang")) == 0
    assert gate.lines[0].startswith("ok    crash: pass rate 100% (at least 99%; 2000 of 2000")
    assert gate.lines[0].endswith("; 83.333% with 400 excused failures")
    assert gate.lines[-1].endswith("2 known, 0 suspects")


def test_known_but_one(gate: Gate) -> None:
    assert gate(campaign(gate.directory / "now", CLEAN, {"boom": 300, "bang": 1}), POLICY + known("boom")) == 1
    assert gate.lines[0].startswith(f"FAIL  new finding {finding_id('bang')} S3? crash FuseOps: bang (1x)")


@pytest.mark.parametrize(("state", "code"), [(FindingState.FLAKY, 0), (FindingState.UNSCRIPTED, 3)])
def test_only_suspects(gate: Gate, state: FindingState, code: int) -> None:
    now = campaign(gate.directory / "now", CLEAN, {"boom": 1}, state=state)
    assert gate(now, f'baseline = "first.json"\n{POLICY}') == code
    assert (gate.directory / "first.json").exists() is (code == 0)
    assert any(line.startswith("note  campaign: to accept") for line in gate.lines) is (code == 3)
    assert f"suspect {finding_id('boom')} S3? crash FuseOps: boom (1x)" in "\n".join(gate.lines)


def test_an_expired_entry(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """It still excuses its finding, so that the gate says what is the matter: the entry, not the defect."""
    now = campaign(gate.directory / "now", CLEAN, {"boom": 300})
    entry = known("boom", more="expires = 2027-03-01\n")
    name = finding_id("boom")
    monkeypatch.setenv("RELAXFUZZ_TODAY", "2027-02-28")
    assert gate(now, POLICY + entry) == 0
    monkeypatch.setenv("RELAXFUZZ_TODAY", "2027-03-01")
    assert gate(now, POLICY + entry) == 1
    assert gate.lines[0] == f"FAIL  the entry for {name} in the policy (https://example.org/1): expired on 2027-03-01"
    assert (
        gate.lines[-1]
        == "gate FAILED by known_entries: TVM 0.27.0.post1, 3800 checks, 0 new findings, 1 known, 0 suspects"
    )
    assert gate(now, POLICY + '[known_entries]\nexpired = "note"\n' + entry) == 0
    assert f"note  the entry for {name} in the policy (https://example.org/1): expired on 2027-03-01" in gate.lines


def test_an_entry_for_another_release_excuses_nothing(gate: Gate) -> None:
    now = campaign(gate.directory / "now", CLEAN, {"boom": 300})
    entry = known("boom", more='tvm = "<0.27"\n')
    assert gate(now, entry) == 1
    name = finding_id("boom")
    assert gate.lines[0].startswith(f"FAIL  new finding {name} S3? crash FuseOps: boom (300x)")
    told = f"the entry for {name} in the policy (https://example.org/1): "
    assert f"note  {told}does not apply to TVM 0.27.0.post1" in gate.lines
    assert gate(campaign(gate.directory / "clean", CLEAN), '[known_entries]\nout_of_range = "fail"\n' + entry) == 1
    assert gate.lines[0].startswith(f"FAIL  {told}")


def test_a_stale_entry(gate: Gate) -> None:
    """Three campaigns that judged its pass did not meet it, two of them kept as baselines only."""
    dates = [f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3)]
    first, second, now = (campaign(gate.directory / date[:10], CLEAN, started_at=date) for date in dates)
    kept = gate.directory / "second.json"
    assert main(["baseline", str(second), "--output", str(kept)]) == 0
    policy = "[known_entries]\nstale_after = 3\nstale = {}\n" + known("boom", more='pass = "FuseOps"\n')
    name = finding_id("boom")
    told = f"the entry for {name} in the policy (https://example.org/1): did not occur in the last 3 campaigns"
    assert gate(now, policy.format('"note"'), "--history", str(first), str(kept)) == 0
    assert any(line.startswith(f"note  {told}") for line in gate.lines)
    assert gate(now, policy.format('"fail"'), "--history", str(first), str(kept)) == 1
    assert gate.lines[0].startswith(f"FAIL  {told}")
    assert gate(now, policy.format('"fail"'), "--history", str(first)) == 0  # two campaigns are not three


def test_a_known_family(gate: Gate) -> None:
    """Every finding of a family is excused, those of others are not."""
    now = campaign(gate.directory / "now", CLEAN, {"boom": 3, "an altogether other complaint": 1})
    (boom,) = (each for each in families(now) if each[1] == finding_id("boom"))
    assert gate(now, f'[[known]]\nfamily = "{boom[0]}"\n{REFERENCE}') == 1
    assert gate.lines[-1].endswith("1 new finding, 1 known, 0 suspects")


def families(directory: Path) -> list[tuple[str, str]]:
    with Store.open(directory) as store:
        return [(each.family.id, each.id) for each in store.findings()]


def test_too_little_evidence(gate: Gate) -> None:
    few = {key: count // 10 for key, count in CLEAN.items()}
    assert gate(campaign(gate.directory / "now", few), POLICY) == 3
    assert (
        gate.lines[0] == "SHORT crash: 200 checks, at least 1000 needed; at this speed, about 50 min"
    )  # 10 min gave 200
    assert gate.lines[1].startswith("SHORT crash: pass rate 100% (at least 99%; 200 of 200, 98.115% to 100%); 381")
    assert gate.lines[-1].startswith("gate NOT ENOUGH EVIDENCE: ")


def test_all_skipped(gate: Gate) -> None:
    silent = {("numeric", "FuseOps", "skip", "original does not build"): 2000, **_only("crash")}
    now = campaign(gate.directory / "now", silent)
    assert gate(now, "[oracles.numeric]\n") == 3
    assert gate.lines[0] == (
        "SHORT numeric: 0 checks, at least 1 needed; 2000 skips, 0 rejects; "
        "most frequent reason: original does not build"
    )
    assert gate(now, POLICY) == 1
    assert gate.lines[0] == (
        "FAIL  numeric: 100% skipped (at most 50%; 2000 of 2000), mostly 2000 x original does not build"
    )


def _only(oracle: str) -> dict[tuple[str, str, str, str], int]:
    return {key: count for key, count in CLEAN.items() if key[0] == oracle}


def test_nothing_was_judged_and_nothing_demanded(gate: Gate) -> None:
    assert gate(campaign(gate.directory / "now", {}, triggers={}), "") == 3
    assert gate.lines[0] == "SHORT campaign: it has no checks at all"


def test_a_campaign_of_which_most_is_invalid_is_not_green(gate: Gate) -> None:
    said = dict.fromkeys((("crash", "make", "pass", ""), ("crash", "make", "invalid", "it cannot be built")), 100)
    assert gate(campaign(gate.directory / "half", said), "") == 0
    said["crash", "make", "invalid", "it cannot be built"] += 1
    assert gate(campaign(gate.directory / "more", said), "") == 3
    line = "SHORT campaign: 101 verdicts are invalid and do not count, mostly: it cannot be built"
    assert line in gate.lines


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {("numeric", "FuseOps", "skip", "undecidable: decision downstream of rounding"): 40},
            "FAIL  numeric: 2.597% undecidable (at most 2%; 40 of 1540), mostly 40 x undecidable: decision ",
        ),
        (
            {("numeric", "LegalizeOps", "reject", "one block only"): 150},
            "FAIL  numeric: 7.441% rejected (at most 5%; 160 of 2150), mostly 150 x one block only, 10 x new types ",
        ),
    ],
)
def test_too_much_without_judgement(gate: Gate, changes: dict[tuple[str, str, str, str], int], line: str) -> None:
    assert gate(campaign(gate.directory / "now", {**CLEAN, **changes}), POLICY) == 1
    assert gate.lines[0].startswith(line)


@pytest.mark.parametrize(("proved", "code"), [(100, 1), (700, 0)])
def test_a_share_of_proof_can_be_demanded(gate: Gate, proved: int, code: int) -> None:
    agreements = {
        ("numeric", "FuseOps", "pass", "proved"): proved,
        ("numeric", "FuseOps", "pass", "executed"): 1000 - proved,
    }
    policy = "[oracles.numeric]\nmax_unproved_share = 0.5\n"
    assert gate(campaign(gate.directory / "now", {**_only("crash"), **agreements}), policy) == code
    share = "90%" if code else "30%"
    line = f"numeric: {share} of agreements not proved (at most 50%; {1000 - proved} of 1000)"
    assert any(line in each for each in gate.lines)
    assert gate(campaign(gate.directory / "other", _only("crash")), policy) == 3


def test_a_new_finding_names_the_command_that_accepts_it(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever file the policy reads; the command works."""
    monkeypatch.chdir(gate.directory)
    now, name = campaign(Path("now"), CLEAN, {"boom": 1}), finding_id("boom")
    for file, option in (("findings.toml", ""), ("accepted.toml", " --file accepted.toml")):
        Path(file).write_text("")
        policy = f'known = "{file}"\n'
        assert gate(now, policy) == 1
        assert gate.lines[0] == f"FAIL  new finding {name} S3? crash FuseOps: boom (1x)"
        assert gate.lines[1] == f"      script: now/repros/{name}.py"
        told = f"triage known {name} --reference URL --reason TEXT --campaign now{option}"
        assert gate.lines[3] == f"note  campaign: to accept {name}: `relaxfuzz {told}`"
        assert main(told.replace("URL", "https://example.org/1").split()) == 0
        assert gate(now, policy) == 0


def test_a_finding_with_a_family_is_accepted_by_it(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(gate.directory)
    now, boom, bang = campaign(Path("now"), CLEAN, {"boom": 1, "bang": 1}), finding_id("boom"), finding_id("bang")
    with Store.open(now, read_only=False) as store:
        for name in (boom, bang):
            store.save_triage(name, FindingState.CONFIRMED, None, None, None, "", Traits("FuseOps"))
    family = dict(map(reversed, families(now)))[boom]
    Path("findings.toml").write_text(
        f'{known("bang")}[[merge]]\ninto = "{family}"\nids = ["{bang}"]\nreason = "one cause"\n'
    )
    policy = 'known = "findings.toml"\n'
    assert gate(now, policy) == 1
    told = f"triage known {family} --reference URL --reason TEXT --campaign now"
    (line,) = (each for each in gate.lines if "to accept" in each)
    assert f"to accept {family} (the family of {boom}): `relaxfuzz {told}`; {bang} of the same" in line
    assert main(told.replace("URL", "https://example.org/1").split()) == 0
    assert gate(now, policy) == 0


def test_each_family_names_the_command_that_accepts_it(gate: Gate) -> None:
    now, names = campaign(gate.directory / "now", CLEAN, {"boom": 1, "bang": 1, "crack": 1}), ("boom", "bang")
    with Store.open(now, read_only=False) as store:
        for name in names:
            store.save_triage(finding_id(name), FindingState.CONFIRMED, None, None, None, "", Traits("FuseOps"))
    assert gate(now, "[oracles.crash]\n") == 1
    accepted = [line.split("to accept ")[1].split(":")[0].split()[0] for line in gate.lines if "to accept" in line]
    family = dict(map(reversed, families(now)))
    alone = finding_id("crack")
    together = family[finding_id("boom")]
    assert sorted(accepted) == sorted({together, family[finding_id("bang")], alone})
    assert gate(now, f"[oracles.crash]\n{known('crack')}") == 1
    assert not any("already listed" in line for line in gate.lines), "crack is of another family"
    many = campaign(gate.directory / "many", CLEAN, {f"boom{letter}": 1 for letter in "abcdefghijkl"})
    assert gate(many, "[oracles.crash]\n") == 1
    assert sum("to accept" in line for line in gate.lines) == MOST


def test_new_findings_beside_a_baseline_name_the_commands_that_make_it_grow(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(gate.directory)
    policy = gate.baseline(CLEAN, {"boom": 6}, seed="1") + "[regression]\naccept_findings = true\n"
    campaign(Path("now"), CLEAN, {"bang": 1}, seed="2")
    assert gate(Path("now"), policy) == 1
    (line,) = (each for each in gate.lines if "to accept all of them" in each)
    commands = [each.split()[1:] for each in re.findall("`(.*?)`", line)]
    assert [each[:3] for each in commands] == [["merge", "before", "now"], ["baseline", "campaign-merged", "--output"]]
    assert [main(each) for each in commands] == [0, 0]
    assert gate(Path("now"), policy) == 0
    assert gate(Path("before"), policy) == 0
    campaign(Path("later"), CLEAN, {"crack": 1}, seed="3")
    assert gate(Path("later"), policy) == 1
    assert any("merge campaign-merged later --out campaign-merged-1`" in each for each in gate.lines), gate.lines
    shutil.rmtree("campaign-merged")
    assert gate(Path("later"), policy) == 1
    (line,) = (each for each in gate.lines if "to accept all of them" in each)
    assert "merge EARLIER later --out campaign-merged`" in line
    told = "; EARLIER is the campaign that the baseline was made from, which was called campaign-merged"
    assert line.endswith(told)


def test_a_baseline_that_is_given_is_the_one_that_is_named(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(gate.directory)
    policy = gate.baseline(CLEAN) + "[regression]\naccept_findings = true\n"
    Path("baseline.json").rename("other.json")
    assert gate(campaign(Path("now"), CLEAN, {"bang": 1}), policy, "--baseline", "other.json") == 1
    assert any("--output other.json`" in line for line in gate.lines), gate.lines


def test_a_baseline_that_does_not_exist_is_told_first_with_what_may_be_meant(gate: Gate) -> None:
    accepting = "[regression]\naccept_findings = true\n[oracles.crash]\n"
    missing = gate.directory / "basline.json"
    now = campaign(gate.directory / "now", CLEAN, {"boom": 1})
    assert gate(now, f'baseline = "{missing.name}"\n{accepting}') == 1
    assert gate.lines[0] == f"note  baseline: {missing} does not exist yet, so nothing is compared"
    (line,) = (each for each in gate.lines if "to accept all of them" in each)
    assert line.endswith("; basline.json does not exist yet. If you misspelled it, correct the policy first")


@pytest.mark.parametrize("name", ["basline.json", "nightly.json"])
def test_a_baseline_that_does_not_exist_beside_one_that_no_policy_names_is_refused(gate: Gate, name: str) -> None:
    """It was accepted, and a green campaign was written under the misspelled name."""
    gate.baseline(CLEAN)
    now = campaign(gate.directory / "now", CLEAN)
    for options in ((str(now),), ("--check",)):
        assert gate(Path(options[0]), f'baseline = "{name}"\n[oracles.crash]\n') == 2
        assert gate.errors.count("\n") == 1
        assert f"'baseline' names '{name}', which does not exist, but 'baseline.json' does" in gate.errors
    assert not (gate.directory / name).exists()


def test_the_baseline_of_another_policy_is_not_what_is_meant(gate: Gate) -> None:
    """As after `init --name tvm`: a gate that has no baseline yet stands beside one that has."""
    (gate.directory / "policy-tvm.toml").write_text(gate.baseline(CLEAN))
    policy = 'baseline = "baseline-tvm.json"\n[oracles.crash]\n'
    now = campaign(gate.directory / "now", CLEAN)
    assert gate(Path("--check"), policy) == 0
    assert gate.lines[-1].endswith("yet: the first campaign that passes becomes the baseline")
    assert gate(now, policy) == 0
    assert "there was no baseline yet, so this campaign was saved as" in gate.errors
    assert not any("does not exist" in line for line in gate.lines), "it was saved"
    assert (gate.directory / "baseline-tvm.json").exists()


def test_a_baseline_of_other_passes_names_the_command_that_replaces_it(gate: Gate) -> None:
    policy = gate.baseline(CLEAN) + "[oracles.crash]\n"
    now = campaign(gate.directory / "now", CLEAN, passes='["FuseOps"]')
    assert gate(now, policy) == 3
    file = gate.directory / "baseline.json"
    assert gate.lines[0].endswith(f"to replace it: `relaxfuzz baseline {now} --output {file}`")
    assert "note  campaign: LegalizeOps was tested in the baseline but not in the campaign" in gate.lines


def test_the_baseline_of_another_gate_is_named_and_neither_replaced_nor_merged(gate: Gate) -> None:
    """The advice was to write this campaign's baseline over it, and to merge campaigns of different passes."""
    policy = gate.baseline(CLEAN) + "[regression]\naccept_findings = true\n[oracles.crash]\n"
    now = campaign(gate.directory / "now", CLEAN, {"boom": 1}, passes='["Normalize"]')
    assert gate(now, policy) == 1
    (line,) = (each for each in gate.lines if each.startswith("SHORT campaign: "))
    assert gate.lines[0] == line, "it explains the findings that are not in it"
    assert line.endswith(f"not compared: {gate.directory}/baseline.json looks like the baseline of another gate")
    assert not any("relaxfuzz baseline" in each or "relaxfuzz merge" in each for each in gate.lines)


def test_a_pass_without_modules_is_told_in_words(gate: Gate) -> None:
    now = campaign(gate.directory / "now", CLEAN, passes='["FuseOps", "LegalizeOps", "Normalize"]')
    assert gate(now, '[passes."*"]\nmin_trigger_rate = 0.01\n') == 3
    told = "SHORT Normalize: no modules that show whether the pass changes at least 1% of them"
    assert told in gate.lines


@pytest.mark.parametrize(("changed", "code"), [(0, 3), (19, 3), (20, 0)])
def test_a_pass_that_changed_few_modules_is_not_green(gate: Gate, changed: int, code: int) -> None:
    now = campaign(gate.directory / "now", CLEAN, triggers={"FuseOps": (200, changed)}, passes='["FuseOps"]')
    assert gate(now, '[passes."*"]\nmin_changed = 20\n') == code
    told = (
        f"SHORT FuseOps: changed {changed} of 200 modules, at least 20 needed"
        f"{'; at this speed, about 11 min' if changed else ''}"
    )
    assert (told in gate.lines) is (code == 3)
    assert (f"      {AIM}" in gate.lines) is (code == 3)


def test_a_pass_that_always_failed_is_told_by_its_findings_and_without_advice(gate: Gate) -> None:
    now = campaign(gate.directory / "now", {}, {"boom": 30}, triggers={"FuseOps": (30, 0)}, passes='["FuseOps"]')
    assert gate(now, '[campaign]\nmin_pass_rate = 0.9\n[passes."*"]\nmin_changed = 20\n') == 1
    assert gate.lines[0].startswith("FAIL  new finding ")
    assert any(line.startswith("FAIL  campaign: pass rate 0%") for line in gate.lines[1:])
    told = "SHORT FuseOps: changed 0 of 30 modules, at least 20 needed; the pass failed on every module"
    assert told in gate.lines
    assert f"      {AIM}" not in gate.lines


def test_regression(gate: Gate) -> None:
    """2% of the crash oracle's checks of one pass fail, all of known findings before, half of them unknown now."""
    policy = gate.baseline(CLEAN) + 'known = "known.toml"\n[oracles.crash]\nnew_findings = "note"\n'
    (gate.directory / "known.toml").write_text(known("boom"))
    now = campaign(gate.directory / "now", CLEAN, {"boom": 20, "bang": 20})
    assert gate(now, policy) == 1
    assert [line.partition("(")[0] for line in gate.lines[:3]] == [
        "FAIL  crash: pass rate 99.009%, 100% in the baseline ",
        "FAIL  FuseOps: pass rate 98.765%, 100% in the baseline ",
        "FAIL  FuseOps crash: pass rate 98.039%, 100% in the baseline ",
    ]
    assert gate.lines[2].endswith("(1000 of 1020, 1000 of 1000; p = 1.1e-06)")
    assert any(
        line.startswith("ok    baseline: 5 comparisons had enough data to detect a change (significance level ")
        for line in gate.lines
    )
    assert gate.lines[-1].startswith("gate FAILED by regression: ")


def test_noise_is_no_regression(gate: Gate) -> None:
    """From 6 failures in 1,000 to 12: twice as many; of equal campaigns one in eight looks like it."""
    policy = gate.baseline(CLEAN, {"boom": 6}) + "[regression]\naccept_findings = true\n[oracles.crash]\n"
    assert gate(campaign(gate.directory / "now", CLEAN, {"boom": 12}), policy) == 0
    assert gate.lines[0].startswith("ok    crash: 2012 checks")
    assert f"note  in the baseline: {finding_id('boom')} S3? crash FuseOps: boom (12x)" in "\n".join(gate.lines)


def test_a_new_finding_is_not_in_the_baseline_only_if_there_is_one(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fuzzer.gate.judge.recognize",
        lambda found, _: {each.id: KnownAs("a-case", "why", "", False, False) for each in found},
    )
    policy = 'baseline = "none-yet.json"\n[regression]\naccept_findings = true\n[oracles.crash]\n'
    now = campaign(gate.directory / "now", CLEAN, {"boom": 1})
    assert gate(now, policy) == 1
    shown = [gate.lines]
    assert gate(now, gate.baseline(CLEAN) + policy.partition("\n")[2]) == 1
    shown.append(gate.lines)
    for lines, said in zip(shown, (False, True), strict=True):
        known_line = lines[2 if said else 3]
        assert known_line.startswith("      not in the baseline; ") is said, lines
        assert known_line.startswith("      not on your list; ") is not said, lines


@pytest.mark.parametrize(
    ("known_here", "said"),
    [
        ({"boom": True, "bang": True}, "2 new findings (all known in relaxfuzz's corpus)"),
        ({"boom": True, "bang": False}, "2 new findings (1 known in relaxfuzz's corpus)"),
        ({"boom": False, "bang": False}, "2 new findings"),
    ],
)
def test_the_last_line_tells_new_from_unknown(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, known_here: dict[str, bool], said: str
) -> None:
    """What is new under the policy may be long known; what is only perhaps known is not counted."""
    certain = {finding_id(message): here for message, here in known_here.items()}
    monkeypatch.setattr(
        "fuzzer.gate.judge.recognize",
        lambda found, _: {each.id: KnownAs("a-case", "why", certain=certain[each.id]) for each in found},
    )
    assert gate(campaign(gate.directory / "now", CLEAN, {"boom": 1, "bang": 1}), "[oracles.crash]\n") == 1
    assert gate.lines[-1] == f"gate FAILED: TVM 0.27.0.post1, 3502 checks, {said}, 0 known, 0 suspects"


def test_a_known_finding_that_became_frequent_is_no_regression(gate: Gate) -> None:
    policy = gate.baseline(CLEAN, {"boom": 1}) + known("boom")
    assert gate(campaign(gate.directory / "now", CLEAN, {"boom": 300}), policy) == 0


def test_trigger_rates_collapsed_against_the_baseline(gate: Gate) -> None:
    policy = gate.baseline(CLEAN) + "[oracles.crash]\n"
    now = campaign(gate.directory / "now", CLEAN, triggers={**TRIGGERS, "FuseOps": (1000, 250)})
    assert gate(now, policy) == 1
    assert gate.lines[0] == (
        "FAIL  FuseOps: changed 25% of its modules, 60% in the baseline (250 of 1000, 600 of 1000; p = 9.5e-58)"
    )
    halved = campaign(gate.directory / "halved", CLEAN, triggers={**TRIGGERS, "FuseOps": (1000, 310)})
    assert gate(halved, policy) == 0  # less, but more than half of what it was


def test_a_pass_that_ceased_to_act_is_told_by_its_lines_and_without_other_advice(gate: Gate) -> None:
    policy = "[passes.FuseOps]\nmin_changed = 20\n"
    lines = {("/home/me/own.py", 7): True, ("/home/me/own.py", 9): False, ("/home/me/own.py", 10): False}
    idle = {"triggers": {**TRIGGERS, "FuseOps": (1000, 0)}, "lines": lines}
    said = "      in own.py, lines 9 to 10 never ran"
    now = campaign(gate.directory / "now", CLEAN, **idle)
    assert gate(now, policy) == 3, "nothing says yet that it ever acted"
    assert [said, f"      {AIM}"] == [each for each in gate.lines if each.startswith(" ")]
    assert gate(now, gate.baseline(CLEAN) + policy) == 1
    assert gate.lines[0].startswith("FAIL  FuseOps: changed 0% of its modules, 60% in the baseline")
    assert [gate.lines[1]] == [said] == [each for each in gate.lines if each.startswith(" ")]


def test_trigger_rates_collapsed_absolutely(gate: Gate) -> None:
    now = campaign(gate.directory / "now", CLEAN, triggers={**TRIGGERS, "LegalizeOps": (1000, 10)})
    assert gate(now, POLICY) == 1
    assert gate.lines[0] == ("FAIL  LegalizeOps: changed 1% of its modules (at least 5%; 10 of 1000, 0.544% to 1.83%)")
    assert gate.lines[1] == f"      {AIM}"
    few = campaign(gate.directory / "few", CLEAN, triggers={**TRIGGERS, "LegalizeOps": (20, 0)})
    assert gate(few, POLICY) == 0  # none of 20 may be one of twenty


def test_an_oracle_that_fell_silent(gate: Gate) -> None:
    policy = gate.baseline(CLEAN) + "[oracles.crash]\n"
    assert gate(campaign(gate.directory / "now", _only("crash")), policy) == 3
    assert gate.lines[0] == "SHORT numeric: no checks at all; about 1500 were expected from the baseline's 1500"


def test_a_subject_may_be_left_out_of_comparisons(gate: Gate) -> None:
    policy = gate.baseline(CLEAN) + "[oracles.numeric]\nregression = false\n[passes.FuseOps]\nregression = false\n"
    now = campaign(gate.directory / "now", _only("crash"), triggers={**TRIGGERS, "FuseOps": (1000, 1)})
    assert gate(now, policy) == 3  # the rule on numeric itself: no checks
    assert [line for line in gate.lines if "baseline" in line] == []


def test_corrupt_store(gate: Gate) -> None:
    now = campaign(gate.directory / "now", CLEAN)
    with (now / "campaign.sqlite").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)
    assert gate(now, POLICY) == 2
    assert gate.lines == []
    assert gate.errors.startswith(f"relaxfuzz: error: '{now / 'campaign.sqlite'}' is damaged: ")
    assert gate.errors.count("\n") == 1


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ("[oracles.crash]\nmin_pass_rate = 99\n", ":2: 'oracles.crash.min_pass_rate' must be a number from 0 to 1"),
        ('known = "absent.toml"\n', ":1: 'known' names 'absent.toml', which is not a file"),
        ("[oracles.crash]\nmax_skips = 0.1\n", ":2: 'oracles.crash.max_skips' is not a key here; did you mean "),
    ],
)
def test_wrong_policy(gate: Gate, policy: str, complaint: str) -> None:
    assert gate(campaign(gate.directory / "now", CLEAN, {"boom": 1}), policy) == 2
    assert gate.lines == []
    assert gate.errors.startswith(f"relaxfuzz: error: {gate.directory / 'policy.toml'}{complaint}")
    assert gate.errors.count("\n") == 1


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "link", "below/../../secret"])
@pytest.mark.parametrize("key", ["known", "baseline"])
def test_a_policy_names_no_file_elsewhere(gate: Gate, key: str, name: str) -> None:
    (gate.directory / "../secret").write_text("password hunter2\n")
    (gate.directory / "link").symlink_to("../secret")
    assert gate(campaign(gate.directory / "now", CLEAN), f'{key} = "{name}"\n') == 2
    assert f":1: '{key}' names '{gate.directory / name}', which is a link, or outside of " in gate.errors
    assert "hunter2" not in gate.errors


def test_a_file_that_a_policy_names_is_not_quoted(gate: Gate) -> None:
    (gate.directory / ".env").write_text("password hunter2\n")
    assert gate(campaign(gate.directory / "now", CLEAN), 'known = ".env"\n') == 2
    assert ".env:1: not TOML: " in gate.errors
    assert "hunter2" not in gate.errors


@pytest.mark.parametrize("name", [".bash_profile", "link.json", "../baseline.json", "conftest.py"])
def test_a_first_baseline_is_written_as_one_beside_the_policy_alone(gate: Gate, name: str) -> None:
    (gate.directory / "link.json").symlink_to("../target.json")
    before = {path for path in gate.directory.parent.rglob("*") if not path.is_dir()}
    now = campaign(gate.directory / "now", CLEAN)
    made = {path for path in gate.directory.parent.rglob("*") if not path.is_dir()} - before
    assert gate(now, f'baseline = "{name}"\n[oracles.crash]\n') == 2
    assert gate.errors.count("\n") == 1
    after = {path for path in gate.directory.parent.rglob("*") if not path.is_dir()} - before - made
    assert {path.name for path in after if "sqlite" not in path.name} == {"policy.toml"}


def test_wrong_baseline(gate: Gate) -> None:
    (gate.directory / "baseline.json").write_text('{"format": "relaxfuzz-baseline-9"}')
    assert gate(campaign(gate.directory / "now", CLEAN), 'baseline = "baseline.json"\n') == 2
    assert gate.errors == (
        f"relaxfuzz: error: {gate.directory / 'baseline.json'}: its format is 'relaxfuzz-baseline-9', "
        "this version reads 'relaxfuzz-baseline-2'\n"
    )


def test_wrong_history_and_a_wrong_day(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    now = campaign(gate.directory / "now", CLEAN)
    assert gate(now, "", "--history", str(gate.directory / "absent")) == 2
    assert gate.errors == f"relaxfuzz: error: {gate.directory / 'absent'}: No such file or directory\n"
    assert gate(now, "", "--history", str(gate.directory)) == 2
    assert "contains no campaign" in gate.errors
    monkeypatch.setenv("RELAXFUZZ_TODAY", "tomorrow")
    assert gate(now, "") == 2
    assert gate.errors == "relaxfuzz: error: RELAXFUZZ_TODAY is 'tomorrow', not a date such as 2027-03-01\n"


def test_wrong_decisions(gate: Gate) -> None:
    (gate.directory / "findings.toml").write_text("[[mrge]]\n")
    now = campaign(gate.directory / "now", CLEAN)
    assert gate(now, "", "--triage", str(gate.directory / "findings.toml")) == 2
    assert "findings.toml:1: 'mrge' is not a key of a file of findings" in gate.errors


def test_the_option_outranks_the_policys_baseline(gate: Gate) -> None:
    policy = gate.baseline(CLEAN) + "[oracles.crash]\n"
    other = campaign(gate.directory / "other", CLEAN, triggers={**TRIGGERS, "FuseOps": (1000, 250)})
    assert main(["baseline", str(other), "--output", str(gate.directory / "other.json")]) == 0
    assert gate(other, policy) == 1
    assert gate(other, policy, "--baseline", str(gate.directory / "other.json")) == 0


def test_another_release_and_fewer_cases_are_pointed_out(gate: Gate) -> None:
    policy = gate.baseline(CLEAN, tvm_version="0.26.0") + "[oracles.crash]\n"
    assert gate(campaign(gate.directory / "now", CLEAN, triggers={"FuseOps": (100, 60)}), policy) == 0
    assert "note  campaign: the baseline was made with TVM 0.26.0, the campaign with 0.27.0.post1" in gate.lines
    assert any("a small campaign detects only large regressions" in line for line in gate.lines)


@pytest.mark.parametrize(("before", "now"), [("0.1.0", "0.2.0"), ("", "0.2.0")])
def test_a_baseline_of_another_version_of_relaxfuzz_is_pointed_out(gate: Gate, before: str, now: str) -> None:
    versions = [{"relaxfuzz_version": each} if each else {} for each in (before, now)]
    policy = gate.baseline(CLEAN, **versions[0]) + "[oracles.crash]\n"
    assert gate(campaign(gate.directory / "now", CLEAN, **versions[1]), policy) == 0
    told = f"the baseline was made with relaxfuzz {before or 'of an unknown version'}, the campaign with {now}: "
    assert any(line.startswith(f"note  campaign: {told}versions may") for line in gate.lines), gate.lines


def test_explain_and_json_hold_every_number(gate: Gate) -> None:
    policy = gate.baseline(CLEAN) + POLICY
    now = campaign(gate.directory / "now", CLEAN, triggers={**TRIGGERS, "FuseOps": (1000, 250)})
    assert gate(now, policy, "--explain") == 1
    text = " ".join(" ".join(gate.lines).split())
    assert "trigger_collapse: rate 0.25, baseline_rate 0.6, p 9.5" in text
    assert "max_skip_share: share 0.05625, limit 0.5, count 90, total 1600" in text
    assert gate(now, policy, "--json") == 1
    values = json.loads("\n".join(gate.lines))
    (row,) = [row for row in values["rulings"] if row["word"] == "fail"]
    assert (row["subject"], row["numbers"]["hits"], row["numbers"]["baseline_hits"]) == ("FuseOps", 750, 400)
    assert values["baseline"]["seed"] == 7


def test_a_command_that_is_named_runs_nothing_of_a_directorys_name(gate: Gate) -> None:
    now = campaign(gate.directory / "$(touch x); it's", CLEAN, {"boom": 1})
    file = gate.directory / "known.toml"
    file.write_text("")
    assert gate(now, f'known = "{file.name}"\n') == 1
    assert shlex.split(gate.lines[2].partition("`")[2].rstrip("`"))[1].startswith(str(now))
    assert shlex.split(gate.lines[3].partition("`")[2].rstrip("`"))[:9] == [
        *f"relaxfuzz triage known {finding_id('boom')} --reference URL --reason TEXT".split(), "--campaign",
    ]  # fmt: skip
    assert str(now) in shlex.split(gate.lines[3].partition("`")[2].rstrip("`"))


def test_a_campaign_that_no_process_writes_any_more_is_not_running(gate: Gate) -> None:
    now = campaign(gate.directory / "now", CLEAN)
    with Store.open(now, read_only=False) as store:
        store.set_meta(state="running")
        assert gate(now, "[oracles.crash]\n") == 3
        assert any(line.startswith("SHORT campaign: it is still running: 600 s (2000 cases)") for line in gate.lines)
    assert gate(now, '[campaign]\nmin_checks = 9999\n[passes."*"]\nmin_changed = 9999\n') == 3
    assert gate.lines[0].startswith("SHORT campaign: it did not shut down cleanly (was it killed?)")
    told = "because of that, 3 requirements cannot be judged: --explain lists all"
    assert gate.lines[1] == f"SHORT campaign: {told}"
    assert sum(line.startswith("SHORT") for line in gate.lines) == 2


def test_a_campaign_killed_before_its_first_case_says_only_that(gate: Gate) -> None:
    """Ten lines on missing checks hid it, and one advised to generate other operators."""
    now = campaign(gate.directory / "now", {}, triggers={}, state=FindingState.NEW)
    with Store.open(now, read_only=False) as store:
        store.set_meta(state="running")
    assert gate(now, '[oracles."*"]\nmin_checks = 20\n[passes."*"]\nmin_changed = 20\n', "--explain") == 3
    assert not any("--operators" in line for line in gate.lines)
    assert gate(now, '[oracles."*"]\nmin_checks = 20\n[passes."*"]\nmin_changed = 20\n') == 3
    assert "to resume it, run the same `relaxfuzz run` command again" in gate.lines[0]
    assert len(gate.lines) == 3


@pytest.mark.parametrize(("state", "code"), [("finished", 0), ("interrupted", 3), ("running", 3)])
def test_a_merged_campaign_is_as_complete_as_its_parts(gate: Gate, state: str, code: int) -> None:
    parts = [campaign(gate.directory / f"part{seed}", CLEAN, seed=f"{seed}") for seed in (1, 2)]
    with Store.open(parts[1], read_only=False) as store:
        store.set_meta(state=state)
    assert main(["merge", *map(str, parts), "--out", str(gate.directory / "both")]) == 0
    assert gate(gate.directory / "both", "[oracles.crash]\n") == code
    with Store.open(gate.directory / "both") as store:
        assert store.info().seeds == (1, 2)
    said = "SHORT campaign: a campaign in it did not run to completion; resume it with its `relaxfuzz run` command"
    assert any(line.startswith(said) for line in gate.lines) == bool(code)
