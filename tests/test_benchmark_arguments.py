"""Benchmarks refuse what they cannot use in one line, before they measure anything."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from prepared_campaigns import CLEAN, campaign

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
COUNT, NUMBER, TIME = "no whole number from 1 on", "no number above 0", "is not a time"
UNUSABLE = [
    ("coordinator --shards 0", COUNT),
    ("coordinator --seed -1", "no whole number from 0 on"),
    ("coordinator --shards many", COUNT),
    ("compiler_coverage --shards 0", COUNT),
    ("compiler_coverage --campaigns DIR", "contains no campaign"),
    ("compiler_coverage --tests-blocks FILE", "is no JSON"),
    ("faults --totals FILE", "is no JSON"),
    ("faults --totals LISTS", "something else than objects with turn"),
    ("faults --totals nowhere/file", "is in no directory"),
    ("generation --modules 0", COUNT),
    ("generation --curve 100,x", COUNT),
    ("growth --passes NoPass", "no pass with a contract is called 'NoPass'"),
    ("growth --oracles delphi", "no oracle is called 'delphi'"),
    ("growth --against nowhere", "cannot read 'nowhere': No such file"),
    ("growth --against EMPTY", "something else than objects with curves"),
    ("growth --seconds nan", NUMBER),
    ("hostile --campaign DIR", "contains no campaign"),
    ("hostile --campaign nowhere", "does not exist"),
    ("mutations --map nowhere", "cannot read"),
    ("mutations --done DIR", "is a directory"),
    ("mutations --tree DIR --list", "is no checkout"),
    ("numeric --chunk 0", COUNT),
    ("numeric --state FILE", "is not a directory"),
    ("pace", "required: seconds"),
    ("pace soon", NUMBER),
    ("peers --out DIR --trials 0", COUNT),
    ("peers --out FILE", "is not a directory"),
    ("peers --trials 1", "required: --out"),
    ("proof --shards -3", COUNT),
    ("proof_pairs --seconds 0", NUMBER),
    ("proof_soundness --mutations 4", "is not of the form FIRST:LAST"),
    ("proof_soundness --planted 0:x", "no whole number"),
    ("proof_soundness --totals nowhere", "cannot read"),
    ("proof_soundness --into BYTES", "not a text"),
    ("reduction --time soon", TIME),
    ("reduction --only no-such-case", "no case is called 'no-such-case'"),
    ("report --cases 0", COUNT),
    ("scaling --rounds 0", COUNT),
    ("semantics --operators nothing", "no operator is called relax.nothing"),
    ("semantics --table FILE", "is no JSON"),
    ("semantics --rows DIR", "is a directory"),
    ("shares DIR", "contains no campaign"),
    ("short_scripts DIR", "contains no campaign"),
    ("soak --time soon", TIME),
    ("soak --kill-every 0s", "more than 0, at most a year"),
    ("throughput --shards 0", COUNT),
    ("triggers --passes FuseOps,NoPass", "no pass with a contract is called 'NoPass'"),
    ("validity --workers 0", COUNT),
    ("validity --aim nothing", "unknown operator 'nothing'"),
    ("validity --demand nothing", "is not a valid Feature"),
    ("verdicts --compare FILE", "is no JSON"),
    ("verdicts --record nowhere/file", "is in no directory"),
]


def loaded(name: str) -> Any:
    known = f"benchmark_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, BENCHMARKS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[known]


def refusal(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    name, *words = command.split()
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
    with pytest.raises(SystemExit) as ended:
        loaded(name).main()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}.py: error: ")
    return line


@pytest.mark.parametrize(("command", "said"), UNUSABLE)
def test_what_cannot_be_used_is_refused_in_one_line(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"FILE": b"{", "LISTS": b"[1]\n[2]\n", "EMPTY": b"{}", "BYTES": b"\xff"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / "DIR").mkdir()
    monkeypatch.chdir(tmp_path)
    assert said in refusal(command, monkeypatch, capsys)


@pytest.mark.parametrize("name", ["hostile --campaign", "short_scripts"])
def test_a_campaign_without_findings_says_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(tmp_path / "campaign", CLEAN)
    assert "finding" in refusal(f"{name} {tmp_path}/campaign", monkeypatch, capsys)
