"""Executors: what a campaign hands its shards and findings to, and the one that uses this machine."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Protocol

import psutil

from fuzzer.core.config import Config
from fuzzer.repro.run import SCRATCH
from fuzzer.shard.run import run_isolated
from fuzzer.shard.shard import OTHER, ShardTask
from fuzzer.store.database import store_error
from fuzzer.store.records import ShardResult
from fuzzer.triage.finding import TriageJob, TriageResult, triage_finding
from fuzzer.worker.worker import IsolatedWorker

_KILL_AGAIN = 0.2


class CampaignStopped(Exception):
    """The campaign ends: no new worker is to be had."""


class ExecutorError(Exception):
    """Nobody is left to do the work; the message is one line for the user. What was recorded can be resumed."""


class Executor(Protocol):
    """Runs shards and triage; what comes out depends on the task alone, never on who ran it.

    It is given the campaign's two events: once ``cut`` is set, shards under way end where they are; once ``stop`` is
    set, nothing new is begun.
    """

    @property
    def workers(self) -> int:
        """Number of workers that can be at work at the same time."""

    @property
    def slots(self) -> int:
        """Number of tasks to hand out at the same time: the workers, and a few that wait for the next one free."""

    @property
    def judged(self) -> int:
        """Number of cases that shards under way have judged, as far as that is known before they end."""

    def shard(self, task: ShardTask) -> Future[ShardResult]:
        """Run a shard, or the rest of one; its future may raise ``CampaignStopped`` or ``ExecutorError``."""

    def triage(self, job: TriageJob) -> Future[TriageResult]:
        """Look into a finding; its future may raise as that of :meth:`shard`."""

    def kill(self) -> None:
        """End what is under way at once; its futures come to an end, with or without a result."""

    def close(self) -> None:
        """Give everything back; called once, after :meth:`kill`."""


ExecutorFactory = Callable[["Config", Path, Path, threading.Event, threading.Event], Executor]
"""Makes an executor, of a configuration, the campaign's directory, the log of what TVM prints, ``stop`` and ``cut``."""


# WorkerPool of this machine: a thread for each, and isolated processes that run shards and are handed out again.


class WorkerPool:
    """Isolated workers of all threads: those that run shards are kept and handed out again.

    Args:
        config: Has their limits.
        log: Where what TVM prints goes.
        stop: Set when no new one is to be had.
        scripts: What stands in the path of each script that triage runs in this process.
    """

    def __init__(self, config: Config, log: Path, stop: threading.Event, scripts: str = SCRATCH) -> None:
        self._config = config
        self._log = log
        self._stop = stop
        self._scripts = scripts
        self._lock = threading.Lock()
        self._idle: list[IsolatedWorker] = []
        self._all: list[IsolatedWorker] = []

    def new(self) -> IsolatedWorker:
        """A worker under the campaign's limits; raises ``CampaignStopped`` once the campaign ends."""
        if self._stop.is_set():
            raise CampaignStopped
        config = self._config
        worker = IsolatedWorker(time_limit=config.case_timeout, memory_limit=config.memory_limit, log=self._log)
        with self._lock:
            # Triage takes a fresh one for each step and closes it.
            self._all = [each for each in self._all if not each.closed]
            self._all.append(worker)
        return worker

    def run_shard(self, task: ShardTask, cut: threading.Event) -> ShardResult:
        """Run a shard in one of them, and say what of its time no step took."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        worker = idle or self.new()
        began = time.monotonic()
        try:
            result = run_isolated(worker, task, cut)
        finally:
            with self._lock:
                self._idle.append(worker)
        result.spent[OTHER, ""] = max(0.0, time.monotonic() - began - sum(result.spent.values()))
        return result

    @property
    def judged(self) -> int:
        """Number of cases that they have judged and not told of."""
        with self._lock:
            return sum(worker.judged for worker in self._all)

    def kill(self) -> None:
        """End all processes; the threads that wait for them notice."""
        with self._lock:
            for worker in self._all:
                worker.kill()
        for child in psutil.Process().children(recursive=True):  # scripts fork
            with contextlib.suppress(psutil.Error):
                if any(self._scripts in argument for argument in child.cmdline()):
                    child.kill()  # a script that triage runs

    def close(self) -> None:
        """Give everything back; no thread uses a worker any more."""
        for worker in self._all:
            worker.close()


class LocalExecutor:
    """A campaign's workers on this machine: see ``fuzzer.cluster.executor.Executor``.

    Args:
        config: Has their number and limits.
        directory: The campaign's.
        log: Where what TVM prints goes.
        stop: As of ``Executor``.
        cut: As of ``Executor``.
    """

    def __init__(self, config: Config, directory: Path, log: Path, stop: threading.Event, cut: threading.Event) -> None:
        self.workers = self.slots = config.workers
        self._directory = directory
        self._cut = cut
        self._isolated = WorkerPool(config, log, stop)
        self._threads = ThreadPoolExecutor(max_workers=config.workers, thread_name_prefix="relaxfuzz")
        self._triages: list[Future[TriageResult]] = []

    @property
    def judged(self) -> int:
        """See ``Executor``."""
        return self._isolated.judged

    def shard(self, task: ShardTask) -> Future[ShardResult]:
        """See ``Executor``."""
        return self._threads.submit(self._isolated.run_shard, task, self._cut)

    def triage(self, job: TriageJob) -> Future[TriageResult]:
        """See ``Executor``."""
        self._triages = [each for each in self._triages if not each.done()]
        self._triages.append(self._threads.submit(self._triage, job))
        return self._triages[-1]

    def _triage(self, job: TriageJob) -> TriageResult:
        try:
            return triage_finding(job, self._isolated.new)
        except OSError as error:
            # The script could not be written, or a worker not be started: the finding stays new.
            raise store_error(error, self._directory) from error

    def kill(self) -> None:
        """See ``Executor``."""
        self._isolated.kill()

    def close(self) -> None:
        """See ``Executor``."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        while wait(self._triages, timeout=_KILL_AGAIN).not_done:
            self.kill()  # a script that was begun since
        self._threads.shutdown(wait=True)
        self._isolated.close()
