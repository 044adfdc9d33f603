"""The SQLite file of a campaign: how it is opened and locked, which tables add up, and the error a failure becomes."""

from __future__ import annotations

import errno
import fcntl
import functools
import os
import sqlite3
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fuzzer.core.text import printable, shorten
from fuzzer.core.verb import UsageError
from relaxkit.files import CAMPAIGN, refuse_links

FILE_NAME = CAMPAIGN
LOCK_NAME = "campaign.lock"


class StoreError(UsageError):
    """A campaign directory that cannot be used; the message is one line for the user."""


COVERAGE = {
    "features": 1, "idioms": 1, "operators": 1, "operands": 3, "pairs": 2, "judged": 1, "changed": 1, "rewrites": 2,
}  # fmt: skip
"""Tables of ``fuzzer.core.coverage.Coverage``, named as its attributes, with the number of key columns."""
SUMMED = {"tallies": 4, **COVERAGE, "sightings": 2, "spent": 2, "costs": 1}
"""Tables whose rows add up, with the number of columns that say of what; the other columns are numbers."""
_NUMBERS = {"spent": ("seconds",), "costs": ("judging", "triage")}
"""Names of the numbers where they are not ``count``."""


CACHE = -16384
"""KiB of a database that a connection holds in memory, as SQLite writes it; the file's own header may ask for more."""


def add_rows(database: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Add rows to a table of :data:`SUMMED`, inside a transaction: the numbers of equal keys add up."""
    database.executemany(_addition(table), rows)


@functools.cache
def _addition(table: str) -> str:
    numbers = _NUMBERS.get(table, ("count",))
    marks = ", ".join("?" * (SUMMED[table] + len(numbers)))
    sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in numbers)
    return f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO UPDATE SET {sums}"


def open_file(path: Path, **options: Any) -> sqlite3.Connection:
    """Let SQLite open a file to write it: from a relative path that begins with ``file:`` it would read a URI."""
    connection: sqlite3.Connection = sqlite3.connect(path.absolute(), **options)
    return connection


def connect(path: Path, read_only: bool = False) -> sqlite3.Connection:
    """Open the database."""
    if read_only:
        # `mode=ro` lets SQLite see the writer's log, but makes files beside the database, which stay there.
        has_log = any(log.stat().st_size for log in path.parent.glob(f"{FILE_NAME}-wal"))
        mode = "ro" if has_log or is_locked(path.parent) else "ro&immutable=1"
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)
    else:
        connection = open_file(path, isolation_level=None, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA cache_size = {CACHE}")
        connection.execute("PRAGMA journal_mode = WAL")
        # WAL with NORMAL survives `kill -9` of the process; only a power cut can lose the last shards, which
        # are then run again.
        connection.execute("PRAGMA synchronous = NORMAL")
    connection.row_factory = sqlite3.Row
    return connection


def take_lock(directory: Path) -> int:
    """Keep other campaigns out of a directory until the descriptor is closed; raises ``StoreError``."""
    refuse_links(directory)
    descriptor = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:  # what was recorded could not be opened afterwards
        os.close(descriptor)
        raise StoreError(f"'{directory / LOCK_NAME}' is not a regular file, or has hard links")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise StoreError(f"another campaign is running in '{directory}'") from error
        raise
    return descriptor


def is_locked(directory: Path) -> bool:
    """Say whether a process is writing the campaign in a directory."""
    try:
        descriptor = os.open(directory / LOCK_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False  # the directory is a copy, or another user's
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EWOULDBLOCK, errno.EACCES)
    finally:
        os.close(descriptor)
    return False


def damaged(path: Path, why: str) -> StoreError:
    """Say that a database is damaged, what to do, and why."""
    said = shorten(printable(why), 300)
    return StoreError(
        f"'{path}' is damaged: the campaign cannot be read or resumed; delete its directory and run it again ({said})"
    )


def store_error(error: Exception, directory: Path) -> StoreError:
    """Describe an error of SQLite or the system in one line for the user."""
    text = shorten(printable(str(error)), 300)
    if "full" in text or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return StoreError(f"the disk is full: '{directory}' (what was recorded is kept; run again to resume)")
    if "unable to open" in text:
        text += " (if its directory cannot be written, copy it to where it can)"
    if text == "interrupted":
        return StoreError(f"'{directory / FILE_NAME}' is damaged: reading it takes too long")
    if "malformed" in text or "not a database" in text or "no such table" in text:
        return damaged(directory / FILE_NAME, text)
    return StoreError(f"cannot use '{directory / FILE_NAME}': {text}")
