"""Code that a campaign from elsewhere holds runs when the user says so, and never unasked."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sample_records import hit, shard

from fuzzer.campaign.regression import gather, replay
from fuzzer.campaign.setup import configure, open_campaign
from fuzzer.cli.main import main
from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.core.installed import Versions, installed
from fuzzer.findings.releases import Bisected
from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.store.door import COLUMNS
from fuzzer.store.merge import merge
from fuzzer.store.records import Earlier, EarlierState, FindingState
from fuzzer.store.trust import Sealer, foreign, require_trust
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plugins import VARIABLE

BOOM = "Check failed: boom"
PARTS = ScriptParts("", False, Words("FuseOps dies", "it lives", "it does not"))
RESUMED = ("--passes", "FuseOps", "--oracles", "crash", "--max-examples", "1")
VERBS: Sequence[Sequence[str]] = (
    ("repro", "DIR", "ID", "--check"), ("repro", "DIR", "ID", "--fresh"), ("repro", "DIR", "ID", "--full"),
    ("bisect", "DIR", "--versions", "none"), ("bisect", "DIR", "ID"), ("minimize", "DIR", "ID"),
    ("corpus", "add", "DIR", "ID", "--title", "a", "--explanation", "b"),
    ("run", "--regress", "DIR", "--out", "OUT", *RESUMED), ("run", "--out", "DIR", "--seed", "7", *RESUMED),
)  # fmt: skip
OF_SCRIPTS = (VERBS[0], VERBS[3], VERBS[4], VERBS[7])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@contextmanager
def another_user(tmp_path: Path) -> Iterator[None]:
    """Has another key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / "their-cache"))
        yield


def case(expression: str = "relax.transform.FuseOps()", module: str = "{}") -> Case:
    return Case(module, (PassRef("FuseOps", expression),), 3)


def campaign(directory: Path, seed: int = 7, module: str = "{}") -> Path:
    """A campaign with a finding whose script leaves a file beside the campaign, and with an earlier finding."""
    config = configure({"passes": "FuseOps", "oracles": "crash", "max-examples": "1", "seed": str(seed)})
    with open_campaign(directory, config, installed()).store as store:
        (name,) = store.record_shard(shard(0, hit(BOOM, 5, 2, module)), 1.5)
        (directory / "repros").mkdir()
        touch = f"open({str(directory.parent / 'ran')!r}, 'w')"
        (directory / f"repros/{name}.py").write_text(f"{touch}\nprint('BUG: boom')\nraise SystemExit(1)\n")
        small = case(module=module)
        store.save_triage(name, FindingState.CONFIRMED, small, 1, f"repros/{name}.py", "", parts=PARTS)
        told = Earlier("older", "0123456789", "", "crash", "FuseOps", "", EarlierState.FAILS, cases=(small,))
        store.save_regression(told)
    return directory


def id_of(directory: Path) -> str:
    with Store.open(directory) as store:
        return store.findings()[0].id


def change(directory: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(directory / FILE_NAME)) as database, database:
        assert database.execute(statement, values).rowcount == 1


def is_own(directory: Path) -> bool:
    with Store.open(directory) as store:
        return not foreign(store)


def test_a_campaign_is_known_wherever_it_lies(tmp_path: Path, cache: Path) -> None:
    own = campaign(tmp_path / "own")
    assert is_own(own)
    moved = own.rename(tmp_path / "moved")
    assert is_own(moved)
    assert is_own(Path(shutil.copytree(moved, tmp_path / "copy"))), "each row of it is the user's"
    with another_user(tmp_path):
        assert not is_own(moved)
    key = cache / "relaxfuzz-key"
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    assert not is_own(moved), "who else can read the key can make the seal"
    key.chmod(0o600)
    change(moved, "UPDATE meta SET value = 'deadbeef' WHERE key = 'seal'")
    assert not is_own(moved)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["", FILE_NAME])
def test_what_belongs_to_another_user_is_foreign(tmp_path: Path, name: str) -> None:
    own = campaign(tmp_path / "own")
    os.chown(own / name, 65534, 65534)
    assert not is_own(own)


def test_a_key_that_is_a_link_is_none(tmp_path: Path, cache: Path) -> None:
    own = campaign(tmp_path / "own")
    (cache / "relaxfuzz-key").rename(tmp_path / "key")
    (cache / "relaxfuzz-key").symlink_to(tmp_path / "key")
    assert not is_own(own)
    assert not is_own(campaign(tmp_path / "without")), "without a key nothing is sealed"


