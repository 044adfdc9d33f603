"""The inside of an isolated process: its body, its limits, and the breadcrumbs that it leaves."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from fuzzer.breadcrumb import CrumbFile
    from fuzzer.journal import Journal
    from oracles.verdict import Verdict

MEMORY_EXIT = 77
"""Exit code of a process whose memory was used up."""

_crumbs: CrumbFile | None = None
_journal: Journal | None = None


def breadcrumb(stage: str) -> None:
    """Called inside an isolated process before a risky step; outside of one it does nothing."""
    if _crumbs is not None:
        _crumbs.leave(stage)


def begin_case() -> None:
    """Called inside an isolated process: the time limit counts from now."""
    if _crumbs is not None:
        _crumbs.begin()


def jot(item: object) -> bool:
    """Called inside an isolated process: should it die before it yields the next time, its parent finds ``item``.

    ``False``: there is no room. Outside of an isolated process it does nothing.
    """
    return _journal is None or _journal.jot(item)


def asked() -> bool:
    """Called inside an isolated process: whether its parent wants what there is; outside of one nobody does."""
    return _journal is not None and _journal.asked


def die_if_out_of_memory(verdicts: Iterable[Verdict]) -> None:
    """Called inside an isolated process after judging; outside of one it does nothing.

    Whether the limit is met inside an allocation that raises, or between two of them by the parent, is chance. Both
    are the same finding, so the first ends the process like the second; what is left of the heap is not to be trusted.
    """
    for verdict in verdicts:
        found = verdict.evidence
        if found is not None and (found.kind == "MemoryError" or "bad_alloc" in found.message) and _crumbs is not None:
            breadcrumb(f"{verdict.oracle}: {verdict.culprit}")
            os._exit(MEMORY_EXIT)


def serve(
    connection: Connection,
    crumbs: CrumbFile,
    journal: Journal,
    log_path: str | None,
    memory_limit: int,
    silent: bool = True,
) -> None:
    """Body of the isolated process: take calls until the parent closes the connection."""
    global _crumbs, _journal
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    if silent:
        _redirect(log_path)
    _limit(memory_limit)
    _crumbs, _journal = crumbs, journal

    def say(tag: str, item: object) -> None:
        connection.send((tag, item, journal.message))
        journal.told()

    while True:
        try:
            function, argument = connection.recv()
        except (EOFError, OSError):
            return
        try:
            begin_case()
            for item in function(argument):
                say("item", item)
            crumbs.end()
            say("done", None)
        except MemoryError:
            os._exit(MEMORY_EXIT)  # what is left of the heap is not to be trusted
        except BaseException:
            crumbs.end()
            say("error", traceback.format_exc())


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
