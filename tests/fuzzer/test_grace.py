"""Triage takes the gravest first; what is under way when the grace is over is left for a resume."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import victims
from sample_records import META, hit, shard

from fuzzer.campaign import campaign, progress
from fuzzer.campaign.campaign import Campaign
from fuzzer.campaign.progress import Progress
from fuzzer.cli.main import main
from fuzzer.cluster import executor as local
from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.findings.signature import signature
from fuzzer.repro import run
from fuzzer.repro.run import check_text
from fuzzer.store.known import KnownAs
from fuzzer.store.records import FindingState, SignatureHits
from fuzzer.store.writer import Store
from fuzzer.triage.finding import TriageJob, TriageResult, TriageState
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


def endless(job: TriageJob, workers: Callable[[], IsolatedWorker]) -> TriageResult:
    """A triage that believes what it sees: a killed worker would make the finding a flaky one."""
    with workers() as worker:
        worker.call(victims.hang, None, 300.0)
    with workers():
        return TriageResult(job.id, TriageState.GONE)


@pytest.mark.parametrize(("seconds", "most"), [(None, 15.0), (60.0, 15.0), (180.0, 18.0), (3600.0, 360.0)])
def test_triage_may_take_a_tenth_of_the_time_or_a_quarter_of_a_minute(seconds: float | None, most: float) -> None:
    config = Config(
        seed=7, passes=(), user_passes=(), oracles=(), max_examples=None, seconds=seconds, workers=1,
    )  # fmt: skip
    assert campaign.grace(config) == pytest.approx(most)


def test_triage_ends_with_the_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "triage_finding", endless)
    monkeypatch.setattr(campaign, "GRACE_SECONDS", 1.5)
    config = Config(
        seed=7, passes=("FuseOps",), user_passes=(), oracles=(OracleName.CRASH,), max_examples=None, seconds=0.5,
        workers=1, case_timeout=20.0, memory_limit=3 << 30,
    )  # fmt: skip
    with Store.create(tmp_path / "out", META) as store:
        store.record_shard(shard(0, hit("Check failed: boom", 5)), 1.0)
        begun = time.monotonic()
        assert Campaign(store, config, Progress(config)).run() == "finished"
        assert time.monotonic() - begun > 1.4
        (finding,) = store.findings()
        assert finding.state is FindingState.NEW
        assert store.untriaged() == [(0, finding.id)]


SCRIPTS = {"alone": "import time\ntime.sleep(20)\n", "forks": "import os, time\nos.fork()\ntime.sleep(20)\n"}
"""A script of a defect that ends its process is judged in a forked one, which has its parent's standard error."""


def scripted(job: TriageJob, workers: Callable[[], IsolatedWorker]) -> TriageResult:
    """A triage that runs one long script after the other."""
    for _ in range(3):
        check_text(SCRIPTS[job.signature])
    return TriageResult(job.id, TriageState.GONE)


def test_a_script_may_print_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "subprocess", subprocess)
    result = check_text("import os\nos.write(1, b'BUG: \\xff\\n')\nos.write(2, b'\\xff')\nraise SystemExit(1)\n")
    assert result.confirmed
    assert (result.said, result.errors) == ("BUG: \ufffd", "\ufffd")


@pytest.mark.parametrize("kind", SCRIPTS)
def test_scripts_that_triage_runs_end_with_the_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(local, "triage_finding", lambda job, workers: scripted(replace(job, signature=kind), workers))
    monkeypatch.setattr(run, "subprocess", subprocess)  # the process that tests run scripts in outlives the worker
    monkeypatch.setattr(campaign, "GRACE_SECONDS", 1.0)
    config = Config(
        seed=7, passes=("FuseOps",), user_passes=(), oracles=(OracleName.CRASH,), max_examples=None, seconds=0.5,
        workers=1, case_timeout=20.0, memory_limit=3 << 30,
    )  # fmt: skip
    with Store.create(tmp_path / "out", META) as store:
        store.record_shard(shard(0, hit("Check failed: boom", 5)), 1.0)
        ended = Campaign(store, config, Progress(config))
        assert ended.run() == "finished"
        assert ended.clock.elapsed() < 15.0
        assert store.untriaged()


