"""``relaxfuzz report`` for systems of continuous integration, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml
from prepared_campaigns import CLEAN, campaign, finding_id
from sarif_shape import complaints

from fuzzer.cli.main import main


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = campaign(tmp_path / "campaign", CLEAN, {"boom": 3, "bang": 2})
    (made / "repros").mkdir()
    (made / "repros" / f"{finding_id('bang')}.py").write_text("print('BUG: bang')\n")
    known = f'[[known]]\nid = "{finding_id("boom")}"\nreference = "https://example.org/1"\nreason = "reported"\n'
    (tmp_path / "policy.toml").write_text(f"[oracles.crash]\nmin_pass_rate = 0.99\n{known}")
    return made


def report(directory: Path, *options: str) -> int:
    return main(["report", str(directory), "--policy", str(directory.parent / "policy.toml"), *options])


def test_all_outputs_say_the_same(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: directory / name for name in ("junit.xml", "log.sarif", "summary.md")}
    monkeypatch.setenv("PATH", "/bin")  # so that commands for a terminal name this interpreter by its path
    files["summary.md"].write_text("what another command wrote\n")
    options = ("--junit", "--sarif", "--step-summary")
    given = [text for option, path in zip(options, files.values(), strict=True) for text in (option, str(path))]
    assert report(directory, *given, "--annotations") == 0
    annotations = capsys.readouterr().out.splitlines()
    assert annotations[0].startswith("::error title=relaxfuzz gate::gate FAILED: TVM 0.27.0.post1, 3505 checks, 1 new")
    assert annotations[1].startswith(f"::error title=relaxfuzz%3A S3? crash FuseOps {finding_id('bang')}::bang (2x)")
    assert len(annotations) == 2
    suites = list(JUnitXml.fromfile(str(files["junit.xml"])))
    assert [(suite.name, suite.failures) for suite in suites] == [
        ("relaxfuzz.crash", 1),
        ("relaxfuzz.numeric", 0),
        ("relaxfuzz.gate", 1),
    ]
    assert "print('BUG: bang')" in files["junit.xml"].read_text()
    log = json.loads(files["log.sarif"].read_text())
    assert complaints(log) == []
    levels = {each["fingerprints"]["relaxfuzz/signature/v1"]: each["level"] for each in log["runs"][0]["results"]}
    assert levels == {finding_id("boom"): "note", finding_id("bang"): "error"}
    summary = files["summary.md"].read_text()
    assert summary.startswith("what another command wrote\n## ❌ relaxfuzz gate: failed\n")
    assert f"Script of {finding_id('bang')}" in summary
    assert f"to reproduce {finding_id('bang')}: `python {directory}/repros/" in summary, "no path of this machine's"


def test_standard_output(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(directory, "--sarif", "-") == 0
    assert json.loads(capsys.readouterr().out)["version"] == "2.1.0"


def test_without_a_policy_the_campaign_says_what_is_known(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(directory), "--annotations"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_bad_input_is_one_line(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, complaint in (
        (["--junit", str(directory / "no" / "junit.xml")], "cannot write"),
        (["--step-summary", str(directory)], "cannot write"),
        (["--baseline", "b.json"], "--baseline needs --policy"),
        (["--policy", str(directory / "absent.toml"), "--annotations"], "absent.toml: No such file"),
    ):
        assert main(["report", str(directory), *options]) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert complaint in captured.err
