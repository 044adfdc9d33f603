"""Known findings: what somebody has reported or accepted, with the reference that says so.

One format for two readers: ``run`` cuts cases of these findings short, ``gate`` does not fail because of them.  A file
of its own holds ``[[known]]`` tables; a gate policy may hold the same tables itself.

    [[known]]
    id = "1f0c2ab934"                 # or: signature = "crash | FuseOps | ...", or: family = "F0c2ab934f"
    reference = "https://github.com/apache/tvm/issues/17210"
    reason = "a second Relax function is not grouped"
    pass = "FuseOps"                  # what must have been tested before silence means that it is gone
    tvm = ">=0.26,<0.28"              # releases that have it
    expires = 2027-03-01              # somebody looks again by then

``fuzzer.known_age`` says which entries are expired, out of their range, or stale.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.decisions import FAMILY_ID, FINDING_ID
from fuzzer.tomlfile import TomlFile, near_matches, read_toml
from releases.known import numbers

_TEXTS = ("id", "signature", "family", "reference", "reason", "pass", "tvm")
_KEYS = (*_TEXTS, "expires")
_NAMES = ("id", "signature", "family")
_BOUND = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound of a range of releases.

    Attributes:
        sign: ``>=``, ``<``, ...
        version: The release's first numbers; ``0.27`` means every 0.27.
    """

    sign: str
    version: tuple[int, ...]

    def holds(self, release: tuple[int, ...]) -> bool:
        """Whether a release is inside."""
        same = release[: len(self.version)]
        return {
            ">=": same >= self.version, "<=": same <= self.version, "==": same == self.version,
            "!=": same != self.version, ">": same > self.version, "<": same < self.version,
        }[self.sign]  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """One accepted finding or family.

    Attributes:
        id: Ten hex digits, or empty.
        signature: The signature's one-line text, or empty.
        reference: Where it is reported or accepted: an upstream URL or a text.
        reason: Why it does not stop the gate, one line.
        family: Id of a family, or empty; of ``id``, ``signature`` and ``family`` one at least is given.
        culprit: The pass that must have been tested for silence to mean something; empty when the entry does not say.
        releases: The releases of TVM that have it; all when empty.
        expires: The day from which it has to be looked at again.
    """

    id: str
    signature: str
    reference: str
    reason: str
    family: str = ""
    culprit: str = ""
    releases: tuple[Bound, ...] = ()
    expires: datetime.date | None = None

    def matches(self, finding_id: str, signature: str, family: str = "") -> bool:
        """Whether this entry names the finding; of the fields that are given all must fit."""
        pairs = ((self.id, finding_id), (self.signature, signature), (self.family, family))
        return all(wanted in ("", given) for wanted, given in pairs)

    def concerns(self, version: str) -> bool:
        """Whether it speaks of a release of TVM."""
        return all(bound.holds(numbers(version)) for bound in self.releases)

    @property
    def name(self) -> str:
        """What the entry is called in reports."""
        return self.id or self.family or self.signature

    @property
    def exact(self) -> str:
        """Id of the one finding that it names; empty for a family."""
        if self.id or not self.signature:
            return self.id
        return hashlib.sha256(self.signature.encode()).hexdigest()[:10]


@dataclass(frozen=True, slots=True)
class KnownFindings:
    """The entries of a file, searched by finding."""

    entries: tuple[KnownFinding, ...] = ()

    def find(self, finding_id: str, signature: str, family: str = "") -> KnownFinding | None:
        """The first entry that names the finding."""
        return next((entry for entry in self.entries if entry.matches(finding_id, signature, family)), None)

    def unseen(self, findings: Iterable[tuple[str, ...]]) -> tuple[KnownFinding, ...]:
        """Entries that name none of the findings, each given by id, signature and perhaps family."""
        pairs = list(findings)
        return tuple(entry for entry in self.entries if not any(entry.matches(*pair) for pair in pairs))

    def of(self, version: str) -> KnownFindings:
        """Those that speak of a release of TVM: another one that fails the same way is worth a look."""
        return KnownFindings(tuple(entry for entry in self.entries if entry.concerns(version)))

    def ids(self) -> frozenset[str]:
        """Ids of findings that an entry names singly: their cases are cut short."""
        return frozenset(entry.exact for entry in self.entries if entry.exact and not entry.family)


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
        if key in _TEXTS:
            _check_text(file, ("known", index, key), value)
    if not any(name in row for name in _NAMES):
        raise file.error(("known", index), "needs 'id', 'signature' or 'family'")
    for key in ("reference", "reason"):
        if key not in row:
            raise file.error(("known", index), f"needs '{key}'")
    if "id" in row and not FINDING_ID.fullmatch(row["id"]):
        raise file.error(("known", index, "id"), "must be the ten hex digits of a finding's id")
    if "family" in row and not FAMILY_ID.fullmatch(row["family"]):
        raise file.error(("known", index, "family"), "must be the id of a family: F and nine hex digits")
    return KnownFinding(
        row.get("id", ""), row.get("signature", ""), row["reference"], row["reason"], row.get("family", ""),
        row.get("pass", ""), _releases(file, index, row.get("tvm")), _expires(file, index, row.get("expires")),
    )  # fmt: skip


def _check_text(file: TomlFile, at: tuple[str | int, ...], value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise file.error(at, "must be a text that is not empty")
    if "\n" in value:
        raise file.error(at, "must be one line")


def _releases(file: TomlFile, index: int, text: str | None) -> tuple[Bound, ...]:
    if text is None:
        return ()
    bounds = [_BOUND.fullmatch(part) for part in text.split(",")]
    if not all(bounds):
        raise file.error(("known", index, "tvm"), f"is '{text}', not a range of releases such as '>=0.26,<0.28'")
    return tuple(Bound(match[1], numbers(match[2])) for match in bounds if match)


def _expires(file: TomlFile, index: int, value: Any) -> datetime.date | None:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = datetime.date.fromisoformat(value)
    if value is None or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        return value
    raise file.error(("known", index, "expires"), f"is {value!r}, not a day such as 2027-03-01")
