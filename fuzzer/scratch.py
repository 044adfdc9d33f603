"""Temporary files of a session in one directory, which the next session removes if this one is killed."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
from multiprocessing import util
from pathlib import Path

PREFIX = "relaxfuzz-session-"
_LOCK = "owner"
_MOST_PATH = 60
"""Characters of the directory's path: below it lies the fork server's socket, and paths of sockets end at 107."""
_LAST = -200
"""Priority of the removal at exit: after that of ``multiprocessing``'s own directory, which lies inside."""


@functools.cache
def claim() -> Path | None:
    """Let all temporary files of this process and of those that it starts lie in one directory.

    Called before the first process is started. Directories of sessions that were killed are removed.

    Returns:
        The directory; ``None`` where none can be had: files then lie where the system puts them.
    """
    base = Path(tempfile.gettempdir())
    with contextlib.suppress(OSError):
        sweep(base)
        directory = Path(tempfile.mkdtemp(prefix=PREFIX))
        if len(str(directory)) > _MOST_PATH or not _owned(directory):
            directory.rmdir()
            return None
        os.environ["TMPDIR"] = tempfile.tempdir = str(directory)
        util.Finalize(None, shutil.rmtree, (directory, True), exitpriority=_LAST)
        return directory
    return None


def sweep(base: Path) -> int:
    """Remove the directories in ``base`` whose sessions no longer live; returns how many."""
    removed = 0
    for directory in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
                removed += 1
            finally:
                os.close(descriptor)
    return removed


def _owned(directory: Path) -> bool:
    """Take the directory; the lock goes when this process ends, however it ends."""
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
