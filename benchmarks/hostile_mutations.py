"""Mutations of campaigns and of files: what somebody would put into a directory to be read, or what breaks on the way.

Each takes a directory that holds a sound campaign and changes it.  ``outside`` is a directory beside it with files that
nobody may read or change.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

DATABASE = "campaign.sqlite"
EVIL = "__import__('pathlib').Path({ran!r}).write_text('ran')"
"""Python that leaves a trace where it is run."""
TEXTS = (
    "\x1b[2J\x1b]0;owned\x07",
    "a\n::error title=x::y\n##[error]z\n",
    "</script><img src=x onerror=alert(1)>",
    "]]>\n```\n~~~\n",
    "\u202egnp.exe\u2066\u200b",
    "x" * (1 << 20),
    "%0A::set-output name=a::b",
    "| a | b |\n|---|---|\n",
    "'\"; DROP TABLE meta; --",
    "\x00",
    "../../../../etc/passwd",
    "\r\nHTTP/1.1 200",
    "\ufffe\uffff\U0010ffff",
    "(" * 3000,
    "a " * 20_000,
    "R.Tensor((" * 500,
    "",
    " ",
    "🦀" * 100,
    "[](javascript:alert(1)) ![x](http://x/y)",
    "<details><summary>x</summary><!--",
    "\u2028\u2029\x85",
    "@team #1 <b>",
    "%s %n {0} {__class__}",
)
VALUES = (
    None,
    -1,
    0,
    1,
    2**31,
    2**53,
    2**63 - 1,
    -(2**63),
    1.5,
    -0.0,
    1e308,
    float("inf"),
    b"\xff\xfe",
    b"",
    "1",
    "-1",
    "nan",
    "1e999",
)
NAMES = (
    DATABASE,
    f"{DATABASE}-wal",
    f"{DATABASE}-shm",
    f"{DATABASE}-journal",
    "campaign.lock",
    "workers.log",
    "repros",
)
Mutation = Callable[[Path, Path, random.Random], str]


def _connect(directory: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(directory / DATABASE, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    return connection


def _columns(database: sqlite3.Connection, chance: random.Random) -> tuple[str, str]:
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = chance.choice([*tables, *["findings", "meta"] * 6])
    return table, chance.choice([row[1] for row in database.execute(f"PRAGMA table_info({table})")])


_TEXTS = {
    "evidence": ("message", "expected", "observed", "frames"),
    "parts": ("module", "passes"),
    "bisected": ("judgement",),
}


def _filled(database: sqlite3.Connection, column: str) -> list[tuple[str, str]]:
    return database.execute(f"SELECT id, {column} FROM findings WHERE {column} IS NOT NULL ORDER BY id").fetchall()


def any_value(chance: random.Random) -> object:
    """Return something that stands in no campaign, or in another place of it."""
    if chance.random() < 0.5:
        return chance.choice(TEXTS)
    return chance.choice(VALUES)


def value(directory: Path, outside: Path, chance: random.Random) -> str:
    """Put another value into rows of a table."""
    with closing(_connect(directory)) as database:
        table, column = _columns(database, chance)
        there = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        one = f" WHERE {column} IN (SELECT {column} FROM {table} LIMIT 1 OFFSET {chance.randrange(there or 1)})"
        where = "" if chance.random() < 0.3 else one
        with suppress(sqlite3.Error):
            database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{where}", (any_value(chance),))
    return f"{table}.{column}"


def text(directory: Path, outside: Path, chance: random.Random) -> str:
    """Put texts of attackers where texts of TVM and of passes belong, with nothing else wrong."""
    said = chance.choice(TEXTS)
    with closing(_connect(directory)) as database:
        for column in ("note", "signature"):
            if chance.random() < 0.5:
                database.execute(f"UPDATE findings SET {column} = ?", (said,))
        for column, names in (
            ("evidence", ("message", "expected", "observed", "frames")),
            ("parts", ("module", "passes")),
            ("bisected", ("judgement",)),
        ):
            for row, old in database.execute(
                f"SELECT id, {column} FROM findings WHERE {column} IS NOT NULL"
            ).fetchall():
                found = json.loads(old)
                name = chance.choice(names)
                found[name] = [said] if isinstance(found.get(name), list) else said
                database.execute(f"UPDATE findings SET {column} = ? WHERE id = ?", (json.dumps(found), row))
        database.execute(
            "UPDATE meta SET value = ? WHERE key = ?", (said, chance.choice(("budget", "tvm_version", "x")))
        )
        with suppress(sqlite3.Error):
            database.execute(
                "UPDATE OR IGNORE tallies SET reason = ? WHERE reason != ''", (said[:4000].replace("\n", " "),)
            )
    return repr(said[:20])


def record(directory: Path, outside: Path, chance: random.Random) -> str:
    """Change one thing inside of the JSON of a row."""
    columns = ("evidence", "case_json", "minimized_json", "parts", "traits", "bisected", "assessment")
    with closing(_connect(directory)) as database:
        column = chance.choice(columns)
        row = database.execute(
            f"SELECT id, {column} FROM findings WHERE {column} IS NOT NULL ORDER BY id LIMIT 1 OFFSET ?",
            (chance.randrange(5),),
        ).fetchone()
        if row is None:
            return value(directory, outside, chance)
        changed = mutated_json(row[1], chance)
        database.execute(f"UPDATE findings SET {column} = ? WHERE id = ?", (changed, row[0]))
    return column


def mutated_json(old: str, chance: random.Random) -> str:
    """Return JSON with another value somewhere, with a key less or more, cut, or nested without end."""
    kind = chance.random()
    if kind < 0.1:
        return old[: chance.randrange(len(old) + 1)]
    if kind < 0.2:
        return chance.choice(("[", '{"a":', '{"details":')) * 100_000
    if kind < 0.25:
        return old.replace("1", "1" * 6000, 1)
    found = json.loads(old)
    place = found
    while isinstance(place, (dict, list)) and place:
        key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if chance.random() < 0.4 or not isinstance(place[key], (dict, list)) or not place[key]:
            new = any_value(chance)
            if chance.random() < 0.2 and isinstance(place, dict):
                del place[key]
            else:
                place[key] = new.decode("latin-1") if isinstance(new, bytes) else new
            break
        place = place[key]
    return json.dumps(found)


def code(directory: Path, outside: Path, chance: random.Random) -> str:
    """Put code wherever something might run it: passes, plugins, scripts."""
    evil = EVIL.format(ran=str(outside / "ran"))
    plugin = directory / "evil.py"
    plugin.write_text(evil + "\n")
    with closing(_connect(directory)) as database:
        for column in ("case_json", "minimized_json"):
            for row, old in database.execute(
                f"SELECT id, {column} FROM findings WHERE {column} IS NOT NULL"
            ).fetchall():
                found = json.loads(old)
                for each in found["passes"]:
                    each["expression"] = chance.choice((evil, f"user:{plugin}:f", f"user:{plugin.resolve()}:f"))
                database.execute(f"UPDATE findings SET {column} = ? WHERE id = ?", (json.dumps(found), row))
        row = database.execute("SELECT value FROM meta WHERE key = 'config'").fetchone()
        if row is not None and chance.random() < 0.5:
            config = json.loads(row[0]) | {"plugins": [str(plugin)]}
            database.execute("UPDATE meta SET value = ? WHERE key = 'config'", (json.dumps(config),))
    for script in (directory / "repros").glob("*.py"):
        script.write_text(f"{evil}\nprint('BUG: it is there')\nraise SystemExit(1)\n")
    for name in ("conftest.py", "sitecustomize.py", "findings.toml"):
        (directory / name).write_text(evil)
    return "passes, plugins, scripts"


def path(directory: Path, outside: Path, chance: random.Random) -> str:
    """Name files elsewhere as scripts and as sources of earlier findings."""
    target = chance.choice(
        (
            str(outside / "secret.txt"),
            "../outside/secret.txt",
            "repros/../../outside/secret.txt",
            "/etc/passwd",
            "repros/link.py",
            "repros",
            ".",
        )
    )
    (directory / "repros").mkdir(exist_ok=True)
    (directory / "repros/link.py").symlink_to(outside / "secret.txt")
    with closing(_connect(directory)) as database:
        database.execute("UPDATE findings SET repro = ?", (target,))
        if chance.random() < 0.3:
            database.execute("UPDATE findings SET id = substr(?, 1, 30) || substr(id, 1, 3)", (target,))
    return target


_SCHEMAS = """
CREATE VIEW more AS SELECT * FROM findings
CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM meta; END
CREATE VIRTUAL TABLE more USING fts5(a)
CREATE VIRTUAL TABLE more USING rtree(a, b, c)
CREATE TABLE more (a)
DROP TABLE {table}
ALTER TABLE {table} RENAME TO older
ALTER TABLE {table} RENAME COLUMN {column} TO other
ALTER TABLE {table} ADD COLUMN more TEXT
ALTER TABLE {table} DROP COLUMN {column}
CREATE INDEX more ON {table} ({column})
DELETE FROM {table}
DROP INDEX findings_by_state
PRAGMA user_version = 7
PRAGMA application_id = 7
ALTER TABLE {table} ADD COLUMN more AS (randomblob(100000000))
CREATE TABLE copy AS SELECT * FROM {table}; DROP TABLE {table}; CREATE VIEW {table} AS SELECT * FROM copy
DROP TABLE {table}; CREATE VIEW {table} AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n
PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE {table} (a)' WHERE name = '{table}'
PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 1 WHERE name = '{table}'
PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'view' WHERE name = '{table}'
PRAGMA encoding = 'UTF-16'; VACUUM
PRAGMA page_size = 512; VACUUM
PRAGMA auto_vacuum = FULL; VACUUM
"""
SCHEMAS = _SCHEMAS.strip().splitlines()


def schema(directory: Path, outside: Path, chance: random.Random) -> str:
    """Change the schema."""
    with closing(_connect(directory)) as database:
        table, column = _columns(database, chance)
        statement = chance.choice(SCHEMAS).format(table=table, column=column)
        with suppress(sqlite3.Error):
            database.executescript(statement)
    return statement[:60]


def damage(directory: Path, outside: Path, chance: random.Random) -> str:
    """Cut, overwrite or lengthen the file of the database, or its log."""
    with closing(_connect(directory)) as database:
        database.execute("VACUUM")
    name = chance.choice((DATABASE, DATABASE, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"))
    data = bytearray((directory / name).read_bytes() if (directory / name).exists() else chance.randbytes(40_000))
    kind = chance.randrange(5)
    if kind == 0:
        data = data[: chance.randrange(len(data) + 1)]
    elif kind == 1:
        for _ in range(chance.randrange(1, 200)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif kind == 2:
        place = chance.randrange(min(len(data), 4096))
        data[place : place + 16] = chance.randbytes(16)
    elif kind == 3:
        start = chance.randrange(len(data))
        data[start : start + 4096] = data[: len(data[start : start + 4096])]
    (directory / name).write_bytes(data)
    if kind == 4:
        os.truncate(directory / name, chance.choice((1 << 20, 1 << 36)))
    return f"{name} {kind}"


def files(directory: Path, outside: Path, chance: random.Random) -> str:
    """Put links, pipes, devices and directories where files belong."""
    scripts = [f"repros/{each.name}" for each in (directory / "repros").glob("*.py")]
    name = chance.choice([*NAMES, *(scripts or NAMES)])
    place = directory / name
    target = chance.choice(("secret.txt", "new.txt", "folder"))
    kind = chance.choice(("link", "pipe", "directory", "device", "zero", "large", "loop", "hard", "missing", "empty"))
    if place.is_dir() and not place.is_symlink():
        place.rename(directory / "was")
    else:
        place.unlink(missing_ok=True)
    if kind == "link":
        place.symlink_to(outside / target)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "directory":
        place.mkdir()
    elif kind in ("device", "zero"):
        place.symlink_to("/dev/tty" if kind == "device" else "/dev/zero")
    elif kind == "large":
        place.touch()
        os.truncate(place, 1 << 40)
    elif kind == "loop":
        place.symlink_to(place)
    elif kind == "hard":
        os.link(outside / "secret.txt", place)
    elif kind == "empty":
        place.touch()
    return f"{name}: {kind}"


MUTATIONS: Sequence[Mutation] = (value, value, value, text, text, record, record, code, path, schema, damage, files)


def file_text(good: str, chance: random.Random) -> bytes:
    """Return a file like a good one, with something wrong."""
    kind = chance.randrange(12)
    if kind == 0:
        return good.encode()[: chance.randrange(len(good) + 1)]
    if kind == 1:
        return chance.choice((b"[", b"a = [", b"a = {b=", b'{"a":', b"[[")) * chance.choice((3, 100_000))
    if kind == 2:
        return good.encode() + b"\nhuge = " + b"1" * 6000 + b"\n"
    if kind == 3:
        data = bytearray(good.encode())
        for _ in range(chance.randrange(1, 20)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data)
    if kind == 4:
        return chance.randbytes(chance.choice((0, 1, 1000)))
    if kind == 5:
        return "\ufeff".encode() + good.encode()
    lines = good.splitlines()
    place = chance.randrange(len(lines))
    if kind == 6:
        return "\n".join([*lines[:place], lines[place], *lines[place:]]).encode()
    if kind == 7:
        return "\n".join(lines[:place] + lines[place + 1 :]).encode()
    head, sign, _ = lines[place].partition("=" if "=" in lines[place] else ":")
    new = any_value(chance)
    said = new.decode("latin-1") if isinstance(new, bytes) else new
    lines[place] = f"{head}{sign} {json.dumps(said)}{',' if sign == ':' else ''}"
    return "\n".join(lines).encode("utf-8", errors="replace")


def sound_files(root: Path) -> list[tuple[str, str, str]]:
    """Name, verb and content of a sound file of each kind."""
    here = Path(__file__).resolve().parents[1]
    case = next(iter(sorted((here / "corpus/cases").glob("*/case.toml")))).read_text()
    saved = '{\n"format": "relaxfuzz-case-1",\n"oracle": "crash",\n"id": "0123456789",\n"signature": "a",\n'
    saved += '"module_json": "{}",\n"passes": [],\n"input_seed": 0\n}'
    known = '[[known]]\nid = "1f0c2ab934"\nreference = "https://example.org/1"\nreason = "known"\n'
    known += 'pass = "FuseOps"\ntvm = ">=0.26,<0.28"\nexpires = 2027-03-01\n'
    config = 'seed = 7\npasses = ["FuseOps"]\noracles = "crash"\nmax-examples = 5\n'
    config += 'workers = 2\ncase-timeout = "5s"\nmemory-limit = "1GiB"\n'
    decisions = (
        known
        + '\n[[merge]]\ninto = "F0c2ab934f"\nids = ["F11d0e2a7c"]\nreason = "one"\n'
        + '\n[[split]]\nids = ["5e4d3c2b1a"]\nreason = "other"\n'
    )
    return [
        ("bad.toml", "gate GOOD --policy OUT/bad.toml", (here / "docs/policy.toml").read_text() + known),
        ("bad.toml", "gate GOOD --policy OUT/policy.toml --triage OUT/bad.toml", decisions),
        ("bad.toml", "triage list --file OUT/bad.toml", decisions),
        ("bad.toml", "findings GOOD --triage OUT/bad.toml", decisions),
        ("bad.json", "gate GOOD --policy OUT/policy.toml --baseline OUT/bad.json", (root / "good.json").read_text()),
        ("bad.json", "baseline GOOD --compare OUT/bad.json", (root / "good.json").read_text()),
        ("bad.toml", "run --config OUT/bad.toml --out GOOD --seed 1", config),
        ("bad.toml", "run --known OUT/bad.toml --passes FuseOps --out GOOD --seed 1", known),
        ("case/case.toml", "corpus list --root OUT", case),
        ("bad.json", "minimize --module OUT/bad.json --pass Nothing --oracle crash", saved),
    ]
