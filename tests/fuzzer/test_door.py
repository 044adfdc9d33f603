"""The door of the store: what a directory from elsewhere holds is refused in one line, or fits its records."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.store import door
from fuzzer.store.database import CACHE
from fuzzer.store.records import Earlier, EarlierState, FindingState
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from relaxkit.ir.domain import ORDINARY


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "campaign", META) as store:
        (name,) = store.record_shard(shard(0, hit("Check failed: boom", 5, 2)), 1.5)
        store.save_triage(name, FindingState.CONFIRMED, None, None, f"repros/{name}.py", "")
    (tmp_path / "campaign/repros").mkdir()
    (tmp_path / f"campaign/repros/{name}.py").write_text("print('BUG: boom')\nraise SystemExit(1)\n")
    return tmp_path / "campaign"


def change(directory: Path, *statements: str) -> None:
    with closing(sqlite3.connect(directory / FILE_NAME)) as database, database:
        for statement in statements:
            database.execute(statement)


def test_the_columns_are_those_of_the_schema() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(Path(door.__file__).with_name("schema.sql").read_text())
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")] for name in tables}
    assert found == {name: list(columns) for name, columns in door.COLUMNS.items()}


CASE = json.dumps({"module_json": "{}", "passes": [{"name": "A", "expression": "a()"}], "input_seed": 3})
NO_PASS = json.dumps({**json.loads(CASE), "passes": []})
OFTEN = json.dumps({"judgement": "fixed", "releases": [["0.27", "BUG: x"]] * 101})
MANY = json.dumps({"skeleton": {"operators": ["a"] * 1001}})
LONE = CASE.replace("A", "\\ud800")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE findings SET id = '../../x'", "table 'findings', row 1, field 'id'"),
        ("UPDATE findings SET repro = '../../../etc/passwd'", "table 'findings', row 1, field 'repro'"),
        ("UPDATE findings SET repro = 'repros/0123456789.py'", "table 'findings', row 1, field 'repro'"),
        ("UPDATE findings SET count = -1", "table 'findings', row 1, field 'count'"),
        ("UPDATE findings SET count = 'many'", "table 'findings', row 1, field 'count'"),
        ("UPDATE findings SET state = 'proven'", "table 'findings', row 1, field 'state'"),
        ("UPDATE findings SET oracle = 'delphi'", "table 'findings', row 1, field 'oracle'"),
        ("UPDATE findings SET culprit = 'a' || char(27) || '[2J'", "table 'findings', row 1, field 'culprit'"),
        ("UPDATE findings SET first_seen = 9e999", "table 'findings', row 1, field 'first_seen'"),
        ("UPDATE findings SET evidence = '[]'", "table 'findings', row 1, field 'evidence'"),
        (f"UPDATE findings SET evidence = '{'[' * 100_000}'", "table 'findings', row 1, field 'evidence'"),
        (f"UPDATE findings SET case_json = '{CASE.replace('3', '1' * 5000)}'", "field 'case_json'"),
        (f"UPDATE findings SET case_json = '{LONE}'", "field 'case_json'"),
        (f"UPDATE findings SET case_json = '{NO_PASS}'", "field 'case_json'"),
        (f"UPDATE findings SET traits = '{MANY}'", "table 'findings', row 1, field 'traits'"),
        (f"UPDATE findings SET bisected = '{OFTEN}'", "table 'findings', row 1, field 'bisected'"),
        ("UPDATE findings SET note = x'ff'", "table 'findings', row 1, field 'note'"),
        ("UPDATE findings SET note = CAST(x'ff' AS TEXT)", "Could not decode"),
        ("UPDATE tallies SET outcome = reason || 'w' || count", "table 'tallies', row 1, field 'outcome'"),
        ("UPDATE shards SET examples = 1 << 60", "table 'shards', row 1, field 'examples'"),
        ("UPDATE meta SET value = 'ten' WHERE key = 'elapsed'", "table 'meta', row 'elapsed'"),
        ("UPDATE meta SET value = '1e999' WHERE key = 'elapsed'", "table 'meta', row 'elapsed'"),
        ("UPDATE meta SET value = '{}' WHERE key = 'passes'", "table 'meta', row 'passes'"),
        ("UPDATE meta SET value = '5.0' WHERE key = 'seed'", "table 'meta', row 'seed'"),
        ("UPDATE meta SET value = '1e3' WHERE key = 'started_at'", "table 'meta', row 'started_at'"),
        ("UPDATE meta SET value = '1e3' WHERE key = 'workers'", "table 'meta', row 'workers'"),
        (f"UPDATE meta SET value = '0.{'9' * 4990}' WHERE key = 'tvm_version'", "table 'meta', row 'tvm_version'"),
        ("UPDATE meta SET value = '0)[x](//y)' WHERE key = 'tvm_version'", "table 'meta', row 'tvm_version'"),
        ("UPDATE meta SET value = '../../../y' WHERE key = 'ffi_version'", "table 'meta', row 'ffi_version'"),
        ("INSERT INTO meta VALUES ('merged', '[]')", "table 'meta', row 'merged'"),
        ("INSERT INTO changed VALUES ('A', 1)", "table 'changed' has more of a pass than table 'judged'"),
        ("UPDATE changed SET count = 1 << 40", "table 'changed' has more of a pass than table 'judged'"),
        ("DELETE FROM meta WHERE key = 'seed'", "table 'meta', row 'seed' is missing"),
        ("DELETE FROM meta WHERE key = 'format'", "is not a campaign made by this version"),
        ("CREATE VIEW spare AS SELECT 1", "view 'spare' does not belong in a campaign"),
        (
            "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM meta; END",
            "trigger 't' does not belong in a campaign",
        ),
        ("CREATE VIRTUAL TABLE v USING fts5(a)", "'v' does not belong in a campaign"),
        ("ALTER TABLE findings ADD COLUMN more TEXT", "table 'findings' is not as expected"),
        ("ALTER TABLE findings DROP COLUMN assessment", "table 'findings' is not as expected"),
        ("DROP TABLE spent", "table 'spent' is missing"),
    ],
)
def test_what_no_campaign_holds_is_refused_in_one_line(campaign: Path, statement: str, said: str) -> None:
    change(campaign, statement)
    for read_only in (True, False):
        with pytest.raises(StoreError) as caught:
            Store.open(campaign, read_only=read_only)
        assert said in str(caught.value)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "column",
    [
        "assessment TEXT GENERATED ALWAYS AS (hex(zeroblob(1000)))",
        "assessment TEXT CHECK (length(assessment) > 0)",
        "assessment TEXT COLLATE nocase",
    ],
)
def test_a_schema_brings_nothing_that_is_run(campaign: Path, column: str) -> None:
    text = (
        "replace(replace(sql, char(10) || '    assessment TEXT', ' assessment TEXT'), ' assessment TEXT', ' " + column
    )
    change(campaign, "PRAGMA writable_schema = ON", f"UPDATE sqlite_master SET sql = {text}') WHERE name = 'findings'")
    with pytest.raises(StoreError, match="table 'findings' is not as expected"):
        Store.open(campaign)


def test_the_format_is_read_from_a_table_that_runs_nothing(campaign: Path) -> None:
    text = "replace(sql, 'value TEXT NOT NULL', 'value TEXT GENERATED ALWAYS AS (zeroblob(1))')"
    change(campaign, "PRAGMA writable_schema = ON", f"UPDATE sqlite_master SET sql = {text} WHERE name = 'meta'")
    with pytest.raises(StoreError, match="is not a campaign made by this version"):
        Store.open(campaign)


def test_a_view_in_place_of_a_table_is_not_run(campaign: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT 'format' AS key, i AS value FROM n"
    change(campaign, "DROP TABLE meta", f"CREATE VIEW meta AS {endless}")
    with pytest.raises(StoreError, match="is not a campaign made by this version"):
        Store.open(campaign)


def test_a_trigger_with_the_name_of_a_table_is_found(campaign: Path) -> None:
    """It would run when a row is written, and what it writes would be sealed with the user's key."""
    with closing(sqlite3.connect(campaign / FILE_NAME)) as database, database:
        ((text,),) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'costs'").fetchall()
    trigger = "CREATE TRIGGER costs AFTER INSERT ON findings BEGIN DELETE FROM meta; END"
    change(campaign, "DROP TABLE costs", trigger, text)
    with pytest.raises(StoreError, match="trigger 'costs' does not belong in a campaign"):
        Store.open(campaign)


