"""Every command of the tutorial is run, in its order, and prints what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "@@ step"


@dataclass(frozen=True, slots=True)
class Step:
    """A block of commands, and the lines that the page shows behind it."""

    commands: str
    shown: tuple[str, ...]


def steps() -> list[Step]:
    """The page's blocks; what is neither commands nor output has no business here."""
    found: list[Step] = []
    for language, text in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "sh":
            found.append(Step(text, ()))
        else:
            assert language == "text", language
            found[-1] = Step(found[-1].commands, tuple(text.splitlines()))
    return found


def test_it_installs_as_ci_does() -> None:
    install, *_ = steps()
    first, activation = install.commands.splitlines()
    assert f"`{first}`".strip("`") in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install --quiet --disable-pip-version-check -e '.[dev]'" in (ROOT / ".ci" / "run").read_text()
    assert activation == ". .venv/bin/activate"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command_works_and_prints_what_is_shown(tmp_path: Path) -> None:
    commands = steps()[1:]  # installed we are
    script = "set -euo pipefail\n" + "".join(
        f"echo '{_MARK} {at}'\n{step.commands}" for at, step in enumerate(commands)
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=os.environ | {"PATH": path}, text=True, timeout=880,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    printed = re.split(rf"^{_MARK} \d+\n", done.stdout, flags=re.MULTILINE)[1:]
    assert len(printed) == len(commands)
    for step, output in zip(commands, printed, strict=True):
        pattern = ".*".join(_pattern(line) for line in step.shown)
        assert re.search(pattern, output, re.DOTALL), f"{step.commands}\nshows {step.shown}, and printed\n{output}"
    for made in ("defect.py", "issue.md", "page/index.html", "fixed/report.md"):
        assert (tmp_path / made).stat().st_size > 100, made


def _pattern(line: str) -> str:
    """A shown line as a pattern: dots stand for anything in the line, spaces for one or more."""
    literal = (r"[ \t]+".join(map(re.escape, re.split(r"[ \t]+", part))) for part in line.split("..."))
    return r"[^\n]*".join(literal)
