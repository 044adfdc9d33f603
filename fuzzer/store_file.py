"""The files of a campaign's store: how they are opened and locked, and what is said when that fails."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from pathlib import Path

FILE_NAME = "campaign.sqlite"
LOCK_NAME = "campaign.lock"


class StoreError(Exception):
    """A campaign directory that cannot be used; the message is one line for the user."""


def connect(path: Path, read_only: bool = False) -> sqlite3.Connection:
    """Open the database."""
    if read_only:
        # `mode=ro` still lets SQLite see the writer's log; a campaign on a read-only medium has none.
        mode = "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
    else:
        connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        # WAL with NORMAL survives `kill -9` of the process; only a power cut can lose the last shards, which
        # are then run again.
        connection.execute("PRAGMA synchronous = NORMAL")
    connection.row_factory = sqlite3.Row
    return connection


def take_lock(directory: Path) -> int:
    """Keep other campaigns out of a directory until the descriptor is closed; raises ``StoreError``."""
    descriptor = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise StoreError(f"another campaign is running in '{directory}'") from error
        raise
    return descriptor


def told(error: Exception, directory: Path) -> StoreError:
    """One line for what SQLite or the system said."""
    text = str(error)
    if "full" in text or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return StoreError(f"the disk is full: '{directory}' (what was recorded is kept; run again to resume)")
    if "malformed" in text or "not a database" in text or "no such table" in text:
        return StoreError(f"'{directory / FILE_NAME}' is damaged: {text}")
    return StoreError(f"cannot use '{directory / FILE_NAME}': {text}")
