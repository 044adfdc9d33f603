"""Campaigns whose passes die by signal, whose workers and fork server are killed, and whose clock jumps.

What is recorded in the end is what the seed decides, to the last case.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import deadly
import psutil
import pytest
from assassin import Assassin, Victim
from deadly import NAMES, Fault
from sample_records import META
from turns import TURN, record
from undisturbed import CASE_SECONDS, SEED, check, config, expected, known_file

from fuzzer.campaign.campaign import Campaign
from fuzzer.campaign.progress import Progress
from fuzzer.findings.file import load_known
from fuzzer.store.writer import FILE_NAME, Store, StoreError

PROGRAM = Path(sys.executable).parent / "relaxfuzz"


class _JumpingClock:
    """``time.time`` of a machine whose clock somebody sets, by years, again and again."""

    def __init__(self, chance: random.Random) -> None:
        self.jumps = 0
        self._chance = chance
        self._time = time.time

    def __call__(self) -> float:
        self.jumps += 1
        return self._time() + self._chance.uniform(-10, 10) * 365 * 86400


@pytest.mark.slow
def test_faults_of_every_kind_are_all_accounted_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = 110
    wanted = expected(examples)
    known = load_known(known_file(tmp_path / "known.toml"))
    what = config(examples)
    clock = _JumpingClock(random.Random(3 + TURN))
    begun = time.monotonic()
    with Store.create(tmp_path / "out", META) as store:
        monkeypatch.setattr(time, "time", clock)
        with Assassin(os.getpid(), tmp_path / "out", random.Random(4 + TURN), 5) as assassin:
            assert Campaign(store, what, Progress(what, io.StringIO()), known).run() == "finished"
            with pytest.raises(StoreError, match="another campaign is running in"):
                Store.open(tmp_path / "out", read_only=False)
        spent = time.monotonic() - begun
        monkeypatch.undo()
        assert 0 < store.info().elapsed_seconds <= spent
    check(tmp_path / "out", wanted)
    assert wanted.faults + assassin.killed.total() >= 50
    assert clock.jumps == 0, "nobody in the coordinator goes by a clock that can be set"
    assert assassin.killed[Victim.WORKER]
    record({victim.value: count for victim, count in assassin.killed.items()} | {"in the passes": wanted.faults})


def command(out: Path, known: Path, examples: int) -> list[str]:
    passes = [part for name in NAMES for part in ("--pass", f"{deadly.__file__}:{name}")]
    limits = ("--case-timeout", f"{CASE_SECONDS:g}s", "--memory-limit", "1GiB", "--workers", "2", "--oracles", "crash")
    return [str(PROGRAM), "run", "--out", str(out), "--seed", str(SEED), *passes, *limits,
            "--known", str(known), "--max-examples", str(examples)]  # fmt: skip


def _alive(marked: Path) -> list[str]:
    """Processes that belong to a campaign: they have its directory's log open."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and any(
                str(marked) in os.readlink(f"/proc/{process.pid}/fd/{each}")
                for each in os.listdir(f"/proc/{process.pid}/fd")
            ):
                found.append(" ".join(process.cmdline()))
        except (psutil.Error, OSError):
            continue
    return found


def kill_everything(session: subprocess.Popen[bytes]) -> int:
    """``kill -9`` of the coordinator and all that it has started; returns how many processes that were."""
    family = [psutil.Process(session.pid), *psutil.Process(session.pid).children(recursive=True)]
    for each in family:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    session.wait()
    return len(family)


def _recorded(out: Path) -> int:
    with contextlib.suppress(StoreError), Store.open(out) as store:
        return store.info().examples
    return 0


def _come_so_far(session: subprocess.Popen[bytes], out: Path, cases: int) -> bool:
    """Wait until so many cases are recorded, of which one by this session; whether it has not ended before.

    By the clock it would be killed before its first case on a busy machine, and end unharmed on another.
    """
    before = _recorded(out)
    while session.poll() is None:
        if _recorded(out) >= max(cases, before + 1):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A short path for temporary files, below which sockets can lie (``fuzzer/worker/session_files.py``)."""
    with tempfile.TemporaryDirectory(prefix="rf-", dir="/tmp") as name:
        yield Path(name)


def storm(directory: Path, temporary: Path, examples: int, kills: int, chance: random.Random) -> Counter[str]:
    """Sessions of one campaign that are killed, every sixth the coordinator alone, else all; then it finishes."""
    out, known = directory / "out", known_file(directory / "known.toml")
    faults: Counter[str] = Counter()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    for number in range(kills + 1):
        last = number == kills
        with (
            subprocess.Popen(
                command(out, known, examples), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
            ) as session,
            Assassin(session.pid, out, chance, 12) as assassin,
        ):
            goal = int((number + chance.random()) * examples / (kills + 1))
            if last or not _come_so_far(session, out, goal):
                _, errors = session.communicate()
                assert session.returncode == 0, errors.decode()
            else:
                with pytest.raises(StoreError, match="another campaign is running in"):
                    Store.open(out, read_only=False)
                faults["second coordinator"] += 1
                time.sleep(0.5 * chance.random())
                if number % 6 < 5:
                    kill_everything(session)
                    faults["everything"] += 1
                else:
                    session.send_signal(signal.SIGKILL)
                    faults["coordinator"] += 1
        faults.update({victim.value: count for victim, count in assassin.killed.items()})
        if (out / FILE_NAME).exists():
            with Store.open(out) as store:
                assert store.info().examples == sum(tally.count for tally in store.tallies()), "each case once"
    deadline = time.monotonic() + 20
    while _alive(out) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert _alive(out) == [], "no process is left"
    assert os.listdir(temporary) == [], "no file is left"
    return faults


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_faults_and_fifty_kills_of_everything(tmp_path: Path, temporary: Path) -> None:
    """With the thousand of test_torn_log.py the two thousand of one run."""
    examples = 1600
    wanted = expected(examples)
    outside = storm(tmp_path, temporary, examples, 60, random.Random(5 + TURN))
    check(tmp_path / "out", wanted)
    inside = {fault.value: sum(n for (_, each), n in wanted.tallies.items() if each is fault) for fault in Fault}
    print(f"\n{datetime.datetime.now()}: inside {inside}, outside {dict(outside)}")
    assert wanted.faults + outside.total() >= 1000
    assert outside["everything"] == 50
    record(Counter({each: count for each, count in inside.items() if each}) + outside)


@pytest.mark.slow
def test_a_storm_in_a_teacup(tmp_path: Path, temporary: Path) -> None:
    wanted = expected(60)
    outside = storm(tmp_path, temporary, 60, 2, random.Random(6 + TURN))
    check(tmp_path / "out", wanted)
    assert outside["everything"] + outside["coordinator"] > 0
