"""What lies in the working directory, which may be somebody's campaign, is neither imported nor linked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer.bisect import environments
from fuzzer.doctor.machine import Health, cxx
from relaxkit.coverage import breakpoints
from relaxkit.passes.pass_ref import PassRef, PassReferenceError, load_named, sources

CANARY = "import os\nos.close(os.open({!r}, os.O_CREAT))\nraise SystemExit(0)\n"


@pytest.fixture(autouse=True)
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "canary"
    for name in ("json.py", "venv.py", "pip.py", "helper.py"):
        (tmp_path / name).write_text(CANARY.format(str(place)))
    (tmp_path / "libgcc_s.so.1").write_text("no library")
    monkeypatch.chdir(tmp_path)
    return place


def test_versions_are_asked_without_what_lies_there(canary: Path) -> None:
    assert isinstance(environments._probe(Path(sys.executable), environments._undisturbed()), tuple)
    assert not canary.exists()


@pytest.mark.parametrize("module", ["venv", "pip"])
def test_environments_are_made_without_what_lies_there(canary: Path, module: str) -> None:
    done = environments._ran([sys.executable, "-m", module, "--help"], module, 60.0, environments._undisturbed())
    assert isinstance(done, subprocess.CompletedProcess)
    assert not canary.exists()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_linker_takes_nothing_that_lies_there() -> None:
    assert breakpoints._compiled(b"int answer(void) { return 42; }")
    assert shutil.which("c++") is None or cxx().health is Health.OK


def test_a_file_of_a_package_imports_relatively(tmp_path_factory: pytest.TempPathFactory) -> None:
    inner = tmp_path_factory.mktemp("project") / "outer_package" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").touch()
    (inner.parent / "helper.py").write_text("VALUE = 7\n")
    (inner / "own_pass.py").write_text("from ..helper import VALUE\n")
    target = f"{inner}/own_pass.py:VALUE"
    assert load_named(target) == 7
    assert PassRef("VALUE", f"user:{target}").factory == (f"{inner.parents[1]}/outer_package.inner.own_pass", "VALUE")
    assert {name for name, _ in sources(f"{inner}/own_pass.py")} >= {"outer_package/helper.py"}, "an edit is noticed"


@pytest.mark.parametrize("named", [True, False])
def test_a_module_in_the_working_directory_is_found_by_lines_and_scripts(tmp_path: Path, named: bool) -> None:
    """A campaign of such a pass ended with an internal error; scripts did not find a package without `__init__.py`."""
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "own_pass.py").write_text("def make():\n    return 7\n")
    if named:
        (tmp_path / "own_package" / "__init__.py").touch()
    code = "import sys; sys.path[:] = filter(None, sys.path)\n"
    code += "from fuzzer.shard.own_lines import OwnLines; from relaxkit.passes.pass_ref import PassRef\n"
    code += "ref = PassRef('make', 'user:own_package.own_pass:make'); OwnLines([ref]); print(*ref.factory)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == f"{tmp_path}/own_package.own_pass make\n", done.stderr


def test_a_pass_in_a_file_imports_from_beside_it(canary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    beside = tmp_path_factory.mktemp("beside")
    (beside / "helper.py").write_text("VALUE = 7\n")
    (beside / "own_pass.py").write_text("from helper import VALUE\n")
    code = "import sys; sys.path[:] = filter(None, sys.path)\n"
    code += "from relaxkit.passes.pass_ref import load_named; print(load_named(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, f"{beside}/own_pass.py:VALUE"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "7\n", done.stderr
    assert not canary.exists()


def test_a_file_that_imports_relatively_from_no_package_is_told_by_the_name_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    inner = tmp_path / "loose_package" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "values.py").write_text("VALUE = 7\n")
    for place in (inner / "own_pass.py", tmp_path / "alone.py"):
        place.write_text("from ..values import VALUE\n")
    with pytest.raises(
        PassReferenceError, match=r"known parent package; name it loose_package\.inner\.own_pass:VALUE$"
    ):
        load_named(f"{inner}/own_pass.py:VALUE")
    assert load_named("loose_package.inner.own_pass:VALUE") == 7
    with pytest.raises(PassReferenceError, match=r"known parent package$"):
        load_named("alone.py:VALUE")
