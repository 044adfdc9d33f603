"""Hangs are told long before the time limit, and what only looks like one is judged again."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import victims

from fuzzer.campaign.progress import Progress
from fuzzer.core.config import Config
from fuzzer.store.records import FindingRecord
from fuzzer.store.writer import Store, StoreError
from fuzzer.worker.death import Death, Died
from fuzzer.worker.flight_recorder import FIRST, LEAST, _Pace
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.passes.contract import OracleName

PASSES = Path(__file__).with_name("hanging_passes.py")
PROGRAM = Path(sys.executable).parent / "relaxfuzz"
PROMISED = 20.0


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("spins", "native", "sometimes")]


@pytest.mark.parametrize("name", ["sleeps", *OTHERS])
def test_a_pass_that_hangs_is_a_finding_within_twenty_seconds(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "relaxfuzz", "run", "--pass", f"{PASSES}:{name}", "--time", "60s", "--seed", "3"]
    with subprocess.Popen(
        [*command, "--workers", "1", "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as session:
        found: list[FindingRecord] = []
        until = time.monotonic() + 90
        while not found and time.monotonic() < until:
            time.sleep(0.25)
            with contextlib.suppress(StoreError), Store.open(out) as store:
                found = store.findings()
        session.kill()
    assert found
    assert (found[0].kind, found[0].culprit) == ("hang", name)
    # Of a machine that others use as well a campaign has its share.
    assert found[0].first_seen_seconds < PROMISED * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def test_a_step_is_given_a_hundred_times_what_others_of_its_kind_took() -> None:
    pace = _Pace()
    assert pace.begin("draw: the generator", 0.0) == 0.0
    assert pace.begin("crash: A", 1.0) == FIRST, "nothing is known"
    assert pace.begin("numeric run main: A", 3.0) == FIRST
    assert pace.begin("crash: B", 3.5) == FIRST, "the first one loaded what the others find"
    assert pace.begin("", 3.6) == 0.0
    assert pace.begin("crash: C", 9.0) == pytest.approx(10.0), "time between cases is nobody's"
    assert pace.begin("crash: C", 9.001) == pytest.approx(10.0)
    quick = _Pace()
    for number in range(5):
        given = quick.begin("crash: A", number / 1000)
    assert given == LEAST


@pytest.mark.slow
def test_only_an_adaptive_limit_ends_a_step_before_the_case() -> None:
    with IsolatedWorker(time_limit=30.0) as worker:
        worker.call(victims.double, 1)  # started
        (died,) = worker.stream(victims.endless, None, adaptive=True)
        assert isinstance(died, Died)
        assert (died.death, died.early, died.stage) == (Death.HANG, True, "crash: Endless")
        died = worker.call(victims.hang, None, time_limit=1.0)
        assert isinstance(died, Died)
        assert not died.early


def test_what_shards_under_way_have_judged_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "relaxfuzz")
    config = Config(1, ("FuseOps",), (), (OracleName.CRASH,), 100, None, 1)
    shown = io.StringIO()
    progress = Progress(config, shown)
    progress._next = 0.0
    progress.show(10.0, waiting=0, judged=37)
    assert " 37 cases, " in shown.getvalue()
