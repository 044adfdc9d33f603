"""Environments of releases are made once, under a lock, and what goes wrong is said in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_python import FakePython, script

from fuzzer.bisect.environments import MARK, Build, default_cache, in_order, own_build, release_build, releases_of
from fuzzer.core.installed import EnvironmentFault
from relaxkit.compat.known import RELEASES, Release, known
from relaxkit.runtime.compile.diskcache import default_directory

OLD = RELEASES[-1]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePython:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    return FakePython(tmp_path / "fake", monkeypatch)


def made(cache: Path, release: Release = OLD) -> Build:
    return release_build(release, cache, lambda _: None)


def folder(cache: Path) -> Path:
    (found,) = (path for path in cache.iterdir() if path.is_dir())
    return found


def test_made_once_with_the_ffi_that_fits_then_kept(tmp_path: Path, fake: FakePython) -> None:
    said: list[str] = []
    first = release_build(OLD, tmp_path / "a" / "cache", said.append)
    second = release_build(OLD, tmp_path / "a" / "cache", said.append)
    assert first == second
    assert (first.label, first.tvm, first.ffi) == (OLD.tvm, OLD.tvm, "0.1.12")
    assert fake.did("venv") == fake.did("pip") == len(said) == 1
    assert f"apache-tvm=={OLD.tvm} apache-tvm-ffi{OLD.pin} numpy PYTHONPATH=" in fake.log[1]
    assert "/nowhere" not in fake.log[1]
    assert "PYTHONPATH" not in first.environment
    assert first.python.is_file()


def test_each_release_has_its_own(tmp_path: Path, fake: FakePython) -> None:
    builds = [made(tmp_path / "cache", release) for release in RELEASES]
    assert len({build.python for build in builds}) == len(RELEASES) == fake.did("venv")
    assert in_order(builds) == builds[::-1]


@pytest.mark.parametrize("harm", ["unmarked", "no interpreter", "another version"])
def test_what_is_half_made_or_broken_is_made_again(tmp_path: Path, fake: FakePython, harm: str) -> None:
    cache = tmp_path / "cache"
    made(cache)
    place = folder(cache)
    (place / "left-over").touch()
    if harm == "unmarked":
        (place / MARK).unlink()
    elif harm == "no interpreter":
        (place / "bin" / "python").unlink()
    else:
        (place / "bin" / "version").write_text("0.24.0")
    assert made(cache).tvm == OLD.tvm
    assert fake.did("venv") == 2
    assert not (place / "left-over").exists()
    assert json.loads((place / MARK).read_text())["tvm"] == OLD.tvm


def test_of_two_at_once_one_makes_it_and_the_other_waits(tmp_path: Path, fake: FakePython) -> None:
    said: list[str] = []
    builds: list[Build] = []
    threads = [
        threading.Thread(target=lambda: builds.append(release_build(OLD, tmp_path / "cache", said.append)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builds[0] == builds[1]
    assert fake.did("venv") == 1
    assert sorted(line.partition(": ")[2].partition(" ")[0] for line in said) == ["creating", "waiting"]


OFFLINE = """WARNING: Retrying after connection broken by 'NewConnectionError(': Failed to establish a new connection')'
ERROR: Could not find a version that satisfies the requirement apache-tvm==0.25.0 (from versions: none)
ERROR: No matching distribution found for apache-tvm==0.25.0
"""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pip-says", OFFLINE, ("pip: Could not find a version that satisfies the requirement apache-tvm==0.25.0 "
         "(from versions: none) (no network?)")),
        ("pip-says", "Exception:\nOSError: No space left on device\n", "pip: OSError: No space left on device"),
        ("pip-says", "", "pip: exit code 1"),
        ("venv-says", "not created successfully because ensurepip is not\navailable.\n",
         "venv: this Python has no ensurepip (Debian and Ubuntu: install python3-venv)"),
        ("installs", "0.24.0", "pip installed TVM 0.24.0"),
    ],
)  # fmt: skip
def test_what_fails_is_said_in_one_line_and_can_be_mended(
    tmp_path: Path, fake: FakePython, name: str, text: str, said: str
) -> None:
    fake.says(name, text)
    with pytest.raises(EnvironmentFault) as caught:
        made(tmp_path / "cache")
    assert str(caught.value) == f"cannot create the environment of TVM {OLD.tvm}: {said}"
    fake.mends(name)
    assert made(tmp_path / "cache").tvm == OLD.tvm


def test_a_python_that_is_gone(tmp_path: Path, fake: FakePython) -> None:
    (fake.home / "python").unlink()
    with pytest.raises(EnvironmentFault, match=r"^cannot create the environment of TVM .*: venv: No such file"):
        made(tmp_path / "cache")


def test_a_cache_that_cannot_be_used(tmp_path: Path, fake: FakePython) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFault, match=r"^cannot use '.*file/cache' for environments: Not a directory$"):
        made(tmp_path / "file" / "cache")
    assert not fake.log


def test_a_build_of_the_users(tmp_path: Path, fake: FakePython, monkeypatch: pytest.MonkeyPatch) -> None:
    python = fake.build(tmp_path / "mine", "0.28.dev3")
    build = own_build(python)
    assert (build.label, build.tvm, build.python) == (f"0.28.dev3 ({python})", "0.28.dev3", python)
    assert build.environment["PYTHONPATH"] == "/nowhere"  # a build from source may be found by it
    monkeypatch.chdir(tmp_path)
    assert own_build(Path("mine/python")).python == python, "wherever it runs"
    same = own_build(fake.build(tmp_path / "patched", OLD.tvm))
    assert [each.tvm for each in in_order([build, same, made(tmp_path / "cache")])] == [OLD.tvm, OLD.tvm, "0.28.dev3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is not a working Python interpreter"),
        ("echo \"ModuleNotFoundError: No module named 'tvm'\" >&2; exit 1",
         "has no working TVM: ModuleNotFoundError: No module named 'tvm'"),
        ("exit 3", "has no working TVM: it exited with 3"),
        ("echo hello", "has no working TVM: it exited with 0"),
        ("kill -SEGV $$", "has no working TVM: importing it was killed by SIGSEGV: TVM and ffi do not match"),
    ],
)  # fmt: skip
def test_a_build_that_does_not_work(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "python"
    if text is not None:
        script(path, f"#!/bin/sh\n{text}\n")
    with pytest.raises(EnvironmentFault) as caught:
        own_build(path)
    assert str(caught.value) == f"'{path}' {said}"


def test_releases_are_taken_from_the_table_the_oldest_first() -> None:
    assert [each.tvm for each in releases_of("0.27.0.post1, 0.25.0,0.25.0,")] == ["0.25.0", "0.27.0.post1"]
    assert releases_of(",".join(each.tvm for each in RELEASES)) == RELEASES[::-1]
    with pytest.raises(EnvironmentFault, match=r"TVM '0\.24\.0': .* known for 0\.25\.0, .*--python"):
        releases_of("0.25.0,0.24.0")
    with pytest.raises(EnvironmentFault, match="names no release"):
        releases_of(" , ")
    assert known("0.25.0") is OLD


def test_environments_are_not_within_the_cache_that_is_swept() -> None:
    assert default_directory() not in (default_cache(), *default_cache().parents)


def test_neither_a_script_nor_an_environment_waits_for_tvm() -> None:
    code = (
        "import sys, fuzzer.cli.verbs.bisect, fuzzer.bisect.bisect, fuzzer.core.config\n"
        "import fuzzer.bisect.environments, fuzzer.repro.run\n"
        "sys.exit('tvm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_lock_of_an_environment_is_no_link(tmp_path: Path, fake: FakePython) -> None:
    """Whoever may write into the cache could else have a file of the user's emptied."""
    cache, mine = tmp_path / "cache", tmp_path / "mine"
    made(cache)
    place = folder(cache)
    mine.write_text("mine")
    (place / MARK).unlink()
    lock = cache / f"{place.name}.lock"
    lock.unlink()
    lock.symlink_to(mine)
    with pytest.raises(EnvironmentFault, match="cannot use"):
        made(cache)
    assert mine.read_text() == "mine"
