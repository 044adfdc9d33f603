"""Isolated processes: TVM meets untrusted modules only here, where a crash, a hang or a full memory loses nothing."""

from __future__ import annotations

import contextlib
import enum
import fcntl
import functools
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import psutil

from fuzzer import logfile
from fuzzer.breadcrumb import CrumbFile

if TYPE_CHECKING:
    from oracles.verdict import Verdict

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_TIME_LIMIT = 20.0
"""Seconds for one case.  The slowest honest case seen took 3 s on a loaded machine."""
DEFAULT_MEMORY_LIMIT = 3 << 30
"""Bytes of private memory for one process."""
RECYCLE_RSS = 1_200 << 20
"""A process larger than this between two calls is replaced: TVM's and LLVM's caches only grow."""
_POLL = 0.02
_AT_WORK = 0.5
"""Of its time limit, a case must have had so much of a processor before it counts as a hang: a case is not slow because
the machine is busy."""
_IDLE = 3.0
"""A case that takes no processor's time, as in a deadlock, is given so many times its limit."""
_START_LIMIT = 120.0


class Death(enum.Enum):
    """How an isolated process ended."""

    SIGNAL = "signal"
    HANG = "hang"
    MEMORY = "memory"
    EXIT = "exit"


@dataclass(frozen=True, slots=True)
class Died:
    """An isolated process that did not answer.

    Attributes:
        death: How it ended.
        detail: For people: ``signal 11 (SIGSEGV)``, ``no answer within 20 s``.
        stage: The last breadcrumb, ``oracle: pass``.
    """

    death: Death
    detail: str
    stage: str

    @property
    def kind(self) -> str:
        """Class of the failure, as evidence names it: ``signal 11``, ``hang``, ``memory``, ``exit 3``."""
        if self.death in (Death.SIGNAL, Death.EXIT):
            return " ".join(self.detail.split()[:2])
        return str(self.death.value)


class ChildError(RuntimeError):
    """The function in the isolated process raised: an error of this program, not of the pass under test."""


_crumbs: CrumbFile | None = None


def breadcrumb(stage: str) -> None:
    """Called inside an isolated process before a risky step; outside of one it does nothing."""
    if _crumbs is not None:
        _crumbs.leave(stage)


def die_if_out_of_memory(verdicts: Iterable[Verdict]) -> None:
    """Called inside an isolated process after judging; outside of one it does nothing.

    Whether the limit is met inside an allocation that raises, or between two of them by the parent, is chance. Both
    are the same finding, so the first ends the process like the second; what is left of the heap is not to be trusted.
    """
    for verdict in verdicts:
        found = verdict.evidence
        if found is not None and (found.kind == "MemoryError" or "bad_alloc" in found.message) and _crumbs is not None:
            breadcrumb(f"{verdict.oracle}: {verdict.culprit}")
            os._exit(_MEMORY_EXIT)


def begin_case() -> None:
    """Called inside an isolated process: the time limit counts from now."""
    if _crumbs is not None:
        _crumbs.begin()


@functools.cache
def _context() -> Any:
    # One thread: two workers on two cores, and a fork server must not hold threads.
    os.environ.setdefault("TVM_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fuzzer.preload"])
    return context


_POLLING = threading.Lock()
"""Held by whoever asks whether a child lives: ``multiprocessing`` asks it of all children whenever one is started, and
of two threads that read one exit status the second reads 255 (``popen_forkserver.Popen.poll``)."""


def _exit_code(process: Any, seconds: float = 0.0) -> int | None:
    """How a process has ended, ``None`` when it has not; waits for it for so long."""
    wait([process.sentinel], seconds)  # without the lock: reads nothing
    with _POLLING:
        process.join(0)
        return cast("int | None", process.exitcode)


def _serve(connection: Connection, crumb_path: str, log_path: str | None, memory_limit: int) -> None:
    """Body of the isolated process: take calls until the parent closes the connection."""
    global _crumbs
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    _redirect(log_path)
    _limit(memory_limit)
    _crumbs = CrumbFile(Path(crumb_path))
    while True:
        try:
            function, argument = connection.recv()
        except (EOFError, OSError):
            return
        try:
            begin_case()
            for item in function(argument):
                connection.send(("item", item))
            _crumbs.end()
            connection.send(("done", None))
        except MemoryError:
            os._exit(_MEMORY_EXIT)  # what is left of the heap is not to be trusted
        except BaseException:
            _crumbs.end()
            connection.send(("error", traceback.format_exc()))


_MEMORY_EXIT = 77


def _die_with_parent() -> None:
    """Let the kernel end this process when the campaign's process is killed, however busy this one is.

    The read end of a pipe that only the parent can write to reports its end by SIGIO, which kills by default.
    """
    parent = multiprocessing.parent_process()
    if parent is None or sys.platform != "linux":
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, fcntl.fcntl(parent.sentinel, fcntl.F_GETFL) | os.O_ASYNC)


