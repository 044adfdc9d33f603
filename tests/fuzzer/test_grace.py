"""Triage takes the gravest first; what is under way when the grace is over is left for a resume."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import victims
from sample_records import META, hit, shard

from fuzzer.campaign import campaign
from fuzzer.campaign.campaign import Campaign
from fuzzer.campaign.progress import Progress
from fuzzer.cli.verbs.run import _resuming
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


def test_the_command_that_triages_the_rest_is_the_same_one_for_this_campaign() -> None:
    told = _resuming(2, "18 s", ["run", "--time", "3m", "--out", "my night"], {"seed": "7", "out": "my night"}, {"out"})
    assert told.startswith("2 findings are untriaged; to triage for at most 18 s more, run again: ")
    assert shlex.split(told)[-7:] == ["run", "--time", "3m", "--out", "my night", "--seed", "7"]
