"""Completion: the script of `relaxfuzz completion bash`, sourced by a bash, completes what the parsers know."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from fuzzer.cli.main import main

_ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
function=$(complete -p relaxfuzz | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
"$function" relaxfuzz "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
VERBS = {entry.name for entry in entry_points(group="relaxfuzz.verbs")}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script for bash, as the installed program prints it."""
    path = tmp_path_factory.mktemp("completion") / "relaxfuzz.bash"
    program = Path(sys.executable).parent / "relaxfuzz"
    done = subprocess.run([str(program), "completion", "bash"], capture_output=True, text=True, timeout=60, check=True)
    path.write_text(done.stdout, encoding="utf-8")
    return path


def completed(script: Path, *words: str, place: Path | None = None) -> list[str]:
    """What bash offers for the last word."""
    done = subprocess.run(
        ["bash", "--norc", "-c", _ASK, "ask", str(script), *words],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=place,
    )
    assert done.stderr == ""
    return [word.strip() for word in done.stdout.splitlines() if word.strip()]


def test_bash_completes_verbs(script: Path) -> None:
    assert completed(script, "relaxfuzz", "fin") == ["findings"]
    assert completed(script, "relaxfuzz", "doc") == ["doctor"]
    assert set(completed(script, "relaxfuzz", "")) >= VERBS


def test_bash_completes_options_of_the_verb_and_no_other(script: Path) -> None:
    assert completed(script, "relaxfuzz", "run", "--max") == ["--max-examples"]
    assert completed(script, "relaxfuzz", "gate", "campaign", "--pol") == ["--policy"]
    assert completed(script, "relaxfuzz", "findings", "--pol") == []
    assert completed(script, "relaxfuzz", "corpus", "mat") == ["match"]


def test_bash_completes_files_and_directories(script: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").touch()
    (tmp_path / "policies").mkdir()
    assert completed(script, "relaxfuzz", "gate", "campaign", "--policy", "policy", place=tmp_path) == ["policy.toml"]
    assert completed(script, "relaxfuzz", "run", "--out", "pol", place=tmp_path) == ["policies"]


@pytest.mark.parametrize(("shell", "check"), [("zsh", "-n"), ("fish", "--no-execute")])
def test_the_other_shells_scripts_name_every_verb(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, shell: str, check: str
) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert not [verb for verb in VERBS if verb not in text]
    assert "max-examples" in text
    if program := shutil.which(shell):
        (tmp_path / "script").write_text(text, encoding="utf-8")
        assert subprocess.run([program, check, str(tmp_path / "script")], timeout=30).returncode == 0


@pytest.mark.parametrize("arguments", [[], ["tcsh"], ["bash", "zsh"], [""]])
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["completion", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("relaxfuzz: error: ")
    assert said.err.count("\n") == 1


def test_without_the_extra_the_command_that_brings_it_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'relaxfuzz[completion]'" in capsys.readouterr().err
