"""Files that came from elsewhere or are named by a user: pipes, devices, links, and files that end in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer.cli import main as command_line
from fuzzer.core.files import append, read_regular, write_atomically
from fuzzer.core.toml import TomlError, parse_toml, read_toml
from fuzzer.gate.baseline import BaselineError, read_baseline
from fuzzer.worker import session_files


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert read_regular(tmp_path / "link") == read_regular(tmp_path / "file", links=False) == b"text"
    for name, said in (("pipe", "not a regular file"), ("zero", "not a regular file"), ("none", "No such file")):
        with pytest.raises(OSError, match=said):
            read_regular(tmp_path / name)
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(tmp_path / "link", links=False)
    with pytest.raises(OSError, match="larger than"):
        read_regular(tmp_path / "file", most=3)
    os.link(tmp_path / "file", tmp_path / "other")
    with pytest.raises(OSError, match="hard link"):
        read_regular(tmp_path / "other", links=False)


def test_no_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "link").symlink_to("outside")
    with pytest.raises(OSError, match="symbolic links"):
        append(tmp_path / "link", "more")
    write_atomically(tmp_path / "link", "a \udc80 b")
    assert (tmp_path / "outside").read_text() == "mine"
    assert (tmp_path / "link").read_text() == "a ? b"
    assert not (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "outside"]
    write_atomically(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "1" * 6000, "a = 2027-02-31", "\x00", "a = {" * 999])
def test_toml_that_python_cannot_read_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(TomlError) as caught:
        parse_toml(tmp_path / "a.toml", text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "1" * 6000 + "}", "{" * 3, "[]"])
def test_json_that_python_cannot_read_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BaselineError) as caught:
        read_baseline(tmp_path / "a.json")
    assert "\n" not in str(caught.value)
    os.mkfifo(tmp_path / "pipe")
    for reader, error in ((read_baseline, BaselineError), (read_toml, TomlError)):
        with pytest.raises(error, match="not a regular file"):
            reader(tmp_path / "pipe")


@pytest.mark.parametrize("nested", [False, True])
def test_the_details_of_an_internal_error_are_where_the_message_says(tmp_path: Path, nested: bool) -> None:
    place = tmp_path / f"{session_files.PREFIX}other" if nested else tmp_path
    place.mkdir(exist_ok=True)
    program = (
        "import sys; from fuzzer.cli import main; from fuzzer.worker import session_files\n"
        "def broken(argv): session_files.claim(); raise RuntimeError('first \\x1b[2J\\nsecond')\n"
        "main._dispatch = broken; sys.exit(main.main(['run']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(place)},
    )
    assert done.returncode == 70
    (line,) = done.stderr.splitlines()
    assert line.isprintable()
    path = Path(line.partition("(details in ")[2].removesuffix(")"))
    assert "RuntimeError: first" in path.read_text()
    assert path.parent == tmp_path


def test_an_error_is_one_printable_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_: list[str]) -> int:
        raise command_line.UsageError("a\x1b[2J\n::error::b" + "x" * 10_000)

    monkeypatch.setattr(command_line, "_dispatch", broken)
    assert command_line.main(["run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("relaxfuzz: error: a?[2J ::error::b")
    assert line.isprintable()
    assert len(line) < 2000
