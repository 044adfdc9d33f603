"""What README promises is what ``.ci/run`` does and what the code has."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line.strip()
]


def test_the_two_commands_set_up_run_and_test() -> None:
    run, test = COMMANDS[:2]
    for command in (run, test):
        assert command.startswith("python3 -m venv .venv && .venv/bin/python -m pip install ")
        assert "-e '.[dev]'" in command
    assert run.endswith(".venv/bin/relaxfuzz run --time 3m --seed 7 --workers 2 --out campaign")
    assert test.endswith(" && .venv/bin/python -m pytest")


def test_ci_installs_and_tests_as_readme_says() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    test_command = COMMANDS[1].split(" && ")[-1]
    assert script.rstrip().splitlines()[-1] == f"step {test_command}", "the tests come last, and pytest's line closes"
    assert "-e '.[dev]'" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], timeout=30).returncode == 0


def test_every_verb_is_in_the_table_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z]+)[^`]*` \|.*\|$", README, re.MULTILINE)
    assert set(rows) == {entry.name for entry in entry_points(group="relaxfuzz.verbs")}


@pytest.mark.parametrize("command", [c for c in COMMANDS if "relaxfuzz " in c], ids=lambda c: c[-50:])
def test_options_named_in_readme_exist(command: str) -> None:
    """Each verb that README calls knows each option that README gives it."""
    words = shlex.split(command.split("&&")[-1])
    verb, options = words[1], [word.split("=")[0] for word in words if word.startswith("--")]
    program = Path(sys.executable).parent / "relaxfuzz"
    done = subprocess.run([str(program), verb, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for option in options:
        assert option in done.stdout, f"{verb} has no {option}"