def test_what_is_joined_is_own_when_all_of_it_was(tmp_path: Path) -> None:
    one, two, changed = (campaign(tmp_path / name, seed) for seed, name in enumerate(("one", "two", "changed")))
    change(changed, "UPDATE findings SET minimized_json = ?", case("evil()").to_json())
    with another_user(tmp_path):
        theirs = campaign(tmp_path / "theirs", 8)
    for name, parts in {"both": [one, two], "mixed": [one, theirs], "alone": [changed], "two": [one, changed]}.items():
        merge(parts, tmp_path / f"out-{name}")
    assert [is_own(tmp_path / f"out-{name}") for name in ("both", "mixed", "alone", "two")] == [True] + 3 * [False]


def _of_another_campaign(own: Path) -> str:
    """The whole row of the same finding of another campaign of the user's, with its seal."""
    other = campaign(own.parent / "other", 8, module='{"other": 1}')
    columns = ", ".join(f"{name} = ?" for name in COLUMNS["findings"])
    with closing(sqlite3.connect(other / FILE_NAME)) as database:
        row = database.execute(f"SELECT {', '.join(COLUMNS['findings'])} FROM findings").fetchone()
    change(own, f"UPDATE findings SET {columns}", *row)
    return "table 'findings', row 'ID', field 'seal'"


def _another_id(own: Path) -> str:
    """The row as it is, with its seal, as another finding's."""
    (own / "repros").rename(own / "were")
    change(own, "UPDATE findings SET id = 'aaaaaaaaaa', repro = 'repros/aaaaaaaaaa.py'")
    return "table 'findings', row 'aaaaaaaaaa', field 'seal'"


def _plugin(own: Path) -> str:
    with Store.open(own) as store:
        config = json.loads(store.meta()["config"])
    change(own, "UPDATE meta SET value = ? WHERE key = 'config'", json.dumps({**config, "plugins": ["evil.py"]}))
    return "table 'meta', row 'seal', field 'value'"


def _earlier_case(own: Path) -> str:
    with Store.open(own) as store:
        (earlier,) = store.regressions()
    with Store.open(own, read_only=False) as store:
        store.sealer = Sealer(b"theirs")
        store.save_regression(replace(earlier, cases=(case("evil()"),)))
    return "table 'regressions', row '0123456789', field 'seal'"


def _set(column: str, value: str | None) -> Callable[[Path], str]:
    def attack(own: Path) -> str:
        change(own, f"UPDATE findings SET {column} = ?", value)
        return "table 'findings', row 'ID', field 'seal'"

    return attack


ATTACKS = {
    "case": _set("case_json", case("evil()").to_json()),
    "minimized": _set("minimized_json", case("evil()").to_json()),
    "unsealed": _set("seal", ""),
    "of another campaign": _of_another_campaign,
    "another id": _another_id,
    "configuration": _plugin,
    "earlier case": _earlier_case,
}


