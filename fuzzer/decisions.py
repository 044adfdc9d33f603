"""Decisions by hand on families: what a rule got wrong, put right in a file that is reviewed like code.

    [[merge]]
    into = "F0c2ab934f"                # the family that the others join
    ids = ["F11d0e2a7c", "0a1b2c3d4e"]  # whole families, or single findings
    reason = "make_closure is typed R.Any: seen by the caller, and by the type of the result"

    [[split]]
    ids = ["5e4d3c2b1a"]                # these findings are a family of their own
    reason = "the same check, but no local function in it"

Ids are functions of what failed, not of the campaign, so a decision holds for every later one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.families import MARK, Family
from fuzzer.tomlfile import TomlFile, near_matches, read_toml

DEFAULT_FILE = Path("triage.toml")
"""Read where nothing else is said, from the directory that the program is started in."""
FAMILY_ID = re.compile(rf"{MARK}[0-9a-f]{{9}}")
FINDING_ID = re.compile(r"[0-9a-f]{10}")
_KEYS = {"merge": ("into", "ids", "reason"), "split": ("ids", "reason")}


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the file.

    Attributes:
        into: The family that the others join; of a split, the id of the new family.
        ids: Families and findings that are concerned.
        reason: Why, one line.
        split: Whether it takes findings out of their families.
    """

    into: str
    ids: tuple[str, ...]
    reason: str
    split: bool = False

    def to_object(self) -> dict[str, object]:
        """What ``relaxfuzz triage --json`` prints of it."""
        what = "split" if self.split else "merge"
        return {"decision": what, "into": self.into, "ids": list(self.ids), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a finding belongs.

    Attributes:
        id: Id of the family.
        text: What the family is, one line.
        decision: The entry that put it there; ``None`` when the rule did.
    """

    id: str
    text: str
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """The entries of a file."""

    entries: tuple[Decision, ...] = ()

    def place(self, finding_id: str, family: Family) -> Placed:
        """The family of a finding; what is said of the finding itself comes before what is said of its family."""
        for wanted in (finding_id, family.id):
            for entry in self.entries:
                if wanted in entry.ids:
                    return Placed(entry.into, entry.reason, entry)
        return Placed(family.id, family.text)


def load_decisions(path: Path | None) -> Decisions:
    """The decisions of a file; of :data:`DEFAULT_FILE` when ``None``, and none when that is not there.

    Raises:
        fuzzer.tomlfile.TomlError: With file, line and key.
    """
    if path is None:
        if not DEFAULT_FILE.is_file():
            return Decisions()
        path = DEFAULT_FILE
    return parse_decisions(read_toml(path))


def parse_decisions(file: TomlFile) -> Decisions:
    """The decisions of a file that was read; raises ``fuzzer.tomlfile.TomlError``."""
    for key in file.table:
        if key not in _KEYS:
            raise file.error((key,), f"is not a key of a file of decisions{near_matches(key, _KEYS)}")
    entries = [(kind, index, row) for kind in _KEYS for index, row in enumerate(_rows(file, kind))]
    decisions = [_entry(file, kind, index, row) for kind, index, row in entries]
    owner: dict[str, str] = {}
    for (kind, index, _), decision in zip(entries, decisions, strict=True):
        for each in decision.ids:
            if each in owner:
                raise file.error((kind, index, "ids"), f"names {each}, which {owner[each]} names already")
            owner[each] = f"{kind}.{index + 1}"
    for (kind, index, _), decision in zip(entries, decisions, strict=True):
        if decision.into in owner:
            raise file.error((kind, index, "into"), f"is {decision.into}, which {owner[decision.into]} merges away")
    return Decisions(tuple(decisions))


def split_family(ids: tuple[str, ...]) -> str:
    """Id of the family that these findings make when they are split off."""
    return MARK + hashlib.sha256(f"split: {' '.join(sorted(ids))}".encode()).hexdigest()[:9]


def _rows(file: TomlFile, kind: str) -> list[dict[str, Any]]:
    rows = file.table.get(kind, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise file.error((kind,), f"must be an array of tables: write [[{kind}]]")
    return rows


def _entry(file: TomlFile, kind: str, index: int, row: dict[str, Any]) -> Decision:
    for key in row:
        if key not in _KEYS[kind]:
            raise file.error((kind, index, key), f"is not a key of a {kind}{near_matches(key, _KEYS[kind])}")
    for key in _KEYS[kind]:
        if key not in row:
            raise file.error((kind, index), f"needs '{key}'")
    ids, reason = row["ids"], row["reason"]
    if not isinstance(ids, list) or not ids or not all(isinstance(each, str) for each in ids):
        raise file.error((kind, index, "ids"), "must be a list of ids that is not empty")
    if not isinstance(reason, str) or not reason.strip() or not reason.isprintable():
        raise file.error((kind, index, "reason"), "must be one line of text that is not empty")
    for each in ids:
        if not FINDING_ID.fullmatch(each) and (kind == "split" or not FAMILY_ID.fullmatch(each)):
            allowed = "a finding's id" if kind == "split" else "the id of a finding or of a family"
            raise file.error((kind, index, "ids"), f"holds '{each}', which is not {allowed}")
    if kind == "split":
        return Decision(split_family(tuple(ids)), tuple(ids), reason, split=True)
    into = row["into"]
    if not isinstance(into, str) or not FAMILY_ID.fullmatch(into):
        raise file.error((kind, index, "into"), "must be the id of a family")
    if into in ids:
        raise file.error((kind, index, "ids"), f"holds {into}, into which the others are merged")
    return Decision(into, tuple(ids), reason)
