"""Isolated workers: whatever the function does, the parent lives and knows what happened."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import victims

from fuzzer.worker.death import Death, Died
from fuzzer.worker.worker import ChildError, IsolatedWorker

MIB = 1 << 20


@pytest.fixture
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker(time_limit=20.0) as started:
        yield started


def test_a_result_comes_back_from_another_process(worker: IsolatedWorker) -> None:
    assert worker.call(victims.double, 21) == 42
    pid = worker.call(victims.process, None)
    assert pid not in (None, os.getpid())
    assert worker.call(victims.process, None) == pid, "the process is kept"
    worker.fresh()
    assert worker.call(victims.process, None) != pid


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (signal.SIGSEGV, "signal 11"),
        (signal.SIGFPE, "signal 8"),
        (signal.SIGABRT, "signal 6"),
        (signal.SIGKILL, "signal 9"),
    ],
)
def test_a_signal_is_reported_with_the_stage(worker: IsolatedWorker, number: int, kind: str) -> None:
    died = worker.call(victims.die, number)
    assert isinstance(died, Died)
    assert (died.death, died.kind, died.stage) == (Death.SIGNAL, kind, "crash: Deadly")
    assert signal.Signals(number).name in died.detail
    assert worker.call(victims.double, 4) == 8, "a new process has taken its place"


def test_a_real_segmentation_fault(worker: IsolatedWorker) -> None:
    died = worker.call(victims.null_pointer, None)
    assert isinstance(died, Died)
    assert died.kind == "signal 11"


def test_a_hang_ends_at_the_limit() -> None:
    with IsolatedWorker(time_limit=3600.0) as worker:
        died = worker.call(victims.hang, None, time_limit=1.0)  # it never comes back
    assert isinstance(died, Died)
    assert (died.death, died.kind, died.stage) == (Death.HANG, "hang", "idempotence: Endless")


def test_a_case_that_gets_no_processor_is_not_taken_for_a_hang_at_once(worker: IsolatedWorker) -> None:
    worker.call(victims.double, 1)  # started
    assert worker.call(victims.nap, 1.5, time_limit=1.0) == 1.5
    died = worker.call(victims.spin, None, time_limit=1.0)
    assert isinstance(died, Died)
    assert (died.death, died.stage) == (Death.HANG, "crash: Busy")


def test_a_process_that_was_killed_for_one_case_in_the_next_one_is_killed_from_outside(worker: IsolatedWorker) -> None:
    worker.call(victims.double, 1)  # started
    process = worker._process
    assert process is not None
    died = worker._killed(process, worker._recorder.last_step().since + 1.0, Death.HANG, "no answer")
    assert (died.kind, died.doubtful) == ("signal 9", True)


def test_the_limit_is_for_one_case_not_for_the_call(worker: IsolatedWorker) -> None:
    assert list(worker.stream(victims.slow_cases, 0.6, time_limit=1.5)) == [0, 1, 2]


def test_memory_beyond_the_limit_is_a_death_of_its_own() -> None:
    with IsolatedWorker(time_limit=30.0, memory_limit=600 * MIB) as worker:
        died = worker.call(victims.eat, 2000)
        assert isinstance(died, Died)
        assert (died.death, died.kind, died.stage) == (Death.MEMORY, "memory", "crash: Hungry")
        assert worker.call(victims.eat, 10) == 10


def test_leaving_the_process_is_a_death(worker: IsolatedWorker) -> None:
    died = worker.call(victims.leave, 5)
    assert isinstance(died, Died)
    assert (died.death, died.kind) == (Death.EXIT, "exit 5")


def test_threads_that_start_and_bury_processes_do_not_take_each_others_exit_codes() -> None:
    def exits(_number: int) -> set[str]:
        kinds = set()
        for _ in range(8):
            with IsolatedWorker(time_limit=20.0) as started:
                died = started.call(victims.leave, 5)
            assert isinstance(died, Died)
            kinds.add(died.kind)
        return kinds

    with ThreadPoolExecutor(4) as threads:
        assert set().union(*threads.map(exits, range(4))) == {"exit 5"}


def test_exceptions_are_errors_of_ours(worker: IsolatedWorker) -> None:
    with pytest.raises(ChildError, match="SystemExit: 3"):
        worker.call(victims.system_exit, None)
    with pytest.raises(ChildError, match="RecursionError"):
        worker.call(victims.recurse, 0)
    assert worker.call(victims.double, 1) == 2


def test_items_before_a_death_are_kept(worker: IsolatedWorker) -> None:
    *items, died = worker.stream(victims.three_then_die, None)
    assert items == [0, 1, 2]
    assert isinstance(died, Died)
    assert (died.kind, died.stage) == ("signal 11", "crash: case 2")


def test_noise_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "workers.log"
    with IsolatedWorker(log=log) as worker:
        worker.call(victims.noise, None)
    assert log.read_text() == "to the standard output\nto the standard error\n"
    assert capfd.readouterr() == ("", "")


def test_nothing_is_left_behind() -> None:
    opened = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with IsolatedWorker() as worker:
            pid = worker.call(victims.process, None)
            assert isinstance(pid, int)
        assert not psutil.pid_exists(pid)
    # The fork server's connection, once, where this is the first test that needs one.
    assert len(os.listdir("/proc/self/fd")) <= opened + 4


_ORPHANS = """
import os, signal, threading
import victims
from fuzzer.worker.worker import IsolatedWorker
worker = IsolatedWorker()
print(worker.call(victims.process, None), flush=True)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
worker.call(victims.hang, None)
"""


def test_a_busy_process_ends_with_its_killed_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ORPHANS], stdout=subprocess.PIPE, text=True, timeout=60, cwd=Path(__file__).parent
    )
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not psutil.pid_exists(pid)


def test_only_the_fork_server_is_shared() -> None:
    assert multiprocessing.get_start_method(allow_none=True) in (None, "fork"), "the program's own default is untouched"
