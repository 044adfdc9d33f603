"""``relaxfuzz minimize DIR ID`` keeps what it achieved; what kills the process is listed before other crashes."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tvm
from sample_records import META
from test_repro_markdown import MODULE, case, finding

from fuzzer.campaign.regression import gather
from fuzzer.cli.main import main
from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.signature import Signature, signature
from fuzzer.repro.pieces.frame import load
from fuzzer.store import known
from fuzzer.store.records import FindingState, ShardResult, SignatureHits
from fuzzer.store.writer import Store
from fuzzer.triage.reduce import failures
from fuzzer.triage.weigh import weigh
from oracles.core.verdict import Death, Details, Evidence, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef, content_hash

LONG = MODULE.replace(
    "        lv: R.Tensor",
    "".join(f'        v{at}: R.Tensor((1, 2, 2), "float32") = R.abs(x)\n' for at in range(6)) + "        lv: R.Tensor",
)


@pytest.fixture(scope="module")
def found() -> Case:
    return Case(str(tvm.ir.save_json(load(LONG))), case().passes, 1)


@pytest.fixture(scope="module")
def verdict(found: Case) -> Verdict:
    return failures(found, OracleName.CRASH, 60.0)[0]


@pytest.fixture
def name(verdict: Verdict) -> Signature:
    return signature(verdict)


@pytest.fixture
def campaign(tmp_path: Path, found: Case, verdict: Verdict, name: Signature) -> Path:
    with Store.create(tmp_path / "campaign", {**META, "seed": "1"}) as store:
        hits = {name.id: SignatureHits.of(name, verdict, found, 0, 3)}
        store.record_shard(ShardResult(0, 0, 8, 8, 8, hits=hits), 1.0)
        store.save_triage(name.id, FindingState.CONFIRMED, None, None, None, "minimization stopped at its limit")
    return tmp_path / "campaign"


def minimize(campaign: Path, name: Signature) -> int:
    return main(["minimize", str(campaign), name.id, "--workers", "1", "--time", "60s"])


def test_what_minimize_achieved_is_what_later_verbs_show(
    campaign: Path, name: Signature, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    doubt = known.KnownAs("a-cause", "It may be meant so.", debatable=True)
    monkeypatch.setattr(known, "recognize", lambda findings, *_: {each.id: doubt for each in findings})
    assert minimize(campaign, name) == 0
    said = capsys.readouterr().err
    assert re.search(
        rf"stored in the campaign; writing and checking {campaign}/repros/{name.id}\.py took \d+\.\d s", said
    )
    assert re.search(r"bindings became 1 in \d+\.\d s of search \(", said), "the script takes its own time"
    assert "found earlier" not in said
    with Store.open(campaign) as store:
        found = store.finding(name.id)
    assert (found.bindings, found.repro, found.state) == (1, f"repros/{name.id}.py", FindingState.CONFIRMED)
    assert found.assessed is not None
    assert found.assessed.evidence is EvidenceClass.DEBATABLE
    assert found.minimized is not None
    assert "stopped" not in found.note
    assert "R.abs" not in (campaign / str(found.repro)).read_text()
    assert [each.id for each in gather([campaign])] == [name.id], "row and script are sealed"
    assert main(["repro", str(campaign), name.id, "--markdown"]) == 0
    assert "R.abs" not in capsys.readouterr().out
    before = (campaign / str(found.repro)).stat().st_mtime_ns
    assert minimize(campaign, name) == 0  # nothing became smaller
    said = capsys.readouterr().err
    assert "stored" not in said
    assert " candidates, starting from the smaller case found earlier): " in said
    assert (campaign / str(found.repro)).stat().st_mtime_ns == before


def test_what_is_at_fault_is_told_as_lists_tell_it(
    campaign: Path, name: Signature, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judged pass was told, though a pass inside of it was found to be at fault."""

    def weighed(*given: Any) -> tuple[Assessment, Any]:
        assessment, harm = weigh(*given)
        return replace(assessment, blame="Inner"), harm

    monkeypatch.setattr("fuzzer.triage.finding.weigh", weighed)
    assert minimize(campaign, name) == 0
    assert re.findall("at fault: (.*)", capsys.readouterr().err) == ["Inner"]


