"""Known findings: signatures that somebody has reported or accepted, with the reference that says so.

One format for two readers: ``run`` marks findings of these signatures as known, ``gate`` does not fail because of
them.  A file of its own holds ``[[known]]`` tables; a gate policy may hold the same tables itself.

    [[known]]
    id = "1f0c2ab934"                 # or: signature = "crash | FuseOps | InternalError | ..."
    reference = "https://github.com/apache/tvm/issues/17210"
    reason = "a second Relax function is not grouped"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.tomlfile import TomlFile, near_matches, read_toml

_KEYS = ("id", "signature", "reference", "reason")
# Ten hex digits of SHA-256, see fuzzer.signatures.
_ID = re.compile(r"[0-9a-f]{10}")


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """One accepted signature.

    Attributes:
        id: Ten hex digits, or empty when ``signature`` is given.
        signature: The signature's one-line text, or empty when ``id`` is given.
        reference: Where it is reported or accepted: an upstream URL or a text.
        reason: Why it does not stop the gate, one line.
    """

    id: str
    signature: str
    reference: str
    reason: str

    def matches(self, finding_id: str, signature: str) -> bool:
        """Whether this entry names the finding; when both fields are given both must fit."""
        if self.id and self.id != finding_id:
            return False
        return not self.signature or self.signature == signature

    @property
    def name(self) -> str:
        """What the entry is called in reports: its id, or else its signature."""
        return self.id or self.signature


@dataclass(frozen=True, slots=True)
class KnownFindings:
    """The entries of a file, searched by finding."""

    entries: tuple[KnownFinding, ...] = ()

    def find(self, finding_id: str, signature: str) -> KnownFinding | None:
        """The first entry that names the finding."""
        return next((entry for entry in self.entries if entry.matches(finding_id, signature)), None)

    def unseen(self, findings: Iterable[tuple[str, str]]) -> tuple[KnownFinding, ...]:
        """Entries that name none of the ``(id, signature)`` pairs."""
        pairs = list(findings)
        return tuple(entry for entry in self.entries if not any(entry.matches(*pair) for pair in pairs))


def load_known(path: Path) -> KnownFindings:
    """Read a file of ``[[known]]`` tables; raises ``fuzzer.tomlfile.TomlError`` with file, line and key."""
    file = read_toml(path)
    for key in file.table:
        if key != "known":
            raise file.error((key,), f"is not a key of a file of known findings{near_matches(key, ['known'])}")
    return parse_known(file, file.table.get("known", []))


def parse_known(file: TomlFile, rows: Any) -> KnownFindings:
    """The ``known`` array of a file; raises ``fuzzer.tomlfile.TomlError``."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise file.error(("known",), "must be an array of tables: write [[known]]")
    return KnownFindings(tuple(_entry(file, index, row) for index, row in enumerate(rows)))


def _entry(file: TomlFile, index: int, row: dict[str, Any]) -> KnownFinding:
    for key, value in row.items():
        if key not in _KEYS:
            raise file.error(("known", index, key), f"is not a key of a known finding{near_matches(key, _KEYS)}")
        if not isinstance(value, str) or not value.strip():
            raise file.error(("known", index, key), "must be a text that is not empty")
        if "\n" in value:
            raise file.error(("known", index, key), "must be one line")
    if "id" not in row and "signature" not in row:
        raise file.error(("known", index), "needs 'id' or 'signature'")
    for key in ("reference", "reason"):
        if key not in row:
            raise file.error(("known", index), f"needs '{key}'")
    if "id" in row and not _ID.fullmatch(row["id"]):
        raise file.error(("known", index, "id"), "must be the ten hex digits of a finding's id")
    return KnownFinding(row.get("id", ""), row.get("signature", ""), row["reference"], row["reason"])
