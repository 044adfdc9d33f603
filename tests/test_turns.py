"""Slow tests take turns; the default run keeps its time, is what it was before, and is the same in the background."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
PARTS = 14
HERE = "tests/test_turns.py"


def loaded(file: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_test_has_its_turn_once_in_a_round_and_rounds_differ() -> None:
    turns = loaded("tests/conftest.py").part_of
    tests = [f"tests/test_x.py::test_{number}" for number in range(200)]
    rounds = [
        [[day for day in range(first, first + PARTS) if turns(test, f"{day}/{PARTS}")] for test in tests]
        for first in (0, PARTS)
    ]
    assert all(len(days) == 1 for days in rounds[0] + rounds[1])
    assert {days[0] for days in rounds[0]} == set(range(PARTS))
    assert sum(days[0] + PARTS != later[0] for days, later in zip(*rounds, strict=True)) > 150


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_something_slow(number: int) -> None:
    """What the test below runs in turns."""


def ran(*arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "slow", *arguments, HERE]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False).stdout


def test_only_those_whose_turn_it_is_run_and_none_begins_too_late() -> None:
    turns = loaded("tests/conftest.py").part_of
    expected = sum(turns(f"{HERE}::test_something_slow[{number}]", "3/2") for number in range(5))
    assert 0 < expected < 5, "or else this test says little"
    assert f"{expected} passed" in ran("--turn", "3/2")
    assert "5 skipped" in ran("--begin-within", "0")


@pytest.mark.parametrize(
    ("seconds", "begins", "code"), [(299, "the default run", 0), (301, "warning: ", 0), (601, "error: ", 1)]
)
def test_a_long_run_is_warned_of_and_one_far_too_long_fails(seconds: float, begins: str, code: int) -> None:
    line, exit_code = loaded("benchmarks/pace.py").judged(seconds, 300, 2)
    assert line.startswith(begins)
    assert exit_code == code


def test_the_quick_stack_is_the_stack_where_there_are_files() -> None:
    quick = loaded("tests/conftest.py").quick_stack()
    whole = inspect.getouterframes(quick[0].frame)  # `inspect.stack` is replaced
    assert [each.frame for each in quick] == [each.frame for each in whole]
    there = [at for at, each in enumerate(whole) if at and Path(each.filename).is_file()]
    assert len(there) > 20
    for at in there:
        assert quick[at][1:5] == whole[at][1:5]


def test_children_of_a_run_in_the_background_can_be_interrupted() -> None:
    said = "import runpy, signal; runpy.run_path('tests/conftest.py'); print(signal.getsignal(signal.SIGINT).__name__)"
    command = ["sh", "-c", "trap '' INT && exec \"$@\"", "sh", sys.executable, "-c", said]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "default_int_handler\n"