def test_what_was_minimized_is_kept_when_the_rest_is_killed(
    campaign: Path, name: Signature, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The nearest module that passes, and what is at fault, are looked for after that; minutes of work were lost."""

    def killed(job: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fuzzer.triage.finding.triage_finding", killed)
        with contextlib.suppress(KeyboardInterrupt):
            minimize(campaign, name)
    with Store.open(campaign) as store:
        found = store.finding(name.id)
    assert (found.bindings, found.repro, found.state) == (1, None, FindingState.CONFIRMED)
    capsys.readouterr()
    assert minimize(campaign, name) == 0
    assert "starting from the smaller case found earlier" in capsys.readouterr().err


def test_a_long_script_that_was_not_minimized_is_to_be_minimized_first(
    campaign: Path, name: Signature, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fuzzer.repro.markdown.LONGEST_SCRIPT", 10)
    assert main(["repro", str(campaign), name.id, "--markdown"]) == 0
    said = capsys.readouterr().err
    assert f"too long for an issue; minimize it first: relaxfuzz minimize {campaign} {name.id}; or attach it" in said


def test_a_campaign_that_runs_is_not_written(
    campaign: Path, name: Signature, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(campaign, read_only=False):
        assert minimize(campaign, name) == 0
    assert "not stored in the campaign: " in capsys.readouterr().err
    with Store.open(campaign) as store:
        assert store.finding(name.id).minimized is None


def test_a_pass_that_has_changed_since_the_campaign_is_named(
    tmp_path: Path, found: Case, verdict: Verdict, name: Signature, capsys: pytest.CaptureFixture[str]
) -> None:
    """The failure was said to be gone, and nothing of the fix."""
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "__init__.py").touch()
    own = tmp_path / "own_package" / "own.py"
    own.write_text("from tvm import relax\n\n\ndef make():\n    return relax.transform.Normalize()\n")
    ref = PassRef("make", f"user:{own}:make")
    fixed = replace(found, passes=(ref,))
    for code, said in ((content_hash(own), False), ("0" * 16, True)):
        config = Config(1, (), (ref,), (OracleName.CRASH,), 8, None, 1, code=(("own_package/own.py", code),))
        with Store.create(tmp_path / code, {**META, "seed": "1", "config": config.to_json()}) as store:
            hits = {name.id: SignatureHits.of(name, verdict, fixed, 0, 3)}
            store.record_shard(ShardResult(0, 0, 8, 8, 8, hits=hits), 1.0)
        assert minimize(tmp_path / code, name) == 2
        told = capsys.readouterr().err
        assert "does not recur in a fresh process" in told
        first = "relaxfuzz: changed since the campaign: own.py; what is minimized is how it fails now\n"
        assert told.startswith(first) is said, "before minutes of work, and not behind them"
        assert ("own.py" in told) is said
    assert main(["minimize", str(tmp_path / code), "--all"]) == 2
    assert capsys.readouterr().err.endswith("changed since the campaign: own.py\n")


def test_what_kills_the_process_comes_before_other_crashes() -> None:
    weighed = Assessment(EvidenceClass.HARD, Severity.S3, "LegalizeOps", stock=True, final=True)
    raised = replace(finding(), count=40, assessed=weighed)
    killed = replace(
        finding(), id="f" * 10, count=1, bindings=None, minimized=None,
        evidence=Evidence("signal", "killed by SIGSEGV", details=Details(death=Death.SIGNAL)),
    )  # fmt: skip
    assert killed.assessment.severity is raised.assessment.severity
    assert sorted([raised, killed], key=lambda each: each.rank) == [killed, raised]
