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

from relaxkit.passes.contracts import CONTRACTS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line.strip()
]


def test_the_two_commands_set_up_run_and_test() -> None:
    run, test = COMMANDS[:2]
    for command, what in ((run, "."), (test, "'.[dev]'")):
        assert command.startswith(f"python3 -m venv .venv && .venv/bin/python -m pip install --quiet -e {what} && ")
    assert run.endswith(".venv/bin/relaxfuzz run --time 3m --seed 7 --workers 2 --out campaign")
    assert test.endswith(" && .venv/bin/python -m pytest")


def test_ci_installs_and_tests_as_readme_says() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    test_command = COMMANDS[1].split(" && ")[-1]
    steps = [line for line in script.splitlines() if line.startswith("step ")]
    (tests,) = [line for line in steps if "pytest" in line]
    assert tests == f'step {test_command} | tee "$log"'
    assert script.index("set -euo pipefail") < script.index(tests), "a failing test fails it"
    assert f"step {test_command} -m slow --turn " in script.partition("== slow ]]")[2], "where it is asked for"
    assert script.endswith('else\n  tail -n 1 "$log"\nfi\n'), "pytest's line closes"
    assert "-e '.[dev]'" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], timeout=30).returncode == 0


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 80


def test_its_figures_are_those_of_their_sources() -> None:
    figures = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| \[?[`\w.]", README, re.MULTILINE))
    bugs = (ROOT / "docs" / "bugs.md").read_text(encoding="utf-8")
    live = re.search(r"^## Live: (\d+)$", bugs, re.MULTILINE)
    assert live is not None
    assert (
        figures["unfixed defects in TVM 0.27, each reproduced in relaxfuzz's CI"] == f"over {int(live[1]) // 100 * 100}"
    )
    assert figures["passes with a contract, in which each promise has a source"] == str(len(CONTRACTS))
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    ours, theirs = figures["Relax operators covered by 1,000 generated modules"].split(" (NNSmith, a model generator: ")
    assert f"| {ours} | {theirs.removesuffix(')')} (NNSmith" in results
    assert (
        f"all {figures['generated modules that are well-formed'].split(' of ')[0]} modules are well formed" in results
    )
    (often,) = (figures[what] for what in figures if "that change at least 20%" in what)
    changing = often.split(" of ")
    assert f"of {changing[1]} passes with a contract, {changing[0]} change at least 20%" in results


def test_the_gallery_tells_ten_cases_that_fail_in_the_newest_release() -> None:
    sections = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(sections) == 10
    for section in sections:
        (case,) = set(re.findall(r"corpus/cases/([\w-]+)/case\.toml", section))
        told = (ROOT / "corpus" / "cases" / case / "case.toml").read_text(encoding="utf-8")
        assert '"0.27.0.post1" = "fail"' in told, case
        (culprit, *_) = re.findall(r'^name = "(\w+)"', told, re.MULTILINE)
        assert f"`{culprit}`" in section
        (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        module = (ROOT / "corpus" / "cases" / case / "module.py").read_text(encoding="utf-8")
        assert all(call in module for call in re.findall(r"R\.[\w.]+\(", code)), case


def test_every_verb_is_in_the_table_and_no_other() -> None:
    table = (ROOT / "docs" / "verbs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z]+)[^`]*` \|.*\|$", table, re.MULTILINE)
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