def refused(arguments: Sequence[str], own: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a verb over a campaign, and return the line in which it refuses."""
    names = {"DIR": str(own), "ID": id_of(own), "OUT": str(own.parent / "out")}
    before = sorted(os.listdir(own))
    assert main([names.get(each, each) for each in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "use --trust" in line
    assert not (own.parent / "ran").exists()
    assert not (own.parent / "out").exists()
    assert [name for name in sorted(os.listdir(own)) if "sqlite" not in name] == [
        name for name in before if "sqlite" not in name
    ]
    return line


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_nothing_of_what_was_changed_runs_unasked(
    tmp_path: Path, attack: Callable[[Path], str], capsys: pytest.CaptureFixture[str]
) -> None:
    own = campaign(tmp_path / "own")
    place = attack(own).replace("ID", id_of(own))
    for arguments in VERBS:
        assert place in refused(arguments, own, capsys), arguments


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_nothing_from_elsewhere_runs_unasked(
    tmp_path: Path, arguments: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with another_user(tmp_path):
        theirs = campaign(tmp_path / "theirs")
    assert "was made elsewhere" in refused(arguments, theirs, capsys)


@pytest.mark.parametrize("arguments", OF_SCRIPTS, ids=" ".join)
def test_a_script_is_the_one_that_was_recorded(
    tmp_path: Path, arguments: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    own = campaign(tmp_path / "own")
    (script,) = (own / "repros").iterdir()
    script.write_text(f"{script.read_text()}\n# of somebody else\n")
    assert is_own(own), "its rows are"
    assert f"table 'findings', row '{script.stem}', field 'parts'" in refused(arguments, own, capsys)


def test_every_column_is_sealed_but_what_nothing_is_run_of(tmp_path: Path) -> None:
    own = campaign(tmp_path / "own")
    change(own, "UPDATE findings SET count = 90, first_seen = 0.5, last_seen = 7")
    with Store.open(own, read_only=False) as store:
        store.save_bisection(store.findings()[0].id, Bisected("present in all", ()))
        store.set_meta(state="finished", elapsed="7", workers="1", budget="9 s")
    assert is_own(own)
    for table in ("findings", "regressions"):
        for name in COLUMNS[table].keys() - {"count", "first_seen", "last_seen", "bisected"}:
            copy = Path(shutil.copytree(own, tmp_path / f"{table}-{name}"))
            with closing(sqlite3.connect(copy / FILE_NAME)) as database, database:
                row = database.execute(f"SELECT {name} FROM {table}").fetchone()
                database.execute(f"UPDATE {table} SET {name} = ?", (7 if isinstance(row[0], int) else "7",))
                database.row_factory = sqlite3.Row
                found = dict(database.execute(f"SELECT * FROM {table}").fetchone())
            with Store.open(own) as store:
                assert Sealer.of(store.meta()).row(table, found) != found["seal"], (table, name)


def test_an_older_version_of_its_own_is_trusted(tmp_path: Path) -> None:
    own = campaign(tmp_path / "own")
    with Store.open(own) as store:
        (before,) = store.table("findings")
    with Store.open(own, read_only=False) as store:
        store.save_triage(before["id"], FindingState.FLAKY, None, None, None, "again")
    assert is_own(own)
    change(own, f"UPDATE findings SET {', '.join(f'{name} = ?' for name in before)}", *before.values())
    assert is_own(own)
    with Store.open(own) as store:
        assert store.table("findings") == [before]


def test_what_is_killed_in_the_middle_is_sealed_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = campaign(tmp_path / "own")
    name = id_of(own)

    def killed(*_: object) -> str:
        raise KeyboardInterrupt

    with Store.open(own, read_only=False) as store:
        before = store.rows()
        (earlier,) = store.regressions()
        with monkeypatch.context() as patch:
            patch.setattr(Sealer, "row", killed)
            for write in (
                lambda: store.record_shard(shard(1, hit("Check failed: bang", 5, 2)), 2.5),
                lambda: store.save_triage(name, FindingState.FLAKY, None, None, None, ""),
                lambda: store.save_regression(replace(earlier, note="again")),
            ):
                with pytest.raises(KeyboardInterrupt):
                    write()
        assert store.rows() == before
    assert is_own(own)
    with Store.open(own, read_only=False) as store:
        store.record_shard(shard(1, hit("Check failed: bang", 5, 2)), 2.5)
        store.save_best(store.untriaged()[0][1], case())
    assert is_own(own)


def test_what_is_written_beside_rows_of_others_is_not_sealed(tmp_path: Path) -> None:
    """Or they would be: an earlier case of a finding leaves the minimized one in its row."""
    with open_campaign(tmp_path / "own", configure({"passes": "FuseOps", "seed": "7"}), installed()).store as store:
        store.record_shard(shard(1, hit(BOOM, 5)), 1.5)
    change(tmp_path / "own", "UPDATE findings SET minimized_json = ?", case("evil()").to_json())
    with Store.open(tmp_path / "own", read_only=False) as store:  # as with --trust
        assert store.record_shard(shard(0, hit(BOOM, 3)), 2.5) == []
        assert store.findings()[0].minimized == case("evil()")
    assert not is_own(tmp_path / "own")


def test_a_campaign_from_elsewhere_is_not_resumed_unasked(tmp_path: Path) -> None:
    config, here = Config(7, ("FuseOps",), (), (OracleName.CRASH,), 5, None, 1), Versions("0.27.0", "0.1.14")
    with another_user(tmp_path), open_campaign(tmp_path / "theirs", config, here).store:
        pass
    theirs = tmp_path / "theirs"
    (theirs / "campaign.lock").unlink()
    with closing(sqlite3.connect(theirs / FILE_NAME)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    before = (theirs / FILE_NAME).read_bytes(), os.listdir(theirs)
    with another_user(tmp_path), Store.open(theirs) as store:
        require_trust(store, False)
    with pytest.raises(StoreError, match="use --trust"):
        open_campaign(theirs, config, here)
    assert ((theirs / FILE_NAME).read_bytes(), os.listdir(theirs)) == before
    with open_campaign(theirs, config, here, trust=True).store as store:
        assert store.info().seed == 7


def test_the_user_may_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = campaign(tmp_path / "own")
    copy = Path(shutil.copytree(own, tmp_path / "copy"))
    (script,) = (copy / "repros").iterdir()
    assert main(["repro", str(own), script.stem, "--check"]) == 1
    (tmp_path / "ran").unlink()
    script.write_text(f"{script.read_text()}\n# of somebody else\n")
    change(copy, "UPDATE findings SET minimized_json = ?", case("evil()").to_json())
    assert main(["repro", str(copy), script.stem]) == 0, "to read it is to run nothing"
    assert not (tmp_path / "ran").exists()
    assert main(["repro", str(copy), script.stem, "--check", "--trust"]) == 1
    assert (tmp_path / "ran").exists()
    with pytest.raises(StoreError, match="use --trust"):
        gather([copy])
    assert [each.id for each in gather([copy], trust=True)] == [script.stem, "0123456789"]


@pytest.mark.parametrize("trust", [False, True])
def test_a_script_is_run_again_as_it_was_when_the_user_trusted_it(tmp_path: Path, trust: bool) -> None:
    own = campaign(tmp_path / "own")
    (script,) = (own / "repros").iterdir()
    script.write_text(script.read_text() + "# of somebody else\n" * trust)
    (earlier,) = (replace(each, cases=()) for each in gather([own], trust=trust) if each.script)
    assert replay(earlier, IsolatedWorker) == (EarlierState.FAILS, "by its script")
    (tmp_path / "ran").unlink()
    script.write_text(f"{script.read_text()}# of somebody else, and later\n")
    state, note = replay(earlier, IsolatedWorker)
    assert (state, note) == (EarlierState.UNDECIDED, "no stored case; its script was changed after this campaign began")
    assert not (tmp_path / "ran").exists()


def test_what_was_trusted_once_is_not_trusted_ever_after(tmp_path: Path) -> None:
    """Its scripts lie where others can change them."""
    theirs = campaign(tmp_path / "theirs")
    change(theirs, "UPDATE findings SET minimized_json = ?", case("evil()").to_json())
    options = ["--seed", "8", "--passes", "FuseOps", "--oracles", "crash", "--max-examples", "1", "--workers", "1"]
    assert main(["run", "--out", str(tmp_path / "own"), *options, "--regress", "off"]) == 0
    assert is_own(tmp_path / "own")
    assert main(["run", "--out", str(tmp_path / "own"), *options, "--regress", str(theirs), "--trust"]) == 0
    assert not is_own(tmp_path / "own")


def test_trust_in_a_directory_is_none_in_scripts_elsewhere(tmp_path: Path) -> None:
    """Whoever looked into the directory has not seen them."""
    theirs, elsewhere = campaign(tmp_path / "theirs"), tmp_path / "elsewhere.py"
    elsewhere.write_text("raise SystemExit(1)\n")
    with Store.open(theirs, read_only=False) as store:
        (earlier,) = store.regressions()
        store.save_regression(replace(earlier, script=str(elsewhere)))
    within, outside = gather([theirs], trust=True)
    assert Path(within.script).is_file()
    assert (outside.id, outside.script) == ("0123456789", "")


def test_plugins_are_loaded_after_trust_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    config, here = Config(7, ("FuseOps",), (), (), 5, None, 1), Versions("0.27.0", "0.1.14")
    with another_user(tmp_path):
        open_campaign(tmp_path / "theirs", replace(config, plugins=(str(tmp_path / "evil.py"),)), here).store.close()
    with Store.open(tmp_path / "theirs") as store:
        with pytest.raises(StoreError):
            require_trust(store, False)
        assert os.environ[VARIABLE] == ""
        require_trust(store, True)
        assert os.environ[VARIABLE] == str(tmp_path / "evil.py")


def test_scripts_are_written_into_no_other_directory(tmp_path: Path) -> None:
    """A campaign whose rows are the user's may come with a link."""
    own = campaign(tmp_path / "own")
    (own / "repros").rename(tmp_path / "elsewhere")
    (own / "repros").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="repros' is a link"):
        Store.open(own)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot be told not to look there")
def test_no_process_imports_what_lies_in_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "campaign").mkdir()
    for name in ("socket", "selectors", "tvm", "fuzzer", "numpy", "pickle"):
        (tmp_path / f"campaign/{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit\n")
    program = (
        f"import sys; sys.path.append({str(Path(__file__).parent)!r})\n"
        "import victims; from fuzzer.worker.worker import IsolatedWorker\n"
        "if __name__ == '__main__':\n    with IsolatedWorker() as worker: print(worker.call(victims.double, 4))"
    )
    (tmp_path / "bin/program.py").write_text(program)  # as the command that pip installs
    command = [sys.executable, str(tmp_path / "bin/program.py")]
    done = subprocess.run(command, cwd=tmp_path / "campaign", capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "8\n", done.stderr
    assert not (tmp_path / "ran").exists()
