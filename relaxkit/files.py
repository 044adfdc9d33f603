"""Files that somebody names, or that came with a campaign: read to a limit, never waited for, links not followed."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import stat
from pathlib import Path

MOST_BYTES = 64 << 20
"""Of a file that is read as a whole."""
CAMPAIGN = "campaign.sqlite"
"""File that makes a directory a campaign's."""


def read_regular(path: Path, *, links: bool = True, most: int = MOST_BYTES) -> bytes:
    """Read a regular file.

    Args:
        path: The file.
        links: Whether it, or the directory that it lies in, may be a link: those that a user names may.
        most: Bytes that it may have.

    Raises:
        OSError: It cannot be read, is of another kind, such as a pipe or a device, or is too large.
    """
    no_links = 0 if links else os.O_NOFOLLOW
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | no_links)
    try:
        # A pipe that nobody writes to would else be waited for.
        handle = os.open(path.name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | no_links, dir_fd=parent)
    finally:
        os.close(parent)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if not links and found.st_nlink > 1:  # a hard link shows what is elsewhere, too
            raise OSError(errno.EMLINK, "a hard link", str(path))
        # Not at once: that would take as much memory as the file may have, whatever it has.
        data = b"".join(itertools.takewhile(bool, (file.read(1 << 20) for _ in range((most >> 20) + 1))))
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
    return data


def read_text(path: Path) -> str:
    """Read a text file that a user named; raises ``OSError`` and ``UnicodeDecodeError``."""
    return read_regular(path).decode("utf-8-sig")


def confine(path: Path, home: Path) -> None:
    """Refuse a file that another file named, or that nobody did, unless it lies in a directory or below.

    Raises:
        OSError: It is elsewhere, or a symbolic link.
    """
    try:
        inside = path.resolve().is_relative_to(home.resolve())
    except (RuntimeError, ValueError):  # a circle of links, a name that is none
        inside = False
    if not inside or path.is_symlink():
        raise OSError(errno.EPERM, f"a link, or outside of '{home}'", str(path))


def resolved(path: Path) -> Path:
    """Return a path without links; those that lead in a circle, which ``Path.resolve`` complains of, stay."""
    return Path(os.path.realpath(path))


def make_directory(path: Path, *, links: bool = False) -> None:
    """Make a directory to write into, where it is missing.

    Raises:
        OSError: It cannot be made, or is a link; with ``links`` only, as below, one that came with a campaign.
    """
    refuse_links(path)
    if not links and path.is_symlink():
        raise OSError(errno.ELOOP, "a link", str(path))
    path.mkdir(parents=True, exist_ok=True)


def refuse_links(path: Path) -> None:
    """Refuse to write below a link in a campaign's directory: others may have put it there, and it leads anywhere.

    Links elsewhere in the path are the user's own, and followed.

    Raises:
        OSError: The path leads through one.
    """
    for link in filter(Path.is_symlink, (path.absolute(), *path.absolute().parents)):
        home = link.parent.resolve()
        if any((each / CAMPAIGN).exists() for each in (home, *home.parents)):
            raise OSError(errno.ELOOP, "a link in a campaign's directory", str(link))


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write a file so that a reader never sees half of it; a symbolic link in its place is replaced, not followed.

    Raises:
        OSError: It cannot be written, or is of another kind, such as a pipe.
    """
    refuse_links(path.parent)
    data = text.encode("utf-8", errors="replace") if isinstance(text, str) else text
    if _in_place(path):
        path.write_bytes(data)
        return
    with contextlib.suppress(FileNotFoundError):
        if not (stat.S_ISREG(kind := path.lstat().st_mode) or stat.S_ISLNK(kind) or stat.S_ISDIR(kind)):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
    partial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        with partial.open("xb") as file:  # a new file, whatever links lie there
            file.write(data)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def append(path: Path, text: str) -> None:
    """Write to the end of a regular file, which is no symbolic link; raises ``OSError``."""
    refuse_links(path.parent)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    own = 0 if _in_place(path) else os.O_NOFOLLOW | os.O_NONBLOCK
    with os.fdopen(os.open(path, flags | own, 0o666), "w", encoding="utf-8", errors="replace") as file:
        found = os.fstat(file.fileno())
        if own and not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if own and found.st_nlink > 1:  # it is elsewhere, too
            raise OSError(errno.EMLINK, "a hard link", str(path))
        file.write(text)


def _in_place(path: Path) -> bool:
    """Say whether a path is one of the system's own, such as ``/dev/stdout``: nobody else can put anything there."""
    return os.path.abspath(path.parent) in ("/dev", "/dev/fd", "/proc/self/fd")
