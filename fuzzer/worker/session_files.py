"""Files that a session leaves: temporary ones, which the next session removes if this one is killed, and the log."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
import threading
from multiprocessing import util
from pathlib import Path

PREFIX = "relaxfuzz-session-"
_LOCK = "owner"
_MOST_PATH = 60
"""Characters of the directory's path: below it lies the fork server's socket, and paths of sockets end at 107."""
_LAST = -200
"""Priority of the removal at exit: after that of ``multiprocessing``'s own directory, which lies inside."""
MOST_BYTES = 16 << 20
KEPT_BYTES = 4 << 20
_lock = threading.Lock()  # the threads of one campaign share a log; another campaign has another


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


def outside() -> Path:
    """Return the directory for temporary files that are to outlive the session."""
    place = Path(tempfile.gettempdir())
    # A process that a session started has a session of its own inside of the other's.
    return next(each for each in (place, *place.parents) if not each.name.startswith(PREFIX))


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


def bound_log(path: Path) -> None:
    """Keep the last ``KEPT_BYTES`` of a log that is larger than ``MOST_BYTES``.

    A pass that prints on every module would fill the disk overnight.

    The file is cut in place, because processes that have it open append to it (``O_APPEND``): a file that was moved
    away would go on growing. What they write meanwhile may be lost; a log that cannot be cut is left as it is.
    """
    with contextlib.suppress(OSError), _lock:
        if path.stat().st_size <= MOST_BYTES:
            return
        with path.open("r+b") as file:
            file.seek(-KEPT_BYTES, os.SEEK_END)
            kept = file.read()
            file.seek(0)
            file.truncate()
            file.write(b"[the log was longer: this is its end]\n" + kept[kept.find(b"\n") + 1 :])
