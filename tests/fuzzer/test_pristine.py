"""Scripts that run in copies of a process that has loaded NumPy and TVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fuzzer.repro import pristine, run
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.run import check_text

ENDS = {
    "code": "raise SystemExit(3)",
    "text": "raise SystemExit('stop')",
    "error": "def f():\n    raise ValueError('one\\ntwo')\nf()",
    "syntax": "one two",
    "bug": "print('BUG: here')\nraise SystemExit(1)",
    "place": "import os, sys\nprint(__name__, len(sys.argv), os.path.samefile(os.getcwd(), sys.path[0]))",
    "input": "import sys\nprint(repr(sys.stdin.read()))",
    "source": "import inspect\ndef f(): pass\nprint(inspect.getsource(f))",
    "TVM's error": "import tvm\nraise tvm.error.DiagnosticError('one')",
    "at exit": "import atexit, os\natexit.register(os._exit, 5)",
}


SHOWN: dict[str, Any] = {"capture_output": True, "errors": "replace"}
_idle: list[pristine.PristinePython] = []
"""Of these tests: what others do neither ends it nor adds to it."""


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pristine, "_idle", _idle)


@pytest.mark.parametrize("end", ENDS)
def test_a_script_ends_as_in_a_new_python(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "subprocess", subprocess)
    found, new = check_pristine(ENDS[end]), check_text(ENDS[end])
    assert (found.exit_code, found.output) == (new.exit_code, new.output)
    assert without_place(found.errors) == without_place(new.errors)


def without_place(errors: str) -> list[str]:
    return [line.split("/")[-1] for line in errors.splitlines()]


def test_it_has_loaded_numpy_and_tvm_and_nothing_of_this_program() -> None:
    text = "import sys\nprint(*sorted({'numpy', 'tvm', 'fuzzer', 'oracles', 'relaxkit'} & {*sys.modules}))"
    assert check_pristine(text).output == "numpy tvm\n"


@pytest.mark.parametrize(
    ("name", "value", "warm"),
    [("TMPDIR", "elsewhere", True), ("RELAXFUZZ_PLUGINS", "", True), ("RELAXFUZZ_PLUGINS", "own.py", False)],
)
def test_the_scripts_of_tests_are_copies_whatever_directory_a_campaign_has_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, warm: bool
) -> None:
    monkeypatch.setenv(name, value)
    (path := tmp_path / "script.py").write_text("import sys\nprint('tvm' in sys.modules, *sys.argv[1:])")
    said = run.subprocess.run([sys.executable, str(path), "one"], timeout=60, env=os.environ, cwd=tmp_path, **SHOWN)
    assert said.stdout == f"{warm} one\n"


def test_nothing_is_left_of_one_script_for_the_next() -> None:
    check_pristine("import tvm\ntvm.left = True")
    assert check_pristine("import tvm\nprint(hasattr(tvm, 'left'))").output == "False\n"
    assert len(pristine._idle) == 1


def test_a_script_that_dies_is_told_by_its_signal_and_one_that_hangs_by_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_pristine("import os\nos.kill(os.getpid(), 9)").exit_code == -9
    monkeypatch.setattr(pristine, "CHECK_SECONDS", 0.5)
    assert check_pristine("import os\nos.fork()\nwhile True: pass").exit_code is None
    assert check_pristine("raise SystemExit(4)").exit_code == 4
    assert len(pristine._idle) == 1


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_script_runs_in_a_new_python_when_the_process_is_killed(when: str, tmp_path: Path) -> None:
    note = tmp_path / "note"
    kill = f"if not os.path.exists(note := {str(note)!r}):\n    open(note, 'w')\n    os.kill(os.getppid(), 9)\n"
    if when == "before":
        check_pristine("")
        os.kill(pristine._idle[0]._process.pid, signal.SIGKILL)
        note.touch()
    assert check_pristine(f"import os\n{kill}raise SystemExit(4)").exit_code == 4
    assert all(each.lives for each in pristine._idle)
