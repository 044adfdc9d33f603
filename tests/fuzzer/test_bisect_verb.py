"""``relaxfuzz bisect`` from the command line, with interpreters that are shell scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_python import FakePython
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.findings.releases import Bisected
from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.store.records import FindingState, SignatureHits
from fuzzer.store.writer import Store

FIXED_IN_026 = """
case $VERSION in
0.25.0) echo "BUG: it is ill-formed"; exit 1;;
*) echo "OK: it is well formed"; exit 0;;
esac
"""
FLAKY = """
if [ -f "$FAKE_HOME/ran" ]; then echo "BUG: now"; exit 1; fi
touch "$FAKE_HOME/ran"; echo "OK: not now"
"""
UNSAYABLE = "echo 'ENVIRONMENT: AttributeError: no such pass'; exit 2\n"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePython:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    monkeypatch.delenv("RELAXFUZZ_CACHE", raising=False)
    return FakePython(tmp_path / "fake", monkeypatch)


@pytest.fixture
def script_file(tmp_path: Path) -> Path:
    path = tmp_path / "repro.py"
    path.write_text(FIXED_IN_026)
    return path


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_script_in_all_supported_releases(
    fake: FakePython, script_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bisect", "--script", str(script_file)]) == 0
    captured = capsys.readouterr()
    assert lines(captured.out) == [
        str(script_file),
        "0.25.0 present it is ill-formed",
        "0.26.0 absent it is well formed",
        "0.27.0.post1 absent it is well formed",
        "fixed in 0.26.0",
    ]
    assert len(captured.err.splitlines()) == fake.did("venv") == 3
    assert len([path for path in (tmp_path / "user-cache" / "relaxfuzz-releases").iterdir() if path.is_dir()]) == 3

    assert main(["bisect", "--script", str(script_file)]) == 0
    assert capsys.readouterr().err == ""
    assert fake.did("venv") == 3


def test_a_short_script_is_refused_at_once(
    fake: FakePython, script_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script_file.write_text("assert 1 == 2, 'FuseOps drops relax.abs'\n")
    assert main(["bisect", "--script", str(script_file)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "`relaxfuzz repro DIR ID --full` prints" in printed.err
    assert str(script_file) in printed.err


def test_json(fake: FakePython, script_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = fake.build(tmp_path / "mine", "0.25.1")
    cache = tmp_path / "cache"
    more = ["--versions", "0.26.0,0.25.0", "--python", str(mine), "--cache", str(cache), "--json"]
    assert main(["bisect", "--script", str(script_file), *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["judgement"] == f"fixed in 0.25.1 ({mine})"
    assert (found["trend"], found["in"], found["after"], found["silent"]) == ("fixed", f"0.25.1 ({mine})", None, [])
    assert [(each["tvm"], each["outcome"]) for each in found["releases"]] == [
        ("0.25.0", "present"), ("0.25.1", "absent"), ("0.26.0", "absent"),
    ]  # fmt: skip
    assert found["releases"][1]["python"] == str(mine)
    assert found["finding"] is None


def add_scripted(store: Store, campaign: Path, failed: SignatureHits) -> None:
    """A finding with a script that says present, then fixed."""
    store.record_shard(shard(0, failed), 1.0)
    (campaign / "repros").mkdir()
    (campaign / "repros" / f"{failed.signature.id}.py").write_text(FIXED_IN_026)
    name, parts = failed.signature.id, ScriptParts("", False, Words("it is ill-formed", "", ""))
    store.save_triage(name, FindingState.CONFIRMED, None, None, f"repros/{name}.py", "", parts=parts)


def test_a_finding_of_a_campaign(fake: FakePython, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = tmp_path / "campaign"
    failed = hit("boom", 0)
    with Store.create(campaign, META) as store:
        add_scripted(store, campaign, failed)
    options = ["--versions", "none", "--python", str(fake.build(tmp_path / "mine", "0.25.0"))]
    assert main(["bisect", str(campaign), failed.signature.id[:6], *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{failed.signature.id} crash: FuseOps: ")
    assert out.endswith("present in all\n")
    with Store.open(campaign) as store:
        assert store.finding(failed.signature.id).bisected == Bisected(
            "present in all", ((f"0.25.0 ({tmp_path / 'mine' / 'python'})", "present: it is ill-formed"),)
        )
    assert main(["bisect", str(campaign), "nothing", *options]) == 2
    capsys.readouterr()
    assert main(["bisect", str(campaign), "--json", *options]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["finding"], found["trend"]) == (failed.signature.id, "present in all")
    (campaign / "repros" / f"{failed.signature.id}.py").unlink()
    assert main(["bisect", str(campaign), failed.signature.id, *options]) == 2
    assert ".py': No such file" in capsys.readouterr().err


def test_what_a_bisection_came_to_is_kept(fake: FakePython, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = tmp_path / "campaign"
    failed = hit("boom", 0)
    with Store.create(campaign, META) as store:
        add_scripted(store, campaign, failed)
        assert main(["bisect", str(campaign), failed.signature.id, "--versions", "0.25.0"]) == 0
        assert "relaxfuzz: the result was not saved: " in capsys.readouterr().err, "the campaign is under way"
        assert store.finding(failed.signature.id).bisected is None
    assert main(["bisect", str(campaign), failed.signature.id, "--versions", "0.26.0,0.25.0"]) == 0
    assert capsys.readouterr().err.count("not kept") == 0
    assert main(["findings", str(campaign), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["releases"] == "fixed in 0.26.0"
    assert main(["findings", str(campaign)]) == 0
    assert "fixed in 0.26.0" in capsys.readouterr().out
    assert main(["bisect", str(campaign), failed.signature.id, "--versions", "0.25.0"]) == 0
    with Store.open(campaign) as store:
        again = store.finding(failed.signature.id).bisected
    assert again is not None
    assert again.judgement == "present in all", "the last answer counts"


def test_a_campaign_without_scripts(fake: FakePython, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.create(tmp_path / "campaign", META).close()
    assert main(["bisect", str(tmp_path / "campaign")]) == 2
    assert capsys.readouterr().err == f"relaxfuzz: error: no finding in '{tmp_path / 'campaign'}' has a script\n"


def test_no_release_can_say(fake: FakePython, script_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script_file.write_text(UNSAYABLE)
    assert main(["bisect", "--script", str(script_file), "--versions", "0.25.0"]) == 3
    assert lines(capsys.readouterr().out)[1:] == [
        "0.25.0 undetermined AttributeError: no such pass", "undetermined",
    ]  # fmt: skip


def test_more_runs_find_what_shows_now_and_then(
    fake: FakePython, script_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script_file.write_text(FLAKY)
    assert main(["bisect", "--script", str(script_file), "--versions", "0.25.0", "--runs", "3"]) == 0
    assert "present in all" in capsys.readouterr().out


def test_a_script_that_does_not_end(fake: FakePython, script_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script_file.write_text("# BUG: never said\nexec sleep 30\n")
    assert main(["bisect", "--script", str(script_file), "--versions", "0.25.0", "--time", "0.5s"]) == 3
    assert "0.25.0 fails differently the script timed out" in lines(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give DIR, or DIR and ID, or --script"),
        (["somewhere"], "'somewhere' does not exist"),
        (["somewhere", "abc"], "'somewhere' does not exist"),
        (["somewhere", "abc", "--script", "SCRIPT"], "give DIR, or DIR and ID, or --script"),
        (["--script", "missing.py"], "cannot read 'missing.py': No such file or directory"),
        (["--script", "SCRIPT", "--versions", "0.24.0"], "cannot create an environment for TVM '0.24.0'"),
        (["--script", "SCRIPT", "--versions", ""], "--versions names no release"),
        (["--script", "SCRIPT", "--versions", "none"], "--versions none needs a --python"),
        (
            ["--script", "SCRIPT", "--python", "/nowhere/python"],
            "'/nowhere/python' is not a working Python interpreter",
        ),
        (["--script", "SCRIPT", "--time", "soon"], "'soon' is not a time"),
        (["--script", "SCRIPT", "--runs", "0"], "--runs 0 is not between 1 and 100"),
    ],
)
def test_bad_input_is_one_line(
    fake: FakePython, script_file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["bisect", *(str(script_file) if each == "SCRIPT" else each for each in arguments)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"relaxfuzz: error: {said}")
    assert error.count("\n") == 1
    assert not fake.log


def test_an_environment_that_cannot_be_made(
    fake: FakePython, script_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.says("pip-says", "ERROR: No matching distribution found for apache-tvm==0.25.0\n")
    assert main(["bisect", "--script", str(script_file)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "relaxfuzz: error: cannot create the environment of TVM 0.25.0: "
        "pip: No matching distribution found for apache-tvm==0.25.0"
    )
