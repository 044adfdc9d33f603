"""Whose code a campaign holds: its scripts, passes and plugins run if it was made here, or the user says so."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.core.config import Config
from fuzzer.store.database import FILE_NAME, StoreError
from relaxkit.passes.plugins import announce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.store.reader import StoreReader

_BYTES = 32


def seal(meta: Mapping[str, str], path: Path) -> str:
    """Return what only this user can say of a database: a copy of it, or one with another beginning, needs another.

    Empty where no key can be had.
    """
    key = _key()
    if key is None:
        return ""
    found, system = path.lstat(), os.statvfs(path).f_fsid  # unlike a device's number, it outlasts a restart
    what = "\0".join([meta.get("identity", ""), meta["started_at"], f"{system or found.st_dev} {found.st_ino}"])
    return hmac.new(key, what.encode(), "sha256").hexdigest()


def made_here(store: StoreReader) -> bool:
    """Say whether this user's campaigns on this machine made a database."""
    meta, database = store.meta(), store.directory / FILE_NAME
    ours = seal(meta, database)
    is_ours = {store.directory.stat().st_uid, database.stat().st_uid} == {os.geteuid()}
    return is_ours and bool(ours) and hmac.compare_digest(ours, meta.get("seal", ""))


def require_trust(store: StoreReader, given: bool) -> None:
    """Let the code that a campaign holds be run, its plugins first of all.

    Args:
        store: The campaign.
        given: Whether the user trusts it, wherever it was made.

    Raises:
        StoreError: Nobody does.
    """
    if not (given or made_here(store)):
        raise StoreError(
            f"'{store.directory}' was copied or moved, or made elsewhere or by another user, and this command runs "
            f"code from it; inspect its scripts and passes, then use --trust"
        )
    if (config := store.meta().get("config")) is not None:
        announce(Config.from_json(config).plugins)


def _key() -> bytes | None:
    """Return the user's key, which is made on first use; ``None`` where it cannot be kept from others."""
    try:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relaxfuzz-key"
        if not path.exists():
            _make(path)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            private = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
            key = file.read(_BYTES) if private else b""
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return None
    return key if len(key) == _BYTES else None


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # for its owner alone
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
        os.link(partial, path)  # whole, and never over one that is there
    except FileExistsError:
        pass
    finally:
        os.unlink(partial)
