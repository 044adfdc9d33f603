"""Commands that are printed work in the shell that started the program, whether its environment is activated or not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fuzzer.core.text import shell


def test_a_program_is_named_as_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = tmp_path / "a b" / "bin", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir(parents=True)
        (folder / "relaxfuzz").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.chdir(tmp_path)
    for path, named in ((own, "relaxfuzz"), (tmp_path, "'a b/bin/relaxfuzz'"), (other, "'a b/bin/relaxfuzz'")):
        monkeypatch.setenv("PATH", str(path))
        assert shell("relaxfuzz") == named
        assert shell("python") == "python", "there is none beside"
    monkeypatch.chdir(other)
    assert shell("relaxfuzz") == f"'{own}/relaxfuzz'"
