"""docs/examples/own_pass, run as its author would: the bug is found and shown small, the fixed pass is green."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "own_pass"
MOST_SECONDS = 300  # of which it takes some twenty on a machine where nobody else works


@pytest.fixture
def project(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".hypothesis")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "own_pass", ignore=ignored))


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)


@pytest.mark.slow
def test_the_bug_is_found_and_shown_small(project: Path) -> None:
    patient = ("--relaxfuzz-minimize", "4m")  # of which it takes seconds, but on a crowded machine
    done = run(project, "tests/test_buggy.py", "--relaxfuzz-seed", "1", "--relaxfuzz-out", "scripts", *patient)
    said = done.stdout
    assert done.returncode == 1, said + done.stderr
    module = re.search(r"^@I.ir_module\n(.*?)\n\n", said, re.DOTALL | re.MULTILINE)
    assert module is not None, said
    assert "R.clip(" in module.group(1)
    assert len(module.group(1).splitlines()) <= 8, "not minimized"
    assert re.search(r"^BuggyLowerClip wrongly turns R\.clip\(.* into R\.\w+", said, re.MULTILINE), said
    assert re.search(r"^what the pass changes:\n-.*R\.clip\(.*\n\+.*R\.minimum\(", said, re.MULTILINE), said
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 40, said
    assert "Failing test case" not in said, "a page of repr"
    script = re.search(r"^to reproduce the failure, run: \S+ (scripts/\S+\.py)$", said, re.MULTILINE)
    assert script is not None, said
    assert len((project / script.group(1)).read_text().splitlines()) <= 40
    again = subprocess.run(
        [sys.executable, str(project / script.group(1))], cwd="/", capture_output=True, text=True, timeout=120
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert "AssertionError" in again.stderr


@pytest.mark.slow
def test_the_fixed_pass_is_green_and_was_judged(project: Path) -> None:
    done = run(project, "tests/test_fixed.py", "--hypothesis-profile", "relaxfuzz-quick", "--relaxfuzz-seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.search(r"(\d+) modules judged, (\d+) of them changed", done.stdout)
    assert counts is not None, done.stdout
    assert int(counts.group(1)) == 25
    assert int(counts.group(2)) > 0, "the pass had nothing to do"
