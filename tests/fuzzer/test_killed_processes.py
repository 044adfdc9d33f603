"""Processes that somebody else kills: the work is done again, and none is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest
import victims

from fuzzer.worker import session_files as scratch
from fuzzer.worker.death import Death, Died
from fuzzer.worker.worker import IsolatedWorker


def server() -> psutil.Process:
    for child in psutil.Process().children():
        if any("forkserver" in part for part in child.cmdline()):
            return child
    raise AssertionError("there is no fork server")


@pytest.mark.parametrize(
    ("code", "doubtful"), [(-9, True), (-15, True), (-11, False), (-6, False), (255, True), (3, False)]
)
def test_which_deaths_may_have_come_from_outside(code: int, doubtful: bool) -> None:
    assert Died.by_exit_code(code, "").doubtful is doubtful


def test_a_worker_that_is_killed_from_outside_does_its_work_again(tmp_path: Path) -> None:
    with IsolatedWorker(time_limit=20.0) as worker:
        assert worker.call(victims.killed_at_first, tmp_path / "times") == 3
        died = worker.call(victims.die, signal.SIGKILL)
    assert isinstance(died, Died)
    assert died.kind == "signal 9", "who always does it did it"


def test_a_worker_that_is_not_wanted_any_more_does_not_begin_again() -> None:
    with IsolatedWorker(time_limit=60.0) as worker:
        worker.call(victims.double, 1)
        threading.Timer(0.5, worker.kill).start()
        assert isinstance(worker.call(victims.nap, 30.0), Died), "it does not take its nap again"


def test_a_fork_server_that_is_killed_takes_no_work_with_it() -> None:
    with IsolatedWorker(time_limit=20.0) as busy, IsolatedWorker(time_limit=20.0) as fresh:
        pid = busy.call(victims.process, None)
        old = server()
        old.kill()
        while old.status() != psutil.STATUS_ZOMBIE:  # not waited for: only `multiprocessing` may take its status
            time.sleep(0.01)
        assert busy.call(victims.process, None) == pid, "its processes live on"
        assert fresh.call(victims.double, 21) == 42, "and new ones are to be had"
        died = busy.call(victims.hang, None, time_limit=0.5)
        assert isinstance(died, Died)
        assert died.death is Death.HANG
        assert isinstance(pid, int)
        deadline = time.monotonic() + 10
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, "a hang is ended although the fork server cannot be asked to"
            time.sleep(0.05)


def test_directories_of_killed_sessions_are_swept_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    dead, foreign = tmp_path / f"{scratch.PREFIX}dead", tmp_path / f"{scratch.PREFIX}foreign"
    for directory in (dead, foreign):
        (directory / "pymp-1").mkdir(parents=True)
    (dead / "owner").touch()
    child = os.fork()
    if not child:  # pragma: no cover
        try:
            living = tmp_path / f"{scratch.PREFIX}living"
            living.mkdir()
            scratch._owned(living)
            (tmp_path / "ready").touch()
            time.sleep(60)
        finally:
            os._exit(0)
    try:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        assert scratch.sweep(tmp_path) == 1
        assert not dead.exists()
        assert foreign.exists(), "what has no owner's mark is not ours to remove"
        assert (tmp_path / f"{scratch.PREFIX}living").exists()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert scratch.sweep(tmp_path) == 1
    assert not (tmp_path / f"{scratch.PREFIX}living").exists()