@pytest.mark.parametrize("field", ["source", "id", "state"])
def test_a_regression_is_what_its_body_says(campaign: Path, field: str) -> None:
    with Store.open(campaign, read_only=False) as store:
        store.save_regression(Earlier("old", "0123456789", "", "crash", "FuseOps", "", EarlierState.FAILS))
    Store.open(campaign).close()
    change(campaign, f"UPDATE regressions SET {field} = 'fixed'")
    with pytest.raises(StoreError, match=f"table 'regressions', row 1, field '{field}': Expected"):
        Store.open(campaign)


def test_a_busy_machine_is_waited_for(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def passing(clock: str, seconds: float) -> None:
        passed = itertools.count()
        monkeypatch.setattr(time, clock, lambda: next(passed) * seconds)

    monkeypatch.setattr(door, "_STEPS", 10)
    passing("thread_time", 0)
    passing("monotonic", 0.1)
    Store.open(campaign).close()
    assert time.monotonic() > 6, "too few looks at the clock"
    for clock in ("monotonic", "thread_time"):
        passing(clock, 50)
        with pytest.raises(StoreError, match="takes too long"):
            Store.open(campaign)
        passing(clock, 0)


def test_reading_has_a_limit(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MOST_ROWS", 1)
    change(campaign, "INSERT INTO spent VALUES ('a', 'b', 1), ('c', 'd', 1)")
    with pytest.raises(StoreError, match=r"has more than 1 rows"):
        Store.open(campaign)
    monkeypatch.setattr(door, "MOST_PASSES", 0)
    monkeypatch.setattr(door, "MOST_ROWS", 99)
    with monkeypatch.context() as patch:
        patch.setattr(door, "MOST_TALLIES", 0)
        with pytest.raises(StoreError, match=r"table 'tallies' has more than 0 rows"):
            Store.open(campaign)
        patch.undo()
        for limit, table in (("MOST_NAMES", "features"), ("MOST_MOMENTS", "growth")):
            with monkeypatch.context() as tight:
                tight.setattr(door, limit, 0)
                with pytest.raises(StoreError, match=f"table '{table}' has more than 0 rows"):
                    Store.open(campaign)
    with monkeypatch.context() as patch:
        patch.setattr(door, "MOST_PASSES", 9)
        patch.setattr(door, "MOST_FINDINGS", 0)
        with pytest.raises(StoreError, match="table 'findings' has 1 findings, at most 0"):
            Store.open(campaign)
    with pytest.raises(StoreError, match=r"table 'tallies' has more than 0 passes"):
        Store.open(campaign)
    with monkeypatch.context() as patch:
        patch.setattr(door, "MOST_ROWS_IN_ALL", 9)
        patch.setattr(door, "MOST_PASSES", 9)
        with pytest.raises(StoreError, match=r"more than 9 rows in all tables"):
            Store.open(campaign)
    monkeypatch.setattr(door, "MOST_PASSES", 5)
    for number in range(6):
        change(campaign, f"INSERT INTO judged VALUES ('{number}', 1)")
    with pytest.raises(StoreError, match=r"table 'judged' has more than 5 passes"):
        Store.open(campaign)
    change(campaign, "UPDATE findings SET note = char(0) || replace(hex(zeroblob(2000)), '0', 'a')")
    monkeypatch.setattr(door, "MOST_TEXT", 4_000)
    with pytest.raises(StoreError, match=r"table 'findings' contains 0 MiB of text"):
        Store.open(campaign)
    monkeypatch.setattr(door, "_SECONDS", -1e9)
    monkeypatch.setattr(door, "_STEPS", 1)
    with pytest.raises(StoreError, match="takes too long"):
        Store.open(campaign)
    monkeypatch.setattr(door, "MOST_BYTES", 1)
    with pytest.raises(StoreError, match="is too large"):
        Store.open(campaign)


def test_only_blanks_of_ascii_are_blanks_of_a_schema(campaign: Path) -> None:
    with closing(sqlite3.connect(campaign / FILE_NAME)) as database, database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', 'NOT\u00a0NULL') WHERE name = 'shards'"
        )
    with pytest.raises(StoreError, match="table 'shards' is not as expected"):
        Store.open(campaign)


def test_the_memory_that_a_file_asks_for_is_not_given(campaign: Path) -> None:
    change(campaign, "PRAGMA default_cache_size = 2000000")
    with closing(door.enter(campaign)) as connection:
        assert connection.execute("PRAGMA cache_size").fetchone()[0] == CACHE


def test_texts_count_as_much_as_they_take_in_memory(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MOST_TEXT", 40_000)
    change(campaign, "UPDATE findings SET note = replace(hex(zeroblob(8000)), '0', 'a')")
    Store.open(campaign).close()
    change(campaign, "UPDATE findings SET note = note || char(128165)")  # one wide character widens all others
    with pytest.raises(StoreError, match=r"table 'findings' contains 0 MiB of text"):
        Store.open(campaign)


def _link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize("make", [_link, os.mkfifo, Path.mkdir])
@pytest.mark.parametrize("name", [FILE_NAME, f"{FILE_NAME}-wal", "campaign.lock", "workers.log"])
def test_no_file_of_another_kind_is_opened(campaign: Path, name: str, make: Callable[[Path], None]) -> None:
    (campaign / name).unlink(missing_ok=True)
    make(campaign / name)
    with pytest.raises(StoreError, match="is not a regular file"):
        Store.open(campaign, read_only=False)


@pytest.mark.parametrize("make", [lambda path: path.hardlink_to(path.parent.with_name("other")), os.mkfifo])
def test_no_campaign_is_begun_beside_a_lock_with_which_it_could_not_be_opened(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "other").write_text("mine")
    (directory := tmp_path / "new").mkdir()
    make(directory / "campaign.lock")
    with pytest.raises(StoreError, match=r"campaign\.lock' is not a regular file, or has hard links"):
        Store.create(directory, META)
    assert not (directory / FILE_NAME).exists()


ODD = "x\x1b[31m\n::error::here"


@pytest.mark.parametrize(
    "command",
    [
        "report DIR --html DIR/page",
        "merge DIR --out DIR/joined",
        "triage known {id} --reason known --campaign DIR --file DIR/findings.toml",
        "triage merge F012345678 F123456789 --reason same --file DIR/decisions.toml",
    ],
)
def test_a_name_of_a_directory_is_printed_as_text(
    campaign: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    there = campaign.rename(campaign.with_name(ODD))
    with Store.open(there) as store:
        (finding,) = store.findings()
    arguments = command.format(id=finding.id).split()
    assert main([each.replace("DIR", str(there)) for each in arguments]) == 0
    said = "".join(capfd.readouterr())
    assert "here" in said
    assert "\x1b[31m" not in said
    assert not [line for line in said.splitlines() if line.startswith("::")]


def test_an_index_that_differs_from_its_table_is_damage(campaign: Path) -> None:
    """Findings are looked up by it: it could give another finding's script for an id."""
    with Store.open(campaign, read_only=False) as store:
        store.record_shard(shard(1, hit("Check failed: bang", 5, 2)), 2.5)
        one, two = (each.id for each in store.findings())
    change(campaign, "PRAGMA journal_mode = DELETE")
    with closing(sqlite3.connect(campaign / FILE_NAME)) as database:
        size, root = (
            database.execute(query).fetchone()[0]
            for query in ("PRAGMA page_size", "SELECT rootpage FROM sqlite_master WHERE name LIKE 'sqlite_autoindex%'")
        )
    data = (campaign / FILE_NAME).read_bytes()
    page = data[(root - 1) * size : root * size]
    swapped = page.replace(one.encode(), b"x" * 10).replace(two.encode(), one.encode()).replace(b"x" * 10, two.encode())
    assert swapped != page
    (campaign / FILE_NAME).write_bytes(data.replace(page, swapped))
    with pytest.raises(
        StoreError, match=r"is damaged: .* cannot be read or resumed; delete its directory .*\(row 1 mi"
    ):
        Store.open(campaign)


@pytest.mark.parametrize("kept", [0, 100, 8192])
def test_a_file_that_was_cut_off_says_what_to_do(campaign: Path, kept: int) -> None:
    """An empty one was said to be of another version."""
    change(campaign, "PRAGMA journal_mode = DELETE")
    (campaign / FILE_NAME).write_bytes((campaign / FILE_NAME).read_bytes()[:kept])
    with pytest.raises(StoreError, match="delete its directory and run it again") as caught:
        Store.open(campaign)
    assert "\n" not in str(caught.value)
    assert ("it is empty" in str(caught.value)) is (kept == 0)


def test_the_log_of_a_campaign_that_was_killed_is_read(campaign: Path, tmp_path: Path) -> None:
    """Or the campaign is refused: it would look as if it had found nothing."""
    with closing(sqlite3.connect(campaign / FILE_NAME, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE findings SET note = 'from the log'")
        copy = Path(shutil.copytree(campaign, tmp_path / "copy"))
    assert (copy / f"{FILE_NAME}-wal").stat().st_size > 0
    with Store.open(copy) as store:
        assert [each.note for each in store.findings()] == ["from the log"]


def test_reading_leaves_nothing_behind_unless_the_campaign_runs(campaign: Path) -> None:
    before = {each.name for each in campaign.iterdir()}
    assert not any(name.startswith(f"{FILE_NAME}-") for name in before)
    for _ in range(2):
        with Store.open(campaign) as store:
            assert store.findings()
    assert {each.name for each in campaign.iterdir()} == before
    with Store.open(campaign, read_only=False) as writer:
        writer.set_meta(state="running")
        with Store.open(campaign) as store:
            writer.set_meta(budget="seen by who reads it meanwhile")
            assert store.meta()["budget"] == "seen by who reads it meanwhile"


def test_a_journal_is_none_of_ours(campaign: Path) -> None:
    (campaign / f"{FILE_NAME}-journal").write_bytes(b"x")
    with pytest.raises(StoreError, match="is not part of a campaign"):
        Store.open(campaign)


@pytest.mark.parametrize("where", ["file", "directory", "pipe", "large"])
def test_a_script_is_a_file_of_the_campaign(campaign: Path, tmp_path: Path, where: str) -> None:
    (script,) = (campaign / "repros").iterdir()
    name = f"repros/{script.name}"
    assert "BUG" in door.read_script(campaign, name)
    script.unlink()
    if where == "file":
        script.symlink_to("/etc/hostname")
    elif where == "pipe":
        os.mkfifo(script)
    elif where == "large":
        script.write_text("x" * (1 << 20))
    else:
        shutil.rmtree(campaign / "repros")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / script.name).write_text("secret")
        (campaign / "repros").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="repros/"):
        door.read_script(campaign, name, 1000)


@pytest.mark.parametrize("seed", ORDINARY)
def test_the_seeds_of_plain_inputs_are_let_in(campaign: Path, seed: int) -> None:
    """The minimizer tries them, and they are below 0."""
    small = json.dumps({**json.loads(CASE), "input_seed": seed})
    change(campaign, f"UPDATE findings SET minimized_json = '{small}'")
    with Store.open(campaign) as store:
        (found,) = store.findings()
    assert found.minimized is not None
    assert found.minimized.input_seed == seed


def test_names_that_are_no_text_are_told_of(campaign: Path) -> None:
    path = campaign / FILE_NAME
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    data = path.read_bytes()
    assert b"CREATE TABLE spent" in data
    path.write_bytes(
        data.replace(b"TABLE spent", b"T\xde\xde\xdeE spent").replace(b"spentspent", b"sp\xde\xdetsp\xde\xdet")
    )
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(campaign)


def test_reading_waits_five_seconds_for_a_lock(campaign: Path) -> None:
    with closing(door.enter(campaign)) as connection:
        assert connection.execute("PRAGMA busy_timeout").fetchone()[0] == 5_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", ["findings DIR", "report DIR", "ops --campaign DIR", "merge DIR --out OUT", "run --regress DIR --out OUT"]
)
def test_a_campaign_that_somebody_keeps_locked_is_refused(
    campaign: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"DIR": str(campaign), "OUT": str(campaign.with_name("out"))}
    with closing(sqlite3.connect(campaign / FILE_NAME, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        assert main([names.get(word, word) for word in verb.split()]) == 2
        assert time.monotonic() - begun < 20, "what wants to write waits for half a minute"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("database is locked")
