"""``relaxfuzz gate`` from the command line on a store that was written as a campaign writes it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from fuzzer.cli.main import main
from fuzzer.core.case import Case
from fuzzer.findings.signature import signature
from fuzzer.store.records import FindingState, ShardResult, SignatureHits
from fuzzer.store.writer import Store
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

VERDICT = Verdict(OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=Evidence("InternalError", "boom", ("a.cc:F",)))
ID = signature(VERDICT).id


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """100 passes of the crash oracle and one finding that failed 3 times."""
    case = Case("{}", (PassRef("FuseOps", "relax.transform.FuseOps()"),), 0)
    result = ShardResult(0, examples=103, modules=50)
    result.tallies = Counter({("crash", "FuseOps", "pass", ""): 100, ("crash", "FuseOps", "fail", ""): 3})
    result.hits = {ID: SignatureHits.of(signature(VERDICT), VERDICT, case, 0, 3)}
    meta = {
        "seed": "7", "passes": json.dumps(["FuseOps"]), "oracles": json.dumps(["crash"]), "tvm_version": "0.27.0",
        "ffi_version": "0.1.14", "workers": "2", "budget": "10 s", "state": "finished",
    }  # fmt: skip
    with Store.create(tmp_path / "campaign", meta) as store:
        store.record_shard(result, 5.0)
        store.save_triage(ID, FindingState.CONFIRMED, None, None, None, "")
    return tmp_path / "campaign"


def gate(campaign: Path, policy: str, *more: str) -> int:
    path = campaign.parent / "policy.toml"
    path.write_text(policy)
    return main(["gate", str(campaign), "--policy", str(path), *more])


KNOWN = f'[[known]]\nid = "{ID}"\nreference = "https://example.org/1"\nreason = "reported"\n'


def test_exit_0(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(campaign, f"[oracles.crash]\nmin_pass_rate = 1.0\nmin_checks = 103\n{KNOWN}") == 0
    out = capsys.readouterr().out
    rate = "ok    crash: pass rate 100% (at least 100%; 100 of 100, 96.3% to 100%)"
    assert f"{rate}; 97.087% with 3 excused failures" in out
    assert f"known {ID} S3? crash FuseOps: boom (3x)\n" in out
    assert "      on your list (https://example.org/1): reported\n" in out


def test_exit_1(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(campaign, "[oracles.crash]\nmin_checks = 1\n") == 1
    assert f"FAIL  new finding {ID}" in capsys.readouterr().out


def test_exit_3(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(campaign, f"[oracles.crash]\nmin_checks = 104\n{KNOWN}") == 3
    assert gate(campaign, f"[oracles.numeric]\n{KNOWN}") == 3
    assert "SHORT numeric" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ("[oracles.crush]\n", "policy.toml:1: 'oracles.crush' is not an oracle; did you mean crash?"),
        (
            "[passes.FuseOp]\n",
            "policy.toml:1: 'passes.FuseOp' is not a pass of TVM or of the campaign; did you mean FuseOps",
        ),
        (
            "[passes.LegalizeOp]\n",
            "policy.toml:1: 'passes.LegalizeOp' is not a pass of TVM or of the campaign; did you mean LegalizeOps",
        ),
        ("x = \n", "policy.toml:1: not TOML at 'x'"),
    ],
)
def test_exit_2(campaign: Path, policy: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    # The campaign holds a new finding, but a policy that cannot be read judges nothing.
    assert gate(campaign, policy) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("relaxfuzz: error: ")
    assert complaint in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ("[passes.Mine]\nmin_changed = 5\n[oracles.crash]\n", 0),
        ("[oracles.crush]\n", 2),
        ("[passes.Mine]\nmin_chnged = 5\n", 2),
        ('known = "nothing.toml"\n', 2),
        ('baseline = "policy.toml"\n', 2),
        ('baseline = "later.json"\n', 0),
    ],
)
def test_a_policy_is_checked_without_a_campaign(
    tmp_path: Path, policy: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(policy)
    assert main(["gate", "--check", "--policy", str(path)]) == code
    assert ("there is no baseline" in capsys.readouterr().out) is ("later" in policy), "it may be a typing error"
    assert [each.name for each in tmp_path.iterdir()] == ["policy.toml"]
    assert main(["gate", str(tmp_path), "--check", "--policy", str(path)]) == 2


def test_the_check_warns_of_entries_that_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RELAXFUZZ_TODAY", "2027-03-01")
    (tmp_path / "findings.toml").write_text(f"{KNOWN}expires = 2027-03-01\n{KNOWN.replace(ID, '0' * 10)}")
    path = tmp_path / "policy.toml"
    path.write_text('known = "findings.toml"\n')
    assert main(["gate", "--check", "--policy", str(path)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert f"the entry for {ID} (https://example.org/1) expired on 2027-03-01" in line
    monkeypatch.setenv("RELAXFUZZ_TODAY", "x")
    assert main(["gate", "--check", "--policy", str(path)]) == 2
    assert "RELAXFUZZ_TODAY is 'x', not a date" in capsys.readouterr().err


CONFIGURED = '[tool.relaxfuzz]\npass = ["mine.py:FuseClips"]\n'


@pytest.mark.parametrize(
    ("config", "name", "said"),
    [
        (CONFIGURED, "FuseClips", ""),
        (CONFIGURED, "FuseOps", ""),
        (CONFIGURED, "FuseClip", "is not a pass of TVM or of the campaign; did you mean FuseClips"),
        (CONFIGURED, "FoldConstants", "did you mean FoldConstant"),
        (CONFIGURED.replace("Clips", "Clip"), "FuseClips", "mine.py' has no 'FuseClip'; did you mean FuseClips?"),
        (CONFIGURED.replace("mine", "mein"), "FuseClips", "mein.py' is not a file"),
        ("", "FuseClip", ""),  # `run --pass` may name any
    ],
)
def test_names_of_passes_are_checked_where_a_configuration_says_which_are_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, name: str, said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(config)
    (tmp_path / "mine.py").write_text("class FuseClips:\n    pass\n\n\nraise SystemExit  # nobody runs it\n")
    (tmp_path / ".relaxfuzz").mkdir()
    path = tmp_path / ".relaxfuzz" / "policy.toml"
    path.write_text(f"[passes.{name}]\n")
    assert main(["gate", "--check", "--policy", str(path)]) == (2 if said else 0)
    told = capsys.readouterr().err
    assert said in told
    assert (f"{tmp_path / 'pyproject.toml'}: pass" in told) is ("mine.py' " in said or "mein.py' " in said)


def test_exit_2_without_a_campaign_or_a_policy(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", str(campaign / "nowhere"), "--policy", "x"]) == 2
    assert main(["gate", str(campaign), "--policy", str(campaign / "nothing.toml")]) == 2
    assert main(["gate", str(campaign)]) == 2
    assert capsys.readouterr().err.count("\n") == 3


def test_a_pass_under_contract_that_the_campaign_did_not_judge_is_short(campaign: Path) -> None:
    assert gate(campaign, f"[passes.LegalizeOps]\n{KNOWN}") == 3


def test_json(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(campaign, "[oracles.crash]\n", "--json") == 1
    values = json.loads(capsys.readouterr().out)
    assert values["exit"] == 1
    assert [row["id"] for row in values["new"]] == [ID]


def test_the_example_policy_is_valid(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "docs" / "policy.toml"
    assert main(["gate", str(campaign), "--policy", str(example)]) == 1
    assert "note  the entry for 0000000000 in the policy" in capsys.readouterr().out
