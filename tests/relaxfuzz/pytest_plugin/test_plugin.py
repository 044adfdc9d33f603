"""The plugin for pytest: what it isolates, what it says, and that it costs nothing where it is not used."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PASSES = """
import ctypes
import os

import pytest
import tvm
from hypothesis import given, settings
from oracles import OracleFailure, check
from relaxfuzz.pytest_plugin import child
from strategies import ir_modules
from tvm import relax

child.SECONDS_MORE = 1.0  # there are no other failures


@tvm.transform.module_pass(opt_level=0, name="Segfaults")
class Segfaults:
    def transform_module(self, module, context):
        ctypes.string_at(0)


@tvm.transform.module_pass(opt_level=0, name="Raises")
class Raises:
    def __init__(self, word):
        self.word = word

    def transform_module(self, module, context):
        raise ValueError(self.word)
"""


def run(folder: Path, tests: str, *arguments: str, code: str = PASSES) -> subprocess.CompletedProcess[str]:
    folder.joinpath("test_given.py").write_text(code + textwrap.dedent(tests))
    folder.joinpath("pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--relaxfuzz-out", "scripts", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)


def test_a_crash_fails_its_test_and_no_other(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        @given(ir_modules())
        def test_dies(module):
            check(module, Segfaults())

        @pytest.mark.relaxfuzz
        def test_dies_outside():
            os.abort()

        def test_lives():
            assert True
        """,
        "-n", "1", "--relaxfuzz-seed", "1", "--relaxfuzz-minimize", "1s",
    )  # fmt: skip
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"Segfaults crashes the process( on [\w ]+)?: SIGSEGV", done.stdout)
    script = re.search(r"^to reproduce the failure, run: \S+ (scripts/\S+-test_dies\S+)$", done.stdout, re.MULTILINE)
    assert script is not None, done.stdout
    assert "# This script dies of SIGSEGV." in (tmp_path / script[1]).read_text(), "the short form"
    assert "its process ended: signal 6 (SIGABRT)" in done.stdout
    assert "worker 'gw" not in done.stdout


@pytest.mark.slow
def test_what_is_proved_is_counted(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        @settings(max_examples=6)
        @given(ir_modules())
        def test_proved(module):
            check(module, relax.transform.ConvertToDataflow(), oracles=["numeric"])
        """,
        "--relaxfuzz-seed", "1",
    )  # fmt: skip
    told = r"(\d+) of them changed .* results compared for (\d+) of (\d+) \((\d+) proved for all inputs"
    counts = re.search(told, done.stdout)
    assert counts is not None, done.stdout + done.stderr
    changed, compared, of, proved = map(int, counts.groups())
    assert 0 < proved <= compared <= changed == of


def test_other_outcomes_are_those_of_pytest(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        @pytest.mark.xfail(raises=OracleFailure, strict=True)
        @settings(max_examples=2)
        @given(ir_modules())
        def test_expected(module):
            check(module, Raises("this"))

        @pytest.mark.relaxfuzz
        def test_skipped():
            pytest.skip("not today")

        @pytest.mark.relaxfuzz
        def test_wrong(tmp_path):
            tmp_path.joinpath("seen").write_text("")
            assert tmp_path.name == "else"

        def test_wrong_after_an_expected_failure():
            with pytest.raises(OracleFailure):
                check(tvm.IRModule({}), Raises("this"))
            assert "this" == "that"

        @pytest.mark.relaxfuzz(isolate=False)
        def test_here():
            check.here = os.getpid()

        @pytest.mark.relaxfuzz
        def test_elsewhere():
            assert check.here != os.getpid()

        @pytest.mark.relaxfuzz
        def test_named():
            with pytest.raises(ValueError, match="cannot be built|no global function"):
                check(None, "mine.transform.Nothing")
        """,
        "-rs", "--relaxfuzz-minimize", "1s",
    )  # fmt: skip
    assert "2 failed, 3 passed, 1 skipped, 1 xfailed" in done.stdout, done.stdout + done.stderr
    assert "not today" in done.stdout
    assert "assert 'test_wrong" in done.stdout
    assert "assert 'this' == 'that'" in done.stdout


@pytest.mark.slow
def test_a_pass_with_arguments_is_shown_without_a_script(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        @settings(max_examples=2)
        @given(ir_modules())
        def test_arguments(module):
            check(module, Raises("this"))
        """,
    )
    assert "Raises may have been built with arguments" in done.stdout, done.stdout + done.stderr
    assert "I.ir_module" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--relaxfuzz-time", "soon"), "'soon' is not a time"),
        (("--relaxfuzz-seed", "x"), "--relaxfuzz-seed 'x' is not a whole number"),
        (("--relaxfuzz-script", "long"), "--relaxfuzz-script must be short or full, not 'long'"),
    ],
)
def test_bad_options_are_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run(tmp_path, "", *arguments, code="")
    assert done.returncode == 4
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_seed_decides(tmp_path: Path) -> None:
    test = """
        @settings(max_examples=5)
        @given(ir_modules())
        def test_drawn(module):
            with open("drawn", "a") as file:
                file.write(module.script())
    """
    drawn = []
    for seed in ("5", "5", "6"):
        done = run(tmp_path, test, "--relaxfuzz-seed", seed)
        assert "5 examples" in done.stdout, done.stdout + done.stderr
        drawn.append((tmp_path / "drawn").read_text())
        (tmp_path / "drawn").unlink()
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.slow
def test_time_goes_on_after_the_examples_and_ends(tmp_path: Path) -> None:
    test = """
        import time

        @settings(max_examples=1)
        @given(ir_modules())
        def test_drawn(module):
            time.sleep(0.5)
    """
    done = run(tmp_path, test, "--relaxfuzz-time", "5s")
    count = re.search(r"(\d+) examples", done.stdout)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert count is not None
    assert 1 < int(count.group(1)) <= 12


def test_nothing_is_imported_where_nothing_is_judged(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import sys

        def test_imports():
            rooms = {"tvm", "relaxkit", "oracles", "strategies", "fuzzer", "hypothesis"}
            assert not rooms & set(sys.modules)
            assert "relaxfuzz.pytest_plugin.plugin" in sys.modules
        """,
        "-p", "no:hypothesispytest",
        code="",
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert "relaxfuzz:" not in done.stdout


def test_profiles_are_registered_by_hypothesis_itself() -> None:
    code = (
        "import sys; from hypothesis import settings; "
        "print(settings.get_profile('relaxfuzz-ci').derandomize, settings.get_profile('relaxfuzz-quick').max_examples, "
        "settings.get_profile('relaxfuzz-nightly').max_examples, 'tvm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "25", "5000", "False"]
