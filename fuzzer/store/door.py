"""The door through which campaigns are read: a directory may come from anywhere, and is checked before it is used.

Beyond it the files are regular ones, the tables are those of ``schema.sql``, and each row is what its record demands.
"""

from __future__ import annotations

import functools
import re
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.core.text import printable, shorten
from fuzzer.findings.assessment import Assessment
from fuzzer.findings.family import Traits
from fuzzer.findings.releases import Bisected
from fuzzer.findings.script_parts import ScriptParts
from fuzzer.store.database import CACHE, FILE_NAME, LOCK_NAME, StoreError, connect, damaged
from fuzzer.store.records import CampaignState, Earlier, FindingState, MergedCampaign
from oracles.core.verdict import Evidence, Outcome
from relaxkit.files import read_regular
from relaxkit.passes.contract import OracleName

FORMAT = "relaxfuzz-campaign-9"
SCRIPTS = "repros"
"""Directory of the scripts in that of a campaign."""

MOST_BYTES = 4 << 30
"""Of a file of the database; eight hours of a campaign take some 100 MB."""
MOST_SCRIPT = 16 << 20
"""Bytes of a script."""
MOST_VALUE = 16 << 20
"""Bytes of one value."""
MOST_ROWS = 500_000
"""Rows of one table; blocks are the most, some 100,000 of which a campaign reaches."""
MOST_ROWS_IN_ALL = 600_000
"""Rows of all tables; several that are nearly full would take half a minute."""
MOST_TALLIES = 100_000
"""Rows of verdicts, which are read with their reasons; all passes and oracles need some 10,000."""
MOST_NAMES = 10_000
"""Operators, features and idioms, each; a page draws all of them, and TVM has some 230 operators."""
MOST_MOMENTS = 20_000
"""Moments of growth; one comes about every 20 s."""
MOST_TEXT = 512 << 20
"""Bytes of all texts of one table, as Python holds them; a finding takes some 50 kB, and many are held at once."""
_WIDEST = 4
"""Bytes that Python takes for each character of a text as soon as one of them is wide."""
MOST_PASSES = 2_000
"""Passes of one campaign."""
MOST_FINDINGS = 5_000
"""Findings of one campaign; two and a half hours found some 640, and each takes a millisecond to read."""
_SECONDS, _BYTES_A_SECOND = 6.0, 10 << 20
"""So much of the processor's time is given to any database, and for so many bytes of it one second more."""
_PATIENCE = 10
"""Times as long it may take by the clock: other processes, and the disk, have their share."""
_BLANKS = re.compile(r"[ \t\n\f\r]+")
_STEPS = 10_000
"""Instructions of SQLite's machine between two looks at the clock."""
_ROWS_AT_ONCE = 500
# As bytes: of a text, `length` counts the characters that stand before the first NUL.
_BYTES = "ifnull(length(CAST({name} AS BLOB)), 0)"
_MEMORY = f"{_BYTES} * CASE WHEN {_BYTES} > length({{name}}) THEN {_WIDEST} ELSE 1 END"

Whole = Annotated[int, Meta(ge=0, le=1 << 48)]
_Number = Annotated[int, Meta(ge=0, le=(1 << 62) - 1)]
_Seed = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
_Seconds = Annotated[float, Meta(ge=0, le=1e12)]
_NAME = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z"
_Name = Annotated[str, Meta(min_length=1, max_length=500, pattern=_NAME)]
_Line = Annotated[str, Meta(max_length=5_000, pattern=_NAME)]
_Version = Annotated[str, Meta(max_length=60, pattern=r"^[0-9A-Za-z_.+!-]*\Z")]
_Digits = Annotated[str, Meta(pattern=r"^[0-9]{1,19}\Z")]
_Text = Annotated[str, Meta(max_length=1 << 20)]
_Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{10}\Z")]
_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{1,64}\Z")]
_Seal = Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}\Z")]
_Rank = Annotated[int, Meta(ge=-1, le=1000)]


