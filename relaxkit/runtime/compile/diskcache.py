"""A bounded directory of object files that several processes share.

An entry is one file, ``ab/abcd.o``: a digest of the rest, its keys, the payload.  It is written to a temporary name and
renamed, so a reader sees all of it or nothing; an entry whose digest does not fit, or that lies under another entry's
key, is dropped and built again.  Keys that share a payload are hard links to one file.  The least recently used entries
go when the directory outgrows its limit.

What is loaded is run: a directory or entry that is another user's, a link, or what others may write to, is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import struct
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEFAULT_LIMIT = 2 << 30
ENVIRONMENT = "RELAXFUZZ_CACHE"
_MAGIC = b"relaxfuzz-object-2\n"
_LENGTH = struct.Struct("<I")
_OTHERS_WRITE = 0o022
_DIGEST = hashlib.sha256().digest_size
_STORES_BETWEEN_SWEEPS = 256
_SECONDS_BETWEEN_SWEEPS = 600.0
_TEMPORARY = ".tmp"


def default_directory() -> Path:
    """``$RELAXFUZZ_CACHE``, else ``relaxfuzz`` in the XDG cache directory."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relaxfuzz"


class DiskCache:
    """Payloads by key on disk; a directory that cannot be written just caches nothing.

    Args:
        directory: Where the entries live; created on the first store.
        limit: Bytes that the entries may take together; a sweep runs every 256 stores of a process, but
            not twice in ten minutes, so the directory can exceed the limit by what is stored meanwhile.
    """

    def __init__(self, directory: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.directory = directory
        self.limit = limit
        self._stores = _STORES_BETWEEN_SWEEPS  # the first store of a process sweeps

    def load(self, key: str) -> bytes | None:
        """Payload of a key, or ``None`` when there is none or it is damaged (which removes it)."""
        path = self._path(key)
        try:
            data = _read_own(path) if self._own() else None
        except OSError:
            return None
        if data is None:
            return None
        payload = _checked(data, key)
        with contextlib.suppress(OSError):
            if payload is None:
                path.unlink()
            else:
                os.utime(path)  # the time of last use, which the sweep goes by
        return payload

    def store(self, keys: Sequence[str], payload: bytes) -> None:
        """Keep a payload under some keys; a full disk or a read-only directory is no error, only no cache."""
        with contextlib.suppress(OSError):
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._own():
                return
            handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=".", suffix=_TEMPORARY)
            try:
                with os.fdopen(handle, "wb") as file:
                    names = "\n".join(keys).encode()
                    body = _LENGTH.pack(len(names)) + names + payload
                    file.write(_MAGIC + hashlib.sha256(body).digest() + body)
                for number, key in enumerate(keys[1:]):
                    self._link(temporary, number, key)
                self._put(temporary, keys[0])
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        self._stores += len(keys)
        if self._stores >= _STORES_BETWEEN_SWEEPS:
            self._stores = 0
            if self._is_due():
                self.sweep()

    def _own(self) -> bool:
        """Say whether the directory is this user's, and nobody else can put anything into it."""
        return _is_own(self.directory.stat())

    def _put(self, temporary: str, key: str) -> None:
        path = self._path(key)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        os.replace(temporary, path)

    def _link(self, source: str, number: int, key: str) -> None:
        """One more key of a file, by way of a name of its own: a link cannot replace what is there, a rename can."""
        link = f"{source[: -len(_TEMPORARY)]}.{number}{_TEMPORARY}"
        try:
            os.link(source, link)
        except OSError:  # no hard links here
            shutil.copyfile(source, link)
        try:
            self._put(link, key)
        except OSError:
            os.unlink(link)
            raise

    def _is_due(self) -> bool:
        """Say whether no process swept within the last ten minutes: looking at a full directory takes seconds."""
        marker = self.directory / ".swept"
        with contextlib.suppress(OSError):
            if time.time() - marker.stat().st_mtime < _SECONDS_BETWEEN_SWEEPS:
                return False
        with contextlib.suppress(OSError):
            marker.touch()
        return True

    def sweep(self) -> int:
        """Remove the least recently used entries until nine tenths of the limit are kept; returns how many went."""
        entries = []
        with contextlib.suppress(OSError):
            # Only what it has put there: somebody may have named a directory with files of their own.
            for path in (*self.directory.glob("??/*.o"), *self.directory.glob(f".*{_TEMPORARY}")):
                with contextlib.suppress(OSError):
                    found = path.lstat()
                    if stat.S_ISREG(found.st_mode):
                        entries.append((found.st_mtime_ns, found.st_size // found.st_nlink, path))
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return 0
        removed = 0
        for _, size, path in sorted(entries, key=lambda entry: entry[0]):
            if total <= self.limit * 9 // 10:
                break
            with contextlib.suppress(OSError):  # another process was faster
                path.unlink()
                removed += 1
            total -= size
        return removed

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.o"


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


def _read_own(path: Path) -> bytes | None:
    """Read an entry; ``None`` for one that is a link, no file, or that somebody else can have put there."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        entry = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(entry, "rb") as file:
            found = os.fstat(entry)
            own = stat.S_ISREG(found.st_mode) and _is_own(found) and _is_own(os.fstat(folder))
            return file.read() if own else None
    finally:
        os.close(folder)


def _checked(data: bytes, key: str) -> bytes | None:
    start = len(_MAGIC) + _DIGEST
    body = data[start:]
    if len(body) < _LENGTH.size or data[:start] != _MAGIC + hashlib.sha256(body).digest():
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
    return body[end:] if key.encode() in body[_LENGTH.size : end].split(b"\n") else None


# Relocatable object files of what LLVM's code generator has made.


def object_file(library: Any) -> bytes:
    """Return the object file of a module of TVM's LLVM code generator; raises whatever TVM raises."""
    handle = os.memfd_create("kernels.o")  # TVM writes to a path; this one is in memory
    try:
        library.write_to_file(f"/proc/self/fd/{handle}", "o")
        return os.pread(handle, os.fstat(handle).st_size, 0)
    finally:
        os.close(handle)