def test_the_gravest_is_looked_into_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(job: TriageJob, _workers: Callable[[], IsolatedWorker]) -> TriageResult:
        asked.append(job.verdict.evidence.kind if job.verdict.evidence is not None else "")
        return TriageResult(job.id, TriageState.GONE)

    monkeypatch.setattr(local, "triage_finding", noted)
    config = Config(
        seed=7, passes=("FuseOps",), user_passes=(), oracles=(OracleName.CRASH,), max_examples=0, seconds=None,
        workers=1, case_timeout=20.0, memory_limit=3 << 30,
    )  # fmt: skip
    silent = Verdict(OracleName.NUMERIC, Outcome.FAIL, "FuseOps", evidence=Evidence("wrong-value", "another"))
    later = SignatureHits.of(signature(silent), silent, Case("{}", (), 3), 9, 1)
    with Store.create(tmp_path / "out", META) as store:
        store.record_shard(shard(0, hit("Check failed: boom", 5), hit("Check failed: bang", 6)), 1.0)
        store.record_shard(shard(1, later), 2.0)
        assert Campaign(store, config, Progress(config)).run() == "finished"
    assert asked == ["wrong-value", "InternalError", "InternalError"]


def test_what_is_known_elsewhere_is_looked_into_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(job: TriageJob, _workers: Callable[[], IsolatedWorker]) -> TriageResult:
        asked.append(job.id)
        return TriageResult(job.id, TriageState.GONE)

    monkeypatch.setattr(local, "triage_finding", noted)
    config = Config(
        seed=7, passes=("FuseOps",), user_passes=(), oracles=(OracleName.CRASH,), max_examples=0, seconds=None,
        workers=1, case_timeout=20.0, memory_limit=3 << 30,
    )  # fmt: skip
    known, perhaps, new = hit("Check failed: boom", 1), hit("Check failed: bang", 2), hit("Check failed: crack", 3)
    told = {
        each.signature.id: KnownAs("a case", "why", certain=certain)
        for each, certain in ((known, True), (perhaps, False))
    }
    monkeypatch.setattr(
        campaign, "recognize", lambda findings, _: {each.id: told[each.id] for each in findings if each.id in told}
    )
    with Store.create(tmp_path / "out", META) as store:
        store.record_shard(shard(0, known, perhaps, new), 1.0)
        assert Campaign(store, config, Progress(config)).run() == "finished"
    assert asked == [each.signature.id for each in (new, perhaps, known)]


def test_a_campaign_that_leaves_findings_untriaged_names_the_command_that_triages_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(campaign: Campaign) -> tuple[bool, None]:
        campaign.store.record_shard(shard(0, hit("boom", 5), hit("another", 9)), 1.0)
        return True, None

    monkeypatch.setattr("fuzzer.cli.verbs.run.until_done", ended)
    words = ["--max-examples", "8", "--passes", "FuseOps", "--seed", "7", "--workers", "1", "--out"]
    assert main(["run", *words, str(tmp_path / "out")]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"relaxfuzz: 2 untriaged; to confirm and minimize them: relaxfuzz minimize {tmp_path / 'out'} --all"


@pytest.mark.parametrize("time_limit", [[], ["--time", "1s"]])
def test_all_that_is_untriaged_is_triaged_and_that_of_the_users_passes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], time_limit: list[str]
) -> None:
    asked: list[str] = []

    def noted(job: TriageJob, _workers: Callable[[], IsolatedWorker]) -> TriageResult:
        asked.append(job.verdict.culprit)
        if time_limit:
            time.sleep(1.5)
        return TriageResult(job.id, TriageState.GONE)

    monkeypatch.setattr(local, "triage_finding", noted)
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.0)
    config = Config(
        seed=7, passes=("FuseOps",), user_passes=(PassRef("Mine", "user:mine:Mine"),), oracles=(OracleName.CRASH,),
        max_examples=None, seconds=10.0, workers=1,
    )  # fmt: skip
    own = Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, "Mine", evidence=Evidence("changed", "another text"))
    hits = hit("boom", 5), SignatureHits.of(signature(own), own, Case("{}", config.user_passes, 3), 9, 1)
    directory = tmp_path / "my out"
    with Store.create(directory, {**META, "config": config.to_json()}) as store:
        store.record_shard(shard(0, *hits), 1.0)  # of a campaign that was interrupted in its first shard, at 1 s
        store.set_meta(state="interrupted", elapsed="1.0")
        before = store.meta()
    assert main(["findings", str(directory)]) == 0
    (told,) = [line for line in capsys.readouterr().out.splitlines() if "untriaged; " in line]
    words = shlex.split(told)
    assert words[-3:] == ["minimize", str(directory), "--all"]
    assert main([*words[-3:], "--workers", "1", *time_limit]) == 0
    said = capsys.readouterr()
    assert ("2 suspects" in said.out) is not bool(time_limit), "the summary of what has become of them"
    assert re.search(r"0:0\d, generated for 0:01, .* \d of 2 triaged ", said.err), "not how fast cases are judged"
    assert asked == (["Mine"] if time_limit else ["Mine", "FuseOps"])
    with Store.open(directory) as store:
        assert len(store.untriaged()) == (2 if time_limit else 0)
        assert store.meta() == before, "a resume generates what is left"


