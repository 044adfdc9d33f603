"""The Dask worker's side: shards and triage in isolated processes, as on the campaign's own machine.

A crash of TVM ends a child of the Dask worker, never the worker itself. Processes are kept from shard to shard; when a
campaign has ended, or is not heard of any more, they are ended too.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from distributed import get_worker
from distributed.worker import thread_state

from fuzzer.cluster.executor import CampaignStopped, WorkerPool
from fuzzer.cluster.messages import (
    SentFile,
    ShardReply,
    ShardRequest,
    TriageReply,
    TriageRequest,
    WorkerFault,
    WorkerMismatch,
    environment_key,
    mismatch,
    relocated,
    unpack,
)
from fuzzer.core.config import Config
from fuzzer.shard.shard import ShardTask
from fuzzer.store.door import read_script
from fuzzer.store.records import ShardResult
from fuzzer.triage.finding import triage_finding
from fuzzer.worker.worker import ChildError

IDLE_SECONDS = 120.0
"""Processes of a campaign that has sent nothing for so long are ended: its machine may have been switched off."""
MOST_LOG = 256 << 10
"""Bytes of what TVM printed that go back with one result: the last ones."""


class _WorkerSession:
    """One session of one campaign, as this worker knows it."""

    def __init__(self, config: Config) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="relaxfuzz-dask-")
        self.folder = Path(self._folder.name)
        self.cut, self.stop = threading.Event(), threading.Event()
        self.log = self.folder / "workers.log"
        self.workers = WorkerPool(config, self.log, self.stop, scripts=str(self.folder))
        self.busy = 0
        self.used = time.monotonic()
        self._log_lock = threading.Lock()
        self._files_lock = threading.Lock()
        self._places: dict[str, str] | None = None

    def places(self, files: Sequence[SentFile]) -> dict[str, str]:
        """Where the campaign's files are here."""
        with self._files_lock:
            if self._places is None:
                self._places = unpack(files, self.folder / "files")
            return self._places

    def printed(self) -> bytes:
        """Take what was printed since the last call."""
        with self._log_lock, contextlib.suppress(OSError), self.log.open("r+b") as file:
            text = file.read()
            file.truncate(0)
            return text[-MOST_LOG:]
        return b""

    def close(self) -> None:
        """End the processes and remove the files."""
        self.stop.set()
        self.workers.kill()
        self.workers.close()
        self._folder.cleanup()


_sessions: dict[str, _WorkerSession] = {}
_ended: set[str] = set()
_lock = threading.Lock()


def run_shards(parcel: ShardRequest, files: Sequence[SentFile]) -> ShardReply:
    """A Dask task: shards, or rests of some. Those that it has no time for are left to the campaign."""
    results: list[ShardResult] = []
    with _working(parcel.session, parcel.fit, parcel.tasks[0].config) as session:
        began = time.monotonic()
        for task in parcel.tasks:
            if results and time.monotonic() - began >= parcel.seconds:
                break
            try:
                results.append(_run_shard(session, task, files))
            except CampaignStopped:
                if not results:
                    raise
                break  # what was judged before is not lost
        return ShardReply(tuple(results), session.printed())


def _run_shard(session: _WorkerSession, task: ShardTask, files: Sequence[SentFile]) -> ShardResult:
    if session.cut.is_set():
        return ShardResult(task.number, task.first, task.first)
    places = session.places(files)
    return relocated(session.workers.run_shard(relocated(task, places), session.cut), _back(places))


def run_triage(parcel: TriageRequest, files: Sequence[SentFile]) -> TriageReply:
    """A Dask task: confirm, minimize and script one finding."""
    with _working(parcel.session, parcel.fit, parcel.config) as session:
        places = session.places(files)
        directory = session.folder / parcel.job.id
        plan = replace(relocated(parcel.job.plan, places), stop=_abandonment(session))
        job = replace(relocated(parcel.job, places), directory=directory, plan=plan, place=session.folder)
        result = triage_finding(job, session.workers.new)
        script = None if result.repro is None else read_script(directory, result.repro)
        return relocated(TriageReply(result, script, session.printed()), _back(places))


def _back(places: dict[str, str]) -> dict[str, str]:
    return {here: there for there, here in places.items()}


def _abandonment(session: _WorkerSession) -> Any:
    """Says whether the task of this thread is wanted no more: the campaign ends, or the scheduler has taken it back."""
    tasks, key = get_worker().state.tasks, thread_state.key

    def abandoned() -> bool:
        task = tasks.get(key)
        return session.stop.is_set() or task is None or task.state == "cancelled"

    return abandoned


@contextlib.contextmanager
def _working(name: str, wanted: Any, config: Config) -> Iterator[_WorkerSession]:
    """The session that a task is of, begun with its first task."""
    address = str(get_worker().address)
    if different := mismatch(wanted, environment_key()):
        raise WorkerMismatch(address, different)
    # Nannies start their workers as daemons, which multiprocessing forbids children. The reason, that they would be
    # left behind, does not hold: isolated processes die with the process that started them.
    cast("Any", multiprocessing.current_process())._config["daemon"] = False
    with _lock:
        session = _sessions.get(name)
        if session is None:
            session = _sessions[name] = _WorkerSession(config)
            if name in _ended:
                session.cut.set()
                session.stop.set()
        session.busy += 1
    try:
        yield session
    except OSError as error:
        raise WorkerFault(address, f"{type(error).__name__}: {error}") from None
    except ChildError as error:
        said = str(error).strip().splitlines()[-1]
        if "PluginError: " not in said:
            raise
        raise WorkerFault(address, said.partition("PluginError: ")[2]) from None
    finally:
        with _lock:
            session.busy -= 1
            session.used = time.monotonic()
        timer = threading.Timer(IDLE_SECONDS, _end_idle)
        timer.daemon = True
        timer.start()


def _end_idle() -> None:
    with _lock:
        now = time.monotonic()
        names = [name for name, each in _sessions.items() if not each.busy and now - each.used >= IDLE_SECONDS - 1]
        idle = [_sessions.pop(name) for name in names]
    for session in idle:
        session.close()


def cut(name: str) -> None:
    """Run on every worker: shards of a session end where they are."""
    if (session := _sessions.get(name)) is not None:
        session.cut.set()


def kill(name: str) -> None:
    """Run on every worker: end what is under way of a session at once."""
    _ended.add(name)
    cut(name)
    if (session := _sessions.get(name)) is not None:
        session.stop.set()
        session.workers.kill()


def end(name: str) -> None:
    """Run on every worker: the session is over."""
    kill(name)
    with _lock:
        session = _sessions.get(name)
        if session is None or session.busy:
            return  # its last task is still on the way out; what is idle then is ended by and by
        del _sessions[name]
    threading.Thread(target=session.close, daemon=True).start()
