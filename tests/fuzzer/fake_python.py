"""Interpreters that are shell scripts: they make environments, install and import TVM, run scripts, or fail to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_INNER = """#!/bin/sh
case "$1 $2" in
"-m pip")
  echo "pip $* PYTHONPATH=$PYTHONPATH" >> "$FAKE_HOME/log"
  if [ -f "$FAKE_HOME/pip-says" ]; then cat "$FAKE_HOME/pip-says" >&2; exit 1; fi
  for word; do case "$word" in apache-tvm==*) version=${word#apache-tvm==};; esac; done
  if [ -f "$FAKE_HOME/installs" ]; then version=$(cat "$FAKE_HOME/installs"); fi
  echo "$version" > "$(dirname "$0")/version"
  ;;
"-c "*)
  printf 'a warning\\n["%s", "0.1.12"]\\n' "$(cat "$(dirname "$0")/version")"
  ;;
*)
  VERSION=$(cat "$(dirname "$0")/version") exec /bin/sh "$1"
  ;;
esac
"""
_OUTER = """#!/bin/sh
if [ -f "$FAKE_HOME/venv-says" ]; then cat "$FAKE_HOME/venv-says"; exit 1; fi
echo "venv $3" >> "$FAKE_HOME/log"
mkdir -p "$3/bin"
sleep 0.2
cp "$FAKE_HOME/inner" "$3/bin/python"
"""


class FakePython:
    """A directory with the interpreter that makes environments; what it did is in ``log``."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        home.mkdir()
        script(home / "inner", _INNER)
        script(home / "python", _OUTER)
        monkeypatch.setenv("FAKE_HOME", str(home))
        monkeypatch.setattr("sys.executable", str(home / "python"))

    @property
    def log(self) -> list[str]:
        path = self.home / "log"
        return path.read_text().splitlines() if path.exists() else []

    def did(self, what: str) -> int:
        """How often it made an environment (``venv``) or installed (``pip``)."""
        return sum(line.startswith(what) for line in self.log)

    def says(self, name: str, text: str) -> None:
        """Let ``venv-says`` or ``pip-says`` be what it fails with, ``installs`` the version that it installs."""
        (self.home / name).write_text(text)

    def mends(self, name: str) -> None:
        (self.home / name).unlink()

    def build(self, folder: Path, version: str) -> Path:
        """A user's interpreter with that version of TVM."""
        folder.mkdir(parents=True)
        script(folder / "python", _INNER)
        (folder / "version").write_text(version)
        return folder / "python"


def script(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.write_text(text)
    os.chmod(path, 0o755)
    return path
