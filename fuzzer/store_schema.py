"""The database of a campaign: its tables, and how it is opened safely."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

DATABASE = "campaign.sqlite"
VERSION = 1
# 'relx': tells our databases from other programs' (see PRAGMA application_id).
APPLICATION = 0x72656C78

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- What was judged: examples [start, stop) of a shard.  The key makes recording a piece twice impossible.
CREATE TABLE pieces (
    shard INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, modules INTEGER NOT NULL,
    discarded INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (shard, start)
) WITHOUT ROWID;
CREATE TABLE tallies (
    oracle TEXT NOT NULL, culprit TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (oracle, culprit, outcome, reason)
) WITHOUT ROWID;
CREATE TABLE counts (
    kind TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE findings (
    id TEXT PRIMARY KEY, signature TEXT NOT NULL, count INTEGER NOT NULL, state TEXT NOT NULL,
    first_seen REAL NOT NULL, last_seen REAL NOT NULL, shard INTEGER NOT NULL, example INTEGER NOT NULL,
    verdict TEXT NOT NULL, module BLOB NOT NULL, subject TEXT NOT NULL,
    minimized TEXT, bindings INTEGER, repro TEXT, note TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
"""


class StoreError(Exception):
    """A campaign that cannot be opened; the message is one line for people."""


class StoreFull(StoreError):
    """The disk is full: what was recorded before is safe, the last piece is not recorded."""


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into :class:`StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "disk is full" in text or "disk I/O error" in text:
            raise StoreFull(f"{path}: {text}; what was recorded before is safe") from error
        if "locked" in text:
            raise StoreError(f"{path}: in use by another program") from error
        raise StoreError(f"{path}: damaged: {text}") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFull(f"{path}: {error.strerror}; what was recorded before is safe") from error
        raise StoreError(f"{path}: {error.strerror or error}") from error


def create(directory: Path) -> sqlite3.Connection:
    """A new database in ``directory``; raises ``StoreError``."""
    path = directory / DATABASE
    with translated(path):
        connection = _connect(f"{path.resolve().as_uri()}?mode=rwc")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id={APPLICATION}")
        connection.execute(f"PRAGMA user_version={VERSION}")
        for statement in SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute("COMMIT")
        return connection


def is_campaign(directory: Path) -> bool:
    """Whether the directory holds a campaign's database, whatever its condition."""
    return (directory / DATABASE).exists()


def open_database(directory: Path, read_only: bool) -> sqlite3.Connection:
    """Open and check an existing database; raises ``StoreError``, never changes a foreign file."""
    path = directory / DATABASE
    if not directory.is_dir():
        raise StoreError(f"{directory}: {'not a directory' if directory.exists() else 'no such directory'}")
    with translated(path):
        if not path.is_file():
            raise StoreError(f"{directory}: holds no campaign (no {DATABASE})")
        # WAL needs no wait for readers; the header says at once whether this is ours.
        with path.open("rb") as file:
            header = file.read(100)
    if not header.startswith(b"SQLite format 3\0") or int.from_bytes(header[68:72], "big") != APPLICATION:
        raise StoreError(f"{path}: not a campaign's database, or damaged")
    with translated(path):
        connection = _open(path, read_only)
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found is None or found[0] != "ok":
            raise StoreError(f"{path}: damaged: {found[0] if found else 'empty'}")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            raise StoreError(f"{path}: written by another version of relaxfuzz (format {version}, not {VERSION})")
        return connection


def _open(path: Path, read_only: bool) -> sqlite3.Connection:
    uri = path.resolve().as_uri()
    connection = _connect(f"{uri}?mode={'ro' if read_only else 'rw'}")
    try:
        connection.execute("SELECT count(*) FROM meta").fetchone()
    except sqlite3.OperationalError:
        if not read_only:
            raise
        # A read-only directory: WAL's helper files cannot be made there, and nobody writes either.
        connection.close()
        connection = _connect(f"{uri}?mode=ro&immutable=1")
    return connection


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30.0, check_same_thread=False)
    # FULL: a transaction that was reported as written survives a power cut, too.  One a second costs nothing.
    connection.execute("PRAGMA synchronous=FULL")
    return connection
