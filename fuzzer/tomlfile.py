"""Read a TOML file so that every complaint names the file, the line and the key."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HEADER = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_.-]|"[^"]*"|'[^']*'|\s*\.\s*)+?)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")
_POSITION = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class TomlError(ValueError):
    """A file that cannot be read, is not TOML, or says something wrong; one line with file, line and key."""


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A parsed file.

    Attributes:
        path: Where it was read.
        text: Its text, kept to find the line of a key.
        table: Its content.
    """

    path: Path
    text: str
    table: Mapping[str, Any]

    def error(self, key: tuple[str | int, ...], complaint: str) -> TomlError:
        """An error about the key ``("oracles", "crash", "min_checks")``; an ``int`` counts tables of an array."""
        name = ".".join(str(part + 1) if isinstance(part, int) else part for part in key)
        return TomlError(f"{self.path}:{self.line(key)}: '{name}' {complaint}")

    def line(self, key: tuple[str | int, ...]) -> int:
        """Line (from 1) where the key stands, or the nearest table around it; 1 when it cannot be told."""
        found = 1
        best = 0
        table: tuple[str | int, ...] = ()
        seen: dict[tuple[str, ...], int] = {}
        for number, line in enumerate(self.text.splitlines(), start=1):
            header = _HEADER.match(line)
            if header:
                names = _parts(header.group(2))
                table = names
                if header.group(1) == "[[":
                    seen[names] = seen.get(names, -1) + 1
                    table = (*names, seen[names])
                place: tuple[str | int, ...] = table
            elif match := _KEY.match(line):
                place = (*table, *_parts(match.group(1)))
            else:
                continue
            if key[: len(place)] == place and len(place) > best:
                best, found = len(place), number
        return found


def read_toml(path: Path) -> TomlFile:
    """Read and parse; raises ``TomlError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TomlError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise TomlError(f"{path}: not UTF-8 at byte {error.start}") from error
    return parse_toml(path, text)


def parse_toml(path: Path, text: str) -> TomlFile:
    """Parse what stands, or is to stand, in a file; raises ``TomlError``."""
    try:
        return TomlFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise TomlError(_syntax_error(path, text, str(error))) from error


def _syntax_error(path: Path, text: str, message: str) -> str:
    match = _POSITION.search(message)
    lines = text.splitlines()
    number = int(match.group(1)) if match and match.group(1) else max(1, len(lines))
    complaint = " ".join(_POSITION.sub("", message).split())
    shown = lines[number - 1].strip() if number <= len(lines) else ""
    key = _KEY.match(shown)
    at = f" at '{key.group(1).strip()}'" if key else f" at '{shown[:40]}'" if shown else ""
    return f"{path}:{number}: not TOML{at}: {complaint}"


def near_matches(name: str, known: Collection[str]) -> str:
    """``; did you mean A or B?`` with up to three near names, ignoring case; empty when nothing is near."""
    folded = {candidate.casefold(): candidate for candidate in known}
    near = [folded[found] for found in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(next(group for group in match.groups() if group is not None) for match in _PART.finditer(dotted))
