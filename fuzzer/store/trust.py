"""Whose code a campaign holds: it runs if the user's own campaigns wrote each row of it, or the user says so."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import msgspec

from fuzzer.core.config import Config
from fuzzer.findings.script_parts import ScriptParts
from fuzzer.store.database import FILE_NAME, StoreError
from fuzzer.store.door import COLUMNS
from relaxkit.passes.plugins import announce

if TYPE_CHECKING:
    from fuzzer.store.reader import StoreReader

_BYTES = 32
_CHANGING = frozenset({"elapsed", "state", "workers", "budget", "seal"})
"""Facts of a campaign that sessions change. All others decide what it is, and are sealed."""
_UNSEALED = frozenset({"count", "first_seen", "last_seen", "bisected", "seal"})
"""Columns that nothing is run of, and that change with each sighting, or when a finding is bisected."""
SEALED = ("findings", "regressions")
"""Tables with code, and with what decides which code is run: of the others, verbs only read numbers and names."""


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals rows: only this user can, and a row of another campaign, or with another id, needs another seal.

    Attributes:
        key: The key of one campaign, made of the user's and the campaign's facts; empty for one that seals nothing.
    """

    key: bytes = b""

    @classmethod
    def of(cls, facts: Mapping[str, str]) -> Sealer:
        """Return that of a campaign; it seals nothing where no key of the user's can be had."""
        key = _key()
        lasting = sorted((name, value) for name, value in facts.items() if name not in _CHANGING)
        return cls() if key is None else cls(hmac.digest(key, msgspec.json.encode(lasting), "sha256"))

    @property
    def campaign(self) -> str:
        """The seal of the campaign's facts; empty without a key."""
        return self.row("meta", {"key": "seal", "value": None})

    def row(self, table: str, row: Mapping[str, Any]) -> str:
        """Return the seal of a row; empty without a key."""
        what = [table, *(row[name] for name in COLUMNS[table] if name not in _UNSEALED)]
        return hmac.new(self.key, msgspec.json.encode(what), "sha256").hexdigest() if self.key else ""


def foreign(store: StoreReader) -> str:
    """Say what of a campaign this user's campaigns did not write, by table, row and field; empty for nothing."""
    facts = store.meta()
    if {store.directory.stat().st_uid, (store.directory / FILE_NAME).stat().st_uid} != {os.geteuid()}:
        return "belongs to another user"
    sealer = Sealer.of(facts)
    if not _equal(sealer.campaign, facts.get("seal", "")):
        return "was made elsewhere, or its configuration was changed (table 'meta', row 'seal', field 'value')"
    for table in SEALED:
        for row in store.table(table):
            if not _equal(sealer.row(table, row), row["seal"]):
                return f"was changed from outside (table '{table}', row '{row['id']}', field 'seal')"
    return ""


def _equal(ours: str, found: str) -> bool:
    return bool(ours) and hmac.compare_digest(ours, found)


def require_trust(store: StoreReader, given: bool) -> None:
    """Let the code that a campaign holds be run, its plugins first of all; scripts need :func:`require_script`, too.

    Args:
        store: The campaign.
        given: Whether the user trusts it, wherever it was made.

    Raises:
        StoreError: Nobody does.
    """
    if not given and (fault := foreign(store)):
        raise StoreError(
            f"'{store.directory}' {fault}, and this command runs code from it; inspect its scripts and passes, then "
            f"use --trust"
        )
    if (config := store.meta().get("config")) is not None:
        announce(Config.from_json(config).plugins)


def digest(script: str) -> str:
    """Return what a finding's row holds of its script's text."""
    return hashlib.sha256(script.encode()).hexdigest()


def require_script(path: Path, text: str, parts: ScriptParts | None) -> None:
    """Let a script be run, of a finding whose row is trusted; raises ``StoreError`` if it is not the recorded one."""
    if parts is None or parts.digest != digest(text):
        raise StoreError(
            f"'{path}' was changed from outside (table 'findings', row '{path.stem}', field 'parts'), and this "
            f"command runs it; inspect it, then use --trust"
        )


def _key() -> bytes | None:
    """Return the user's key, which is made on first use; ``None`` where it cannot be kept from others."""
    try:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relaxfuzz-key"
        if not path.exists():
            _make(path)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            private = S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
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