def _redirect(log_path: str | None) -> None:
    """Send what TVM prints to the log: it writes to the file descriptors, not to ``sys.stderr``."""
    descriptor = os.open(log_path or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _limit(memory_limit: int) -> None:
    """Bound the private memory; RLIMIT_DATA counts it since Linux 4.7, RLIMIT_AS would count LLVM's reserves."""
    try:
        import resource

        used = int(psutil.Process().memory_info().data)
        resource.setrlimit(resource.RLIMIT_DATA, (memory_limit + used, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, OSError, ValueError):
        return  # not Linux: the parent still watches the resident size


def _single(pair: tuple[Callable[[Any], Any], Any]) -> Iterable[Any]:
    function, argument = pair
    yield function(argument)


class IsolatedWorker:
    """A process with TVM loaded that runs functions and may die of them.

    It is started on first use, kept from call to call, and replaced after a death or when it has grown beyond
    ``RECYCLE_RSS``.  Not for use by two threads at once.

    Attributes:
        time_limit: Seconds for one case.
        memory_limit: Bytes of private memory.
    """

    def __init__(
        self,
        *,
        time_limit: float = DEFAULT_TIME_LIMIT,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
        log: Path | None = None,
    ) -> None:
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self._log = log
        self._process: Any = None
        self._connection: Connection | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="relaxfuzz-")
        self._crumbs = CrumbFile(Path(self._folder.name) / "crumb")
        self._closed = False

    def __enter__(self) -> IsolatedWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(
        self,
        function: Callable[[T], R],
        argument: T,
        time_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> R | Died:
        """``function(argument)`` in the process; what it returns, or how it died.

        Raises:
            ChildError: when the function raised.
        """
        for item in self.stream(_single, (function, argument), time_limit, memory_limit):
            result = item
        return cast("R | Died", result)

    def stream(
        self,
        function: Callable[[T], Iterable[R]],
        argument: T,
        time_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> Iterator[R | Died]:
        """Items of ``function(argument)`` as the process yields them; a ``Died`` comes last if it dies.

        Raises:
            ChildError: when the function raised.
        """
        limit = self.time_limit if time_limit is None else time_limit
        memory = self.memory_limit if memory_limit is None else memory_limit
        self._ensure(memory)
        assert self._connection is not None
        try:
            self._connection.send((function, argument))
        except OSError:
            yield self._buried()
            return
        while True:
            message = self._receive(limit, memory)
            if isinstance(message, Died):
                yield message
                return
            tag, item = message
            if tag == "item":
                yield cast("R", item)
            elif tag == "error":
                raise ChildError(item)
            else:
                self._recycle()
                return

    def close(self) -> None:
        """End the process."""
        self._stop()
        if not self._closed:
            self._closed = True
            self._crumbs.close()
            self._folder.cleanup()

    def kill(self) -> None:
        """End the process at once; safe to call from another thread."""
        process = self._process
        if process is not None:
            with contextlib.suppress(Exception):
                process.kill()

    def fresh(self) -> None:
        """Let the next call run in a new process."""
        self._stop()

    # -- inside -------------------------------------------------------------------------------------------------

    def _ensure(self, memory_limit: int) -> None:
        if self._log is not None:
            logfile.bound(self._log)
        if self._process is not None and _exit_code(self._process) is None:
            return
        self._stop()
        parent, child = _context().Pipe()
        log = None if self._log is None else str(self._log)
        arguments = (child, str(Path(self._folder.name) / "crumb"), log, memory_limit)
        self._crumbs.end()
        self._process = _context().Process(target=_serve, args=arguments, daemon=True)
        with _POLLING:
            self._process.start()
        child.close()
        self._connection = parent

    def _receive(self, time_limit: float, memory_limit: int) -> Any:
        assert self._connection is not None
        waited_from = time.monotonic()
        next_look = waited_from + 0.25
        begun, used = -1.0, 0.0
        while True:
            try:
                if self._connection.poll(_POLL):
                    return self._connection.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                return self._buried()
            now = time.monotonic()
            since = self._crumbs.read().since
            if since != begun:
                begun, used = since, _processor_time(self._process.pid)
            late = since and now - since > time_limit
            if late and (now - since > _IDLE * time_limit or self._worked(used) > _AT_WORK * time_limit):
                return self._killed(Death.HANG, f"no answer within {time_limit:g} s")
            if not since and now - waited_from > max(_START_LIMIT, time_limit):
                return self._killed(Death.HANG, f"no answer within {_START_LIMIT:g} s")
            if now >= next_look:
                next_look = now + 0.25
                if _resident(self._process.pid) > memory_limit:
                    return self._killed(Death.MEMORY, f"more than {memory_limit >> 20} MiB resident")

    def _worked(self, before: float) -> float:
        """Seconds of processor time that the process took since it had taken ``before``."""
        return _processor_time(self._process.pid) - before

    def _killed(self, death: Death, detail: str) -> Died:
        stage = self._crumbs.read().stage
        self._process.kill()
        self._stop()
        return Died(death, detail, stage)

    def _buried(self) -> Died:
        """How the process ended that closed its end of the connection."""
        stage = self._crumbs.read().stage
        code = _exit_code(self._process, 5.0)
        self._stop()
        if code == _MEMORY_EXIT:
            return Died(Death.MEMORY, "out of memory", stage)
        if code is not None and code < 0:
            return Died(Death.SIGNAL, f"signal {-code} ({_signal_name(-code)})", stage)
        return Died(Death.EXIT, f"exit {code}", stage)

    def _recycle(self) -> None:
        if _resident(self._process.pid) > RECYCLE_RSS:
            self._stop()

    def _stop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None
        if self._process is not None:
            # A child that waits for a call ends at the closed connection; one that is busy does not.
            if _exit_code(self._process, 0.2) is None:
                self._process.kill()
                _exit_code(self._process, 5.0)
            self._process = None


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def _processor_time(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
