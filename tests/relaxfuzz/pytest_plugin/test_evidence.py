"""What a test of a pass rests on: modules that the pass changed, several failures, what is known, and notes."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PASSES = """
import tvm
from hypothesis import given, settings
from relaxfuzz import OracleName, check, ir_modules

QUICK = [OracleName.CRASH]


@tvm.transform.module_pass(opt_level=0, name="Nothing")
def nothing(module, context):
    return module


@tvm.transform.module_pass(opt_level=0, name="Refuses")
def refuses(module, context):
    if len(module.functions) > 1:
        raise ValueError("more than one function")
    raise TypeError("one function alone")


@tvm.transform.module_pass(opt_level=0, name="Counts")
def counts(module, context):
    number = int(module.attrs["runs"]) if module.attrs and "runs" in module.attrs else 0
    return module.with_attrs({"runs": number + 1})
"""


def run(folder: Path, tests: str, *arguments: str, ini: str = "") -> str:
    folder.joinpath("test_given.py").write_text(PASSES + textwrap.dedent(tests))
    folder.joinpath("pytest.ini").write_text(f"[pytest]\n{ini}\n")
    command = [sys.executable, "-m", "pytest", "--relaxfuzz-seed", "1", "--relaxfuzz-minimize", "1s", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)
    return done.stdout + done.stderr


UNCHANGED = """
    @settings(max_examples={examples})
    @given(ir_modules())
    def test_nothing(module):
        check(module, nothing, oracles=QUICK)
"""


@pytest.mark.parametrize(
    ("examples", "ini", "green"),
    [(20, "", False), (5, "", True), (20, "relaxfuzz_min_changed = 0", True), (5, "relaxfuzz_min_changed = 1", False)],
)
def test_green_and_empty_is_not_green(tmp_path: Path, examples: int, ini: str, green: bool) -> None:
    said = run(tmp_path, UNCHANGED.format(examples=examples), ini=ini)
    assert ("1 passed" in said) is green, said
    assert (f"the pass changed 0 of the {examples} modules" in said) is not green
    assert re.search(
        r"test_nothing: \d+ examples, \d+ modules judged, 0 of them changed by the pass, \d+ operators", said
    )


TWO = """
    @given(ir_modules())
    def test_two(module):
        check(module, refuses, oracles=QUICK)
"""


def test_two_failures_are_told_and_where_each_was_raised(tmp_path: Path) -> None:
    said = run(tmp_path, TWO)
    assert "1 other failure in this test" in said, said
    assert "more than one function" in said
    assert "one function alone" in said
    assert said.count("test_given.py:") >= 2


@pytest.mark.slow
def test_what_is_known_is_accepted(tmp_path: Path) -> None:
    first = run(tmp_path, TWO)
    (known,) = re.findall(r"its id is ([0-9a-f]{10})", first)
    entry = f'[[known]]\nid = "{known}"\nreference = "here"\nreason = "a test"\n'
    tmp_path.joinpath("known.toml").write_text(entry)
    again = run(tmp_path, TWO, "--relaxfuzz-known", "known.toml")
    assert "1 failed" in again, again
    assert known not in again
    assert "other failure" not in again
    known_in_code = TWO.replace("oracles=QUICK", 'oracles=QUICK, known=["crash: Refuses"]')
    assert "1 passed" in run(tmp_path, known_in_code, ini="relaxfuzz_min_changed = 0")


def test_a_note_fails_nothing(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
        @settings(max_examples=3)
        @given(ir_modules())
        def test_counts(module):
            check(module, counts, oracles=[OracleName.CRASH, OracleName.IDEMPOTENCE])
        """,
    )
    assert "1 passed" in said, said
    assert re.search(r"note \(\d modules?\): a second run changes the module again \(Contract: idempotence=", said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('"test_given:nothng"', "'test_given' has no 'nothng'; did you mean nothing"),
        ('"test_given.nothing"', "'test_given.nothing'; did you mean test_given:nothing?"),
        ("None", "check was given None, not a pass;"),
        ("lambda module: module", "<lambda>() raised TypeError"),
    ],
)
def test_a_mistake_in_naming_the_pass_is_a_few_lines(tmp_path: Path, given: str, said: str) -> None:
    said_all = run(
        tmp_path,
        f"""
        @given(ir_modules())
        def test_mistaken(module):
            check(module, {given})
        """,
    )
    section = said_all.partition("= FAILURES =")[2].partition("short test summary")[0]
    assert said in section.splitlines()[2], said_all
    assert f"in test_mistaken: check(module, {given})" in section
    assert len(section.splitlines()) <= 10
    assert "0 modules judged" not in said_all
    assert "FAILED test_given.py::test_mistaken - PassReferenceError: " in said_all
    assert said_all.count("class Module") == 0


def test_another_exception_is_named_first_and_no_frame_of_the_plugin_is_shown(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
        @given(ir_modules())
        def test_mistaken(module):
            check(module, nothing)
            undefined
        """,
    )
    assert "FAILED test_given.py::test_mistaken - NameError: name 'undefined' is not defined" in said
    assert "child.py" not in said
