"""Processes that a fork server starts, which can be ended and waited for also when the fork server was killed."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, cast

import psutil

from fuzzer.worker.death import UNKNOWN_EXIT

_SAFE_PATH = "PYTHONSAFEPATH"
_STARTS = 5
"""A fork server that is killed while it starts a process is replaced; so often one process may meet that."""
_REAP = 5.0
"""Seconds that a fork server has to tell the exit code of a process that has ended."""

_POLLING = threading.Lock()
"""Held by whoever asks whether a child lives: ``multiprocessing`` asks it of all children whenever one is started, and
of two threads that read one exit status the second reads 255 (``popen_forkserver.Popen.poll``)."""


@functools.cache
def _context(method: str) -> Any:
    # One thread: two workers on two cores, and a fork server must not hold threads: what is forked from a process with
    # a thread pool has the pool and not the threads.
    os.environ.setdefault("TVM_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["fuzzer.preload"])
    return context


class ServerError(OSError):
    """No process can be started."""


class ChildProcess:
    """A process that runs ``target(connection, *arguments)``.

    With ``inherits`` it is a copy of this process and has all of its objects.

    Attributes:
        connection: This end of the connection to it.
        pid: Its number.
    """

    def __init__(self, target: Callable[..., None], arguments: tuple[Any, ...], *, inherits: bool = False) -> None:
        self.connection, self._process = _started(target, arguments, inherits)
        self.pid: int = self._process.pid
        # `Connection.poll` makes a selector each time, which costs more than all the rest of a message.
        self._ready = select.poll()
        self._ready.register(self.connection.fileno(), select.POLLIN)
        self._handle: int | None = None
        # A handle stays this process's own whoever waits for it, and another one gets its number.
        with contextlib.suppress(AttributeError, OSError):
            self._handle = os.pidfd_open(self.pid)

    def wait_for_message(self, seconds: float) -> bool:
        """Wait for so long for it to send something or to close its end; say whether it has."""
        return bool(self._ready.poll(seconds * 1000))

    def exit_code(self, seconds: float = 0.0) -> int | None:
        """Return how it has ended, ``None`` when it has not; waits for it for so long.

        ``UNKNOWN_EXIT`` where the fork server, which alone is told, is gone.
        """
        if self._handle is not None:
            watch = select.poll()
            watch.register(self._handle, select.POLLIN)
            if not watch.poll(seconds * 1000):
                return None  # alive, whatever has become of its fork server
            seconds = _REAP
        wait([self._process.sentinel], seconds)  # without the lock: reads nothing
        with _POLLING:
            self._process.join(0)
            code = cast("int | None", self._process.exitcode)
        return UNKNOWN_EXIT if code is None and self._handle is not None else code

    def kill(self) -> None:
        """End it at once; safe to call from another thread."""
        with contextlib.suppress(Exception):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            else:
                self._process.kill()

    def close(self) -> None:
        """End it if need be, and give back what belongs to it."""
        with contextlib.suppress(OSError):
            self.connection.close()
        # A child that waits for a call ends at the closed connection; one that is busy does not.
        if self.exit_code(0.2) is None:
            self.kill()
            self.exit_code(_REAP)
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)

    @functools.cached_property
    def _statistics(self) -> psutil.Process:
        return psutil.Process(self.pid)  # made once: that costs as much as to ask it

    @property
    def resident(self) -> int:
        """Bytes of memory in use."""
        try:
            return int(self._statistics.memory_info().rss)
        except psutil.Error:
            return 0

    @property
    def processor_time(self) -> float:
        """Seconds of processor time that it has taken."""
        try:
            times = self._statistics.cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the fork server from importing what lies in the working directory, which may be somebody's campaign.

    It is started by ``python -c``, which looks there first, before the standard library.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"  # since Python 3.11
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def _started(target: Callable[..., None], arguments: tuple[Any, ...], inherits: bool) -> tuple[Connection, Any]:
    """Return a connection to a new process, and the process."""
    failure: Exception | None = None
    for attempt in range(_STARTS):
        context = _context("fork" if inherits else "forkserver")
        parent, child = context.Pipe()
        process = context.Process(target=target, args=(child, *arguments), daemon=not inherits)
        try:
            with _POLLING, _safe_path():
                process.start()
            return parent, process
        except (OSError, EOFError) as error:  # the fork server was killed; the next start begins with a new one
            parent.close()
            failure = error
            time.sleep(0.1 * (attempt + 1))
        finally:
            child.close()
    raise ServerError(f"no process can be started: {type(failure).__name__}: {failure}") from failure
