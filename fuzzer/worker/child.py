"""The inside of an isolated process: its body, its limits, and what it records for the case that it dies."""

from __future__ import annotations

import fcntl
import importlib
import multiprocessing
import os
import signal
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from fuzzer.worker.flight_recorder import FlightRecorder
    from oracles.core.verdict import Verdict

MEMORY_EXIT = 77
"""Exit code of a process whose memory was used up."""

_recorder: FlightRecorder | None = None  # outside of an isolated process there is none, and nothing is recorded


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A function an isolated process is asked to call, by name: its module is only imported there, and TVM with it."""

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        """Import the module, and call the function."""
        return getattr(importlib.import_module(self.module), self.name)(*arguments)


def breadcrumb(stage: str) -> None:
    """Record the risky step that an isolated process is about to take."""
    if _recorder is not None:
        _recorder.step(stage)


def begin_case(*, counts: bool = False) -> None:
    """Let the time limit of an isolated process count from now, for a case that ``counts`` as judged or does not."""
    if _recorder is not None:
        _recorder.begin_case(counts=counts)


def end_case() -> None:
    """Stop the clock of an isolated process until the next case begins."""
    if _recorder is not None:
        _recorder.end_case()


def record_unsent(item: object) -> bool:
    """Record an item that the parent finds should this process die before it yields the next time.

    ``False``: there is no room.
    """
    return _recorder is None or _recorder.record(item)


def flush_asked() -> bool:
    """Say whether the parent of an isolated process wants what there is; outside of one nobody does."""
    return _recorder is not None and _recorder.asked


def die_if_out_of_memory(verdicts: Iterable[Verdict]) -> None:
    """End an isolated process, after judging, whose memory was used up.

    Whether the limit is met inside an allocation that raises, or between two of them by the parent, is chance. Both
    are the same finding, so the first ends the process like the second; what is left of the heap is not to be trusted.
    """
    if _recorder is None:
        return
    from oracles.core.evidence import is_out_of_memory
    from oracles.core.verdict import Breadcrumb, Details

    for verdict in verdicts:
        if verdict.evidence is not None and is_out_of_memory(verdict.evidence):
            breadcrumb(Breadcrumb.of(Details(verdict.oracle), verdict.culprit).text)
            os._exit(MEMORY_EXIT)


def serve(
    connection: Connection, recorder: FlightRecorder, log_path: str | None, memory_limit: int, silent: bool = True
) -> None:
    """Take calls until the parent closes the connection: the body of the isolated process."""
    global _recorder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    if silent:
        _redirect(log_path)
    _limit(memory_limit)
    _recorder = recorder

    def send(tag: str, item: object) -> None:
        connection.send((tag, item, recorder.message))
        recorder.sent()

    while True:
        try:
            function, argument = connection.recv()
        except (EOFError, OSError):
            return
        try:
            begin_case()
            for item in function(argument):
                send("item", item)
            recorder.end_case()
            send("done", None)
        except MemoryError:
            os._exit(MEMORY_EXIT)  # what is left of the heap is not to be trusted
        except BaseException:
            recorder.end_case()
            send("error", traceback.format_exc())


def _die_with_parent() -> None:
    """Let the kernel end this process when the campaign's process is killed, however busy this one is.

    The read end of a pipe that only the parent can write to reports its end by SIGIO, which kills by default.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, fcntl.fcntl(parent.sentinel, fcntl.F_GETFL) | os.O_ASYNC)


def _redirect(log_path: str | None) -> None:
    """Send what TVM prints to the log: it writes to the file descriptors, not to ``sys.stderr``."""
    try:
        descriptor = os.open(log_path or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError:  # a log that cannot be written, on a disk that went read-only, is not worth a campaign
        descriptor = os.open(os.devnull, os.O_WRONLY)
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