def test_triage_of_all_takes_no_other_release_and_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(seed=7, passes=("FuseOps",), user_passes=(), oracles=(), max_examples=8, seconds=None, workers=1)
    meta = {**META, "tvm_version": "0.26.0", "config": config.to_json()}
    Store.create(tmp_path / "out", meta).close()
    Store.create(tmp_path / "bare", META).close()
    for words, said in (
        (["out", "--all"], "': it ran on TVM 0.26.0\n"),
        (["bare", "--all"], "': it is stored without its configuration\n"),
        (
            ["out", "0000000001", "--all"],
            "--all needs DIR, and takes only --known, --time, --workers, --json and --trust\n",
        ),
        (["out", "0000000001", "--known", "list.toml"], "relaxfuzz: error: --known needs --all\n"),
    ):
        assert main(["minimize", f"{tmp_path}/{words[0]}", *words[1:]]) == 2
        assert capsys.readouterr().err.endswith(said)


def test_triage_of_all_is_ended_by_an_interrupt_and_needs_trust_in_foreign_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def interrupted(job: TriageJob, _workers: Callable[[], IsolatedWorker]) -> TriageResult:
        asked.append(job.id)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1.0)
        return TriageResult(job.id, TriageState.GONE)

    monkeypatch.setattr(local, "triage_finding", interrupted)
    config = Config(seed=7, passes=("FuseOps",), user_passes=(), oracles=(), max_examples=8, seconds=None, workers=1)
    with Store.create(tmp_path / "out", {**META, "config": config.to_json()}) as store:
        store.record_shard(shard(0, hit("boom", 5), hit("another", 9)), 1.0)
    assert main(["minimize", str(tmp_path / "out"), "--all", "--workers", "1"]) == 130
    assert len(asked) == 1
    assert "interrupted; run the same command again to resume\n" in capsys.readouterr().err
    with Store.open(tmp_path / "out", read_only=False) as store:
        assert len(store.untriaged()) == 2
        store.disown()
    assert main(["minimize", str(tmp_path / "out"), "--all"]) == 2
    assert "--trust" in capsys.readouterr().err
    assert len(asked) == 1


def test_triage_of_all_looks_into_nothing_that_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(job: TriageJob, _workers: Callable[[], IsolatedWorker]) -> TriageResult:
        asked.append(job.id)
        return TriageResult(job.id, TriageState.GONE)

    monkeypatch.setattr(local, "triage_finding", noted)
    config = Config(seed=7, passes=("FuseOps",), user_passes=(), oracles=(), max_examples=8, seconds=None, workers=1)
    listed, other = hit("boom", 5), hit("another", 9)
    with Store.create(tmp_path / "out", {**META, "config": config.to_json()}) as store:
        store.record_shard(shard(0, listed, other), 1.0)
    known = tmp_path / "list.toml"
    known.write_text(f'[[known]]\nid = "{listed.signature.id}"\nreference = "test"\nreason = "known"\n')
    assert main(["minimize", str(tmp_path / "out"), "--all", "--known", str(known), "--workers", "1"]) == 0
    assert asked == [other.signature.id]
    with Store.open(tmp_path / "out") as store:
        assert store.finding(listed.signature.id).state is FindingState.KNOWN