class _PassFields(msgspec.Struct):
    name: _Name
    expression: Annotated[str, Meta(min_length=1, max_length=1 << 20)]


class _CaseFields(msgspec.Struct):
    module_json: str
    passes: Annotated[list[_PassFields], Meta(min_length=1, max_length=100)]
    input_seed: Annotated[int, Meta(ge=-(1 << 15), le=(1 << 63) - 1)]  # below 0: plain values (relaxkit.ir.domain)


class _EvidenceFields(msgspec.Struct):
    kind: _Name
    message: _Text
    frames: Annotated[list[_Line], Meta(max_length=1000)]


class _SkeletonFields(msgspec.Struct):
    operators: Annotated[list[_Name], Meta(max_length=1000)] = []
    constructs: Annotated[list[_Name], Meta(max_length=1000)] = []


class _BisectedFields(msgspec.Struct):
    releases: Annotated[list[tuple[_Line, _Text]], Meta(max_length=100)] = []


class _TraitsFields(msgspec.Struct):
    skeleton: _SkeletonFields = msgspec.field(default_factory=_SkeletonFields)


class _EarlierFields(msgspec.Struct):
    id: _Name
    oracle: OracleName
    culprit: _Name
    cases: Annotated[list[_CaseFields], Meta(max_length=10)] = []


@dataclass(frozen=True, slots=True)
class _Json:
    """The types that the JSON of a column must all be; ``absent``: it may be missing."""

    kinds: tuple[Any, ...]
    absent: bool = False

    def check(self, text: str | None) -> None:
        if text is None and self.absent:
            return
        for kind in self.kinds:
            msgspec.json.decode(text or "", type=kind)


def _wholes(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), Whole)


_CASE, _EVIDENCE = (Case, _CaseFields), _Json((Evidence, _EvidenceFields))
_TALLY = {"name": _Name, "count": Whole}
COLUMNS: dict[str, dict[str, Any]] = {
    "meta": {"key": _Name, "value": _Text},
    "shards": {"number": _Number, **_wholes("first stop examples modules discarded bindings")},
    "tallies": {"oracle": OracleName, "culprit": _Name, "outcome": Outcome, "reason": _Line, "count": Whole},
    **dict.fromkeys(("features", "idioms", "operators", "judged", "changed"), _TALLY),
    "operands": {"operator": _Name, "dtype": _Line, "rank": _Rank, "count": Whole},
    "pairs": {"producer": _Name, "consumer": _Name, "count": Whole},
    "rewrites": {"culprit": _Name, "rewrite": _Line, "count": Whole},
    "findings": {
        "id": _Id, "signature": _Text, "oracle": OracleName, "culprit": _Name, "evidence": _EVIDENCE,
        "count": Whole, "state": FindingState, "first_seen": _Seconds, "last_seen": _Seconds, "shard": _Number,
        "number": Whole, "case_json": _Json(_CASE), "minimized_json": _Json(_CASE, absent=True),
        "bindings": Whole | None, "repro": _Name | None, "parts": _Json((ScriptParts,), absent=True), "note": _Text,
        "traits": _Json((Traits, _TraitsFields), absent=True),
        "bisected": _Json((Bisected, _BisectedFields), absent=True),
        "assessment": _Json((Assessment,), absent=True), "seal": _Seal,
    },
    "costs": {"id": _Id, "judging": _Seconds, "triage": _Seconds},
    "regressions": {
        "source": _Line, "id": _Name, "state": _Name, "body": _Json((Earlier, _EarlierFields)), "seal": _Seal,
    },
    "growth": {"at": _Seconds, **_wholes("examples modules findings operators operands pairs rewrites")},
    "sightings": {"finding": _Id, "at": _Seconds, "count": Whole},
    "spent": {"step": _Name, "culprit": _Line, "seconds": _Seconds},
    "reached": {"block": Whole, "shard": _Number},
    "entered": {"function": Whole, "shard": _Number, "example": Whole},
    "lines": {"place": _Line, "line": Whole, "ran": Literal[0, 1]},
}  # fmt: skip
"""Types of all columns of all tables, in the order in which ``schema.sql`` has them."""

