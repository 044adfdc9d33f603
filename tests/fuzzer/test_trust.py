"""Code that a campaign from elsewhere holds runs when the user says so, and never unasked."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from sample_records import META, hit, shard

from fuzzer.campaign.regression import gather
from fuzzer.campaign.setup import open_campaign
from fuzzer.cli.main import main
from fuzzer.core.config import Config
from fuzzer.core.installed import Versions
from fuzzer.store import trust
from fuzzer.store.merge import merge
from fuzzer.store.records import FindingState
from fuzzer.store.trust import made_here, require_trust
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from relaxkit.passes.contract import OracleName
from relaxkit.passes.plugins import VARIABLE


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def campaign(directory: Path, seed: int = 7) -> Path:
    """A campaign with a finding whose script leaves a file beside the campaign."""
    with Store.create(directory, {**META, "seed": str(seed)}) as store:
        (name,) = store.record_shard(shard(0, hit("Check failed: boom", 5, 2)), 1.5)
        store.save_triage(name, FindingState.CONFIRMED, None, None, f"repros/{name}.py", "")
    (directory / "repros").mkdir()
    touch = f"open({str(directory.parent / 'ran')!r}, 'w')"
    (directory / f"repros/{name}.py").write_text(f"{touch}\nprint('BUG: boom')\nraise SystemExit(1)\n")
    return directory


def is_own(directory: Path) -> bool:
    with Store.open(directory) as store:
        return made_here(store)


def test_a_campaign_is_known_where_it_was_made_and_its_copy_nowhere(tmp_path: Path, cache: Path) -> None:
    own = campaign(tmp_path / "own")
    assert is_own(own)
    moved = own.rename(tmp_path / "moved")
    assert is_own(moved)
    assert not is_own(Path(shutil.copytree(moved, tmp_path / "copy")))
    key = cache / "relaxfuzz-key"
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    assert not is_own(moved), "who else can read the key can make the seal"
    key.chmod(0o600)
    with closing(sqlite3.connect(moved / FILE_NAME)) as database, database:
        database.execute("UPDATE meta SET value = 'deadbeef' WHERE key = 'seal'")
    assert not is_own(moved)


def test_it_is_known_on_its_own_file_system_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another one a file can be given the same number."""
    own = campaign(tmp_path / "own")
    system = os.statvfs(own / FILE_NAME).f_fsid
    for answer in (system + 1, 0):
        monkeypatch.setattr(trust.os, "statvfs", lambda _, answer=answer: SimpleNamespace(f_fsid=answer))
        assert not is_own(own)
    assert is_own(campaign(tmp_path / "without")), "a file system may have no id"


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


def test_what_is_joined_is_own_when_all_of_it_was(tmp_path: Path) -> None:
    one, two = campaign(tmp_path / "one", 1), campaign(tmp_path / "two", 2)
    copy = Path(shutil.copytree(two, tmp_path / "copy"))
    merge([one, two], tmp_path / "both")
    merge([one, copy], tmp_path / "mixed")
    merge([copy], tmp_path / "alone")
    assert [is_own(tmp_path / name) for name in ("both", "mixed", "alone")] == [True, False, False]


@pytest.mark.parametrize(
    "arguments",
    [
        ["repro", "DIR", "ID", "--check"], ["repro", "DIR", "ID", "--fresh"], ["bisect", "DIR", "--versions", "none"],
        ["bisect", "DIR", "ID"], ["minimize", "DIR", "ID"], ["corpus", "add", "DIR", "ID", "--title", "a",
        "--explanation", "b"], ["run", "--regress", "DIR", "--out", "OUT", "--max-examples", "1"],
    ],
)  # fmt: skip
def test_nothing_of_it_runs_unasked(
    tmp_path: Path, arguments: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(campaign(tmp_path / "own"), tmp_path / "copy"))
    (script,) = (copy / "repros").iterdir()
    names = {"DIR": str(copy), "ID": script.stem, "OUT": str(tmp_path / "out")}
    before = sorted(os.listdir(copy))
    assert main([names.get(each, each) for each in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "use --trust" in line
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "out").exists()
    assert [name for name in sorted(os.listdir(copy)) if "sqlite" not in name and "lock" not in name] == [
        name for name in before if "sqlite" not in name and "lock" not in name
    ]


def test_a_campaign_from_elsewhere_is_not_resumed_unasked(tmp_path: Path) -> None:
    config, here = Config(7, ("FuseOps",), (), (OracleName.CRASH,), 5, None, 1), Versions("0.27.0", "0.1.14")
    with open_campaign(tmp_path / "own", config, here).store:
        pass
    copy = Path(shutil.copytree(tmp_path / "own", tmp_path / "copy"))
    (copy / "campaign.lock").unlink()
    with closing(sqlite3.connect(copy / FILE_NAME)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    before = (copy / FILE_NAME).read_bytes(), os.listdir(copy)
    with open_campaign(tmp_path / "own", config, here).store:
        pass
    with pytest.raises(StoreError, match="use --trust"):
        open_campaign(copy, config, here)
    assert ((copy / FILE_NAME).read_bytes(), os.listdir(copy)) == before
    with open_campaign(copy, config, here, trust=True).store as store:
        assert store.info().seed == 7


def test_the_user_may_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = campaign(tmp_path / "own")
    copy = Path(shutil.copytree(own, tmp_path / "copy"))
    (script,) = (copy / "repros").iterdir()
    assert main(["repro", str(own), script.stem, "--check"]) == 1
    (tmp_path / "ran").unlink()
    assert main(["repro", str(copy), script.stem]) == 0, "to read it is to run nothing"
    assert not (tmp_path / "ran").exists()
    assert main(["repro", str(copy), script.stem, "--check", "--trust"]) == 1
    assert (tmp_path / "ran").exists()
    with pytest.raises(StoreError, match="use --trust"):
        gather([copy])
    assert [each.id for each in gather([copy], trust=True)] == [script.stem]


def test_plugins_are_loaded_after_trust_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    config = Config(7, ("FuseOps",), (), (), 5, None, 1, plugins=(str(tmp_path / "evil.py"),)).to_json()
    Store.create(tmp_path / "own", {**META, "config": config}).close()
    copy = Path(shutil.copytree(tmp_path / "own", tmp_path / "copy"))
    with Store.open(copy) as store:
        with pytest.raises(StoreError):
            require_trust(store, False)
        assert os.environ[VARIABLE] == ""
        require_trust(store, True)
        assert os.environ[VARIABLE] == str(tmp_path / "evil.py")


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
