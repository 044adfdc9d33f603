"""Read a TOML file so that every complaint names the file, the line and the key."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import msgspec

from fuzzer.core.verb import UsageError
from relaxkit.files import confine, read_regular
from relaxkit.near import near_matches

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T", bound=msgspec.Struct)

Share = Annotated[float, msgspec.Meta(ge=0, le=1, description="must be a number from 0 to 1")]
Count = Annotated[int, msgspec.Meta(ge=1, description="must be a whole number of at least 1")]
Flag = Annotated[bool, msgspec.Meta(description="must be true or false")]
Line = Annotated[
    str, msgspec.Meta(pattern=r"^[^\S\n]*\S[^\n]*\Z", description="must be one line of text that is not empty")
]
"""Types of values in records (:func:`read_record`), each with the complaint about a value that is none."""

_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_NAMES = rf"({_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*"
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*{_NAMES}\]")
_KEY = re.compile(rf"[ \t]*{_NAMES}=")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")
_MOST_BYTES, _MOST_PARTS, _MOST_LEVELS = 4 << 20, 32, 80
"""Of a file, of a key (each beginning is kept), and of tables and arrays in one another (tomlkit: 100)."""
_LONG = re.compile(rf"[ \t\[]*{_NAME}(?:[ \t]*\.[ \t]*{_NAME}){{{_MOST_PARTS},}}")
_POSITION = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class TomlError(UsageError, ValueError):
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
        subject = f"'{name}' " if key else ""
        return TomlError(f"{self.path}:{self.line(key)}: {subject}{complaint}")

    def require_confined(self, key: tuple[str | int, ...], path: Path, home: Path) -> None:
        """Refuse the file that a key names, unless it lies in a directory or below."""
        try:
            confine(path, home)
        except OSError as error:
            raise self.error(key, f"names '{path}', which is {error.strerror}") from error

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


def read_toml(path: Path, quote: bool = False) -> TomlFile:
    """Read and parse; raises ``TomlError``, which may ``quote`` the line that is wrong: of what a user named."""
    try:
        text = read_regular(path, most=_MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise TomlError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise TomlError(f"{path}: not UTF-8 at byte {error.start}") from error
    return parse_toml(path, text, quote)


def parse_toml(path: Path, text: str, quote: bool = False) -> TomlFile:
    """Parse what stands, or is to stand, in a file; raises ``TomlError``, as of :func:`read_toml`."""
    for number, line in enumerate(text.split("\n"), start=1):
        if _LONG.match(line):  # no value, comment or line of a text looks like that
            raise TomlError(f"{path}:{number}: a key of more than {_MOST_PARTS} parts")
    try:
        table = tomllib.loads(text)
        if _levels(table) > _MOST_LEVELS:  # nobody could print it
            raise RecursionError
        return TomlFile(path, text, table)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(_syntax_error(path, text, str(error), quote)) from error
    except RecursionError:
        raise TomlError(f"{path}: nested too deeply") from None
    except ValueError as error:  # a number with more digits than Python reads, a date that is none
        raise TomlError(f"{path}: not TOML: {error}") from error


def _levels(value: Any) -> int:
    rows = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_levels, rows), default=0)


def _syntax_error(path: Path, text: str, message: str, quote: bool) -> str:
    match = _POSITION.search(message)
    lines = text.splitlines()
    number = int(match.group(1)) if match and match.group(1) else max(1, len(lines))
    complaint = " ".join(_POSITION.sub("", message).split())
    shown = lines[number - 1].strip() if quote and number <= len(lines) else ""
    key = _KEY.match(shown)
    at = f" at '{key.group(1).strip()}'" if key else f" at '{shown[:40]}'" if shown else ""
    return f"{path}:{number}: not TOML{at}: {complaint}"


_fields = functools.cache(msgspec.structs.fields)


def read_record(
    file: TomlFile, at: tuple[str | int, ...], row: object, kind: type[T], what: str = "here", header: str = ""
) -> T:
    """Read the table that stands ``at`` a place of a file as a record.

    Args:
        file: The file.
        at: The key of the table.
        row: Its content.
        kind: The record; the description of a field's type is the complaint about a value that does not fit it.
        what: Where its keys belong, for the complaint about one that is none.
        header: What to write, for the complaint about a value that is no table.

    Raises:
        TomlError: with file, line and key.
    """
    values = read_fields(file, at, row, kind, what, header)
    for field in _fields(kind):
        if field.required and field.name not in values:
            raise file.error(at, f"needs '{field.encode_name}'")
    return kind(**values)


def read_fields(
    file: TomlFile,
    at: tuple[str | int, ...],
    row: object,
    kind: type[msgspec.Struct],
    what: str = "here",
    header: str = "",
    others: Collection[str] = (),
) -> dict[str, Any]:
    """Read those fields of a record that a table gives, by name; ``others`` are keys that somebody else reads."""
    if not isinstance(row, dict):
        raise file.error(at, "must be a table" + (f": write [{header}]" if header else ""))
    fields = {field.encode_name: field for field in _fields(kind)}
    values = {}
    for key, value in row.items():
        if key in others:
            continue
        if key not in fields:
            raise file.error((*at, key), f"is not a key {what}{near_matches(key, [*fields, *others])}")
        try:
            values[fields[key].name] = msgspec.convert(value, fields[key].type)
        except msgspec.ValidationError as error:
            told = _description(fields[key].type).format(value=value)
            raise file.error((*at, key), told or f"is invalid: {error}") from error
    return values


def _description(kind: Any) -> str:
    """Find the description of a type, or of one that it is made of."""
    own = (each.description for each in getattr(kind, "__metadata__", ()) if isinstance(each, msgspec.Meta))
    return next(filter(None, (*own, *map(_description, get_args(kind)))), "")


def read_tables(file: TomlFile, key: str) -> list[dict[str, Any]]:
    """Read the array of tables of a key, none where it is missing; raises ``TomlError``."""
    rows = file.table.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise file.error((key,), f"must be an array of tables: write [[{key}]]")
    return rows


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(next(group for group in match.groups() if group is not None) for match in _PART.finditer(dotted))