_FACTS: dict[str, Any] = {
    "seed": _Seed, "started_at": datetime, "elapsed": _Seconds, "workers": Whole, "budget": _Line,
    "state": CampaignState, "tvm_version": _Version, "ffi_version": _Version,
    "passes": _Json((Annotated[list[_Name], Meta(max_length=MOST_PASSES)],)), "oracles": _Json((list[OracleName],)),
}  # fmt: skip
"""Facts that each campaign has."""
_MORE_FACTS: dict[str, Any] = {
    "identity": _Digest, "seal": _Digest, "config": _Json((Config,)), "relaxfuzz_version": _Version,
    "merged": _Json((Annotated[list[MergedCampaign], Meta(min_length=1)],)),
}  # fmt: skip


def enter(directory: Path) -> sqlite3.Connection:
    """Open a campaign for reading, with all that it holds checked; raises ``StoreError`` and what SQLite raises."""
    size = _check_files(directory)
    connection = connect(directory / FILE_NAME, read_only=True)
    try:
        _limit(connection, _SECONDS + size / _BYTES_A_SECOND)
        _Inspection(directory / FILE_NAME, connection).run()
        connection.set_progress_handler(None, 0)
    except BaseException as error:
        connection.close()
        if isinstance(error, UnicodeDecodeError):  # SQLite quotes what is damaged in its complaint
            raise StoreError(f"'{directory / FILE_NAME}' is damaged: names that are not text") from error
        raise
    return connection


def _check_files(directory: Path) -> int:
    """Look at all files that SQLite or a campaign opens by name; the size of the database."""
    if not directory.exists():
        is_pattern = any(each in str(directory) for each in "*?[")  # which the shell left as it is
        raise StoreError(f"no campaign matches {directory}" if is_pattern else f"'{directory}' does not exist")
    if not directory.is_dir():
        raise StoreError(f"'{directory}' is not a directory")
    if (directory / SCRIPTS).is_symlink():  # scripts are written there, too
        raise StoreError(f"'{directory / SCRIPTS}' is a link")
    size = 0
    for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", f"{FILE_NAME}-journal", LOCK_NAME, "workers.log"):
        try:
            found = (directory / name).lstat()
        except FileNotFoundError:
            if name == FILE_NAME:
                raise StoreError(f"'{directory}' contains no campaign (no {FILE_NAME})") from None
            continue
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise StoreError(f"'{directory / name}' is not a regular file, or has hard links")
        if name.endswith("-journal"):  # none of ours has one: it could name other files, which SQLite would remove
            raise StoreError(f"'{directory / name}' is not part of a campaign")
        size += found.st_size if name.startswith(FILE_NAME) else 0
    if size > MOST_BYTES:
        raise StoreError(f"'{directory / FILE_NAME}' is too large: {size >> 20} MiB, at most {MOST_BYTES >> 20}")
    return size


def _limit(connection: sqlite3.Connection, seconds: float) -> None:
    """Bound what one statement may take, and let nothing that a schema says be run."""
    clocks = ((time.thread_time, seconds), (time.monotonic, _PATIENCE * seconds))
    ends = [(clock, clock() + most) for clock, most in clocks]
    connection.set_progress_handler(lambda: any(clock() > end for clock, end in ends), _STEPS)
    if hasattr(connection, "setlimit"):  # Python 3.11
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
    for setting in (f"cache_size = {CACHE}", "trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        connection.execute(f"PRAGMA {setting}")


class _Inspection:
    """Goes through all of a database once."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection

    def run(self) -> None:
        self._db.execute("BEGIN")  # all of it at one moment, though a campaign writes
        if not self.path.stat().st_size:
            raise damaged(self.path, "it is empty")
        if self._format() != FORMAT:
            raise StoreError(f"'{self.path}' is not a campaign made by this version")
        self._schema()  # first of all: what it says could be run by the check behind it
        found = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if found is None or found[0] != "ok":
            raise damaged(self.path, " ".join(found[0].split()) if found else "no answer")
        rows = 0
        for table, columns in COLUMNS.items():
            if (rows := rows + self._rows(table, columns)) > MOST_ROWS_IN_ALL:
                raise self._error(f"more than {MOST_ROWS_IN_ALL} rows in all tables")
        self._facts()
        self._db.execute("COMMIT")

    def _format(self) -> str:
        if not any(
            name == "meta" for _, name, _ in _objects(self._db) & _own_objects()
        ):  # which no version has changed
            return ""
        rows = self._db.execute("SELECT value FROM meta WHERE key = 'format'").fetchmany(1)
        return str(rows[0][0]) if rows else ""

    def _schema(self) -> None:
        found, ours = _objects(self._db), _own_objects()
        names = {each[:2] for each in ours}
        for kind, name, _ in sorted(found - ours):
            what = "is not as expected" if (kind, name) in names else "does not belong in a campaign"
            raise self._error(f"{kind} '{name}' {what}")
        for kind, name, _ in sorted(ours - found):
            raise self._error(f"{kind} '{name}' is missing")

    def _rows(self, table: str, columns: Mapping[str, Any]) -> int:
        """Check all rows of a table; returns how many there are."""
        lengths = " + ".join(_MEMORY.format(name=name) for name in columns)
        if (text := self._db.execute(f"SELECT total({lengths}) FROM {table}").fetchone()[0]) > MOST_TEXT:
            raise self._error(f"table '{table}' contains {int(text) >> 20} MiB of text, at most {MOST_TEXT >> 20}")
        few = dict.fromkeys(("features", "idioms", "operators"), MOST_NAMES)
        most = {**few, "growth": MOST_MOMENTS, "tallies": MOST_TALLIES}.get(table, MOST_ROWS)
        cursor = self._db.execute(f"SELECT {', '.join(columns)} FROM {table} LIMIT {most + 1}")
        cursor.row_factory = None
        kinds, decoded = _compiled(table)
        number = 0
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            try:
                msgspec.convert(rows, kinds)
                for row in rows:
                    for at, check in decoded:
                        check(row[at])
                    if table in _CONSISTENT and (fault := _CONSISTENT[table](row)):
                        raise msgspec.ValidationError(fault)
            except (msgspec.MsgspecError, RecursionError, ValueError):
                self._name_fault(table, columns, rows, number)
                raise
            if (number := number + len(rows)) > most:
                raise self._error(f"table '{table}' has more than {most} rows")
        return number

    def _name_fault(self, table: str, columns: Mapping[str, Any], rows: Sequence[Any], before: int) -> None:
        """Raise the error of the first value that is wrong."""
        for number, row in enumerate(rows, start=before + 1):
            for (name, kind), value in zip(columns.items(), row, strict=True):
                self._check_value(f"table '{table}', row {number}, field '{name}'", kind, value)
            if table in _CONSISTENT and (fault := _CONSISTENT[table](row)):
                raise self._error(f"table '{table}', row {number}, {fault}")

    def _facts(self) -> None:
        for table, column in (("tallies", "culprit"), ("judged", "name")):
            if self._db.execute(f"SELECT count(DISTINCT {column}) FROM {table}").fetchone()[0] > MOST_PASSES:
                raise self._error(f"table '{table}' has more than {MOST_PASSES} passes")
        if (many := self._db.execute("SELECT count(*) FROM findings").fetchone()[0]) > MOST_FINDINGS:
            raise self._error(f"table 'findings' has {many} findings, at most {MOST_FINDINGS}")
        if self._db.execute(_CHANGED_MORE).fetchone():
            raise self._error("table 'changed' has more of a pass than table 'judged'")
        facts = dict(self._db.execute("SELECT key, value FROM meta"))
        for key, kind in (_FACTS | _MORE_FACTS).items():
            if key in facts:
                where = f"table 'meta', row '{key}', field 'value'"
                if kind in (_Seed, Whole):  # more than digits is read as a number, too
                    self._check_value(where, _Digits, facts[key])
                self._check_value(where, kind, facts[key], strict=kind is datetime)  # a number is no moment
            elif key in _FACTS:
                raise self._error(f"table 'meta', row '{key}' is missing")

    def _check_value(self, where: str, kind: Any, value: Any, *, strict: bool = True) -> None:
        try:
            if isinstance(kind, _Json):
                msgspec.convert(value, str | None)
                kind.check(value)
            else:
                msgspec.convert(value, kind, strict=strict)
        except RecursionError:
            raise self._error(f"{where}: nested too deeply") from None
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._error(f"{where}: {error}") from error

    def _error(self, text: str) -> StoreError:
        return StoreError(f"'{self.path}' is damaged: {shorten(printable(text), 300)}")


_CHANGED_MORE = "SELECT 1 FROM changed LEFT JOIN judged USING (name) WHERE changed.count > ifnull(judged.count, 0)"
_REPRO = list(COLUMNS["findings"]).index("repro")


def _strange_script(row: Sequence[Any]) -> str:
    expected = f"{SCRIPTS}/{row[0]}.py"
    return "" if row[_REPRO] in (None, expected) else f"field 'repro': Expected `{expected}`"


def _strange_body(row: Sequence[Any]) -> str:
    """Say in which field a regression differs from its body: some readers look at the one, some at the other."""
    body = msgspec.json.decode(row[3], type=Earlier)
    said = zip(("source", "id", "state"), row, (body.source, body.id, body.state), strict=False)
    return next((f"field '{name}': Expected `{told}`" for name, value, told in said if value != told), "")


_CONSISTENT: dict[str, Callable[[Sequence[Any]], str]] = {"findings": _strange_script, "regressions": _strange_body}
"""What the fields of one row say of each other; the fault, or nothing."""


@functools.cache
def _compiled(table: str) -> tuple[Any, list[tuple[int, Callable[[str | None], None]]]]:
    """The type of a list of rows of a table, and the checks of its columns of JSON."""
    columns = COLUMNS[table].values()
    plain = [str | None if isinstance(kind, _Json) else kind for kind in columns]
    return list[tuple[tuple(plain)]], [  # type: ignore[misc]  # made of values
        (at, kind.check) for at, kind in enumerate(columns) if isinstance(kind, _Json)
    ]


def _objects(connection: sqlite3.Connection) -> Counter[tuple[str, str, str]]:
    """Count all that a schema has, by kind, name and text: a check, a collation or a generated column stands in it.

    A trigger may have the name of a table, and a file changed by hand may have anything twice. Only the blanks of
    ASCII are equal: to SQLite, all others are letters.
    """
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master")
    return Counter(
        (str(kind), str(name), " ".join(_BLANKS.split(str(text or "").strip()))) for kind, name, text in rows
    )


@functools.cache
def _own_objects() -> Counter[tuple[str, str, str]]:
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(resources.files("fuzzer.store").joinpath("schema.sql").read_text())
        return _objects(connection)


def read_script(directory: Path, repro: str | None, most: int = MOST_SCRIPT) -> str:
    """Read the script of a finding; raises ``StoreError`` where there is none that is a file of the campaign."""
    if repro is None:
        raise StoreError(f"'{directory}': the finding has no script")
    try:
        return read_regular(directory / repro, links=False, most=most).decode("utf-8", errors="replace")
    except OSError as error:
        raise StoreError(f"'{directory / repro}': {error.strerror}") from error
