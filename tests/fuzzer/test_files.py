"""Files that came from elsewhere or are named by a user: pipes, devices, links, and files that end in one line."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_records import META
from unmerged import UNMERGED

from fuzzer.cli import main as command_line
from fuzzer.core.toml import TomlError, parse_toml, read_toml
from fuzzer.gate.baseline import BaselineError, read_baseline
from fuzzer.store.writer import FILE_NAME, Store
from fuzzer.worker import session_files
from relaxkit.files import append, confine, make_directory, read_regular, write_atomically

MINIMIZE = (
    "minimize", "--module", "seeds.py", "--pass", "MergeCompositeFunctions", "--oracle", "crash", "--queries", "1",
)  # fmt: skip


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


def test_a_small_file_takes_little_memory_whatever_it_may_have(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 3_000_000)
    tracemalloc.start()
    try:
        assert len(read_regular(tmp_path / "file", most=1 << 30)) == 3_000_000
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_no_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "link").symlink_to("outside")
    with pytest.raises(OSError, match="symbolic links"):
        append(tmp_path / "link", "more")
    os.link(tmp_path / "outside", tmp_path / "hard")
    with pytest.raises(OSError, match="hard link"):
        append(tmp_path / "hard", "more")
    (tmp_path / "hard").unlink()
    write_atomically(tmp_path / "link", "a \udc80 b")
    assert (tmp_path / "outside").read_text() == "mine"
    assert (tmp_path / "link").read_text() == "a ? b"
    assert not (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "outside"]
    for write in (write_atomically, append):
        write(Path("/dev/null"), "x")
        write(Path("/dev/stderr"), "x")
    assert Path("/dev/null").is_char_device()


def test_no_directory_to_write_is_a_link(tmp_path: Path) -> None:
    """Of links below, those in a campaign's directory are refused: they may have come with it."""
    campaign, mine, outside = tmp_path / "disk" / "campaign", tmp_path / "mine", tmp_path / "outside"
    campaign.mkdir(parents=True)
    outside.mkdir()
    mine.symlink_to("disk")
    (tmp_path / "page").symlink_to("outside")
    (campaign / "out").symlink_to(outside)
    (campaign / "below").mkdir()
    (campaign / "below" / "gone").symlink_to(tmp_path / "new")
    write_atomically(campaign / "out" / "before", "a link of mine, in a directory of mine")
    (campaign / FILE_NAME).touch()
    for place in (tmp_path / "page", campaign / "out", campaign / "below" / "gone", mine / "campaign" / "out"):
        with pytest.raises(OSError, match="a link"):
            make_directory(place)
    for name in ("out/x", "out/new/x", "below/gone/x", "out/../x", "below/../out/../../x"):
        for place in (campaign / name, mine / "campaign" / name):
            with pytest.raises(OSError, match="a link in a campaign's directory"):
                make_directory(place, links=True)
            for write in (write_atomically, append):
                with pytest.raises(OSError, match="a link in a campaign's directory"):
                    write(place, "x")
    assert [path.name for path in outside.iterdir()] == ["before"]
    make_directory(mine / "campaign" / "new" / "page")
    write_atomically(mine / "campaign" / ".." / "page", "a link of mine")
    append(mine / "campaign" / "below" / ".." / "text", "x")
    make_directory(tmp_path / "page", links=True)
    assert {path.name for path in campaign.iterdir()} == {FILE_NAME, "out", "below", "new", "text"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "campaign", "--html", "page"],
        ["report", "campaign", "--html", "campaign/page"],
        ["report", "campaign", "--markdown", "campaign/page/file.md"],
        ["merge", "campaign", "--out", "page"],
        ["merge", "campaign", "--out", "campaign/page/new"],
        [*MINIMIZE, "--others", "page"],
        [*MINIMIZE, "--repro", "campaign/page/new/repro.py"],
        ["run", "--out", "page", "--max-examples", "1", "--passes", "FuseOps"],
        ["run", "--out", "campaign/page/new", "--max-examples", "1", "--passes", "FuseOps"],
        ["corpus", "import", "seeds.py", "--out", "page"],
    ],
    ids=" ".join,
)
def test_no_verb_writes_through_a_link(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Store.create(tmp_path / "campaign", META).close()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "index.html").write_text("mine")
    for name in ("page", "campaign/page"):
        (tmp_path / name).symlink_to(tmp_path / "outside")
    (tmp_path / "seeds.py").write_text(UNMERGED)
    monkeypatch.chdir(tmp_path)
    assert command_line.main(arguments) == 2
    said = capsys.readouterr().err
    assert "a link" in said or "already exists" in said
    assert [path.read_text() for path in (tmp_path / "outside").iterdir()] == ["mine"]


@pytest.mark.parametrize("write", [write_atomically, append])
def test_no_pipe_is_waited_for_or_written_to(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match=r"not a regular file|No such device"):
        write(pipe, "x")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="not a regular file"):
        write(pipe, "x")
    link.symlink_to(pipe)
    with contextlib.suppress(OSError):  # replaced by one, refused by the other
        write(link, "x")
    assert os.read(reader, 1) == b""
    os.close(reader)
    assert pipe.is_fifo()


def test_a_file_that_nobody_named_lies_in_its_directory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "below").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (home / "link").symlink_to("below")
    (home / "out").symlink_to("..")
    (home / "circle").symlink_to("circle")
    for name in ("file", "below/file", "link/file", "below/../file"):
        confine(home / name, home)
    for name in ("../secret", "/etc/passwd", "link", "out/secret", "circle", "circle/file", "a\0b"):
        with pytest.raises(OSError, match="a link, or outside of"):
            confine(home / name, home)


@pytest.mark.parametrize("arguments", [["triage", "list"], ["findings", "DIR"], ["report", "DIR"]])
def test_findings_that_are_elsewhere_are_not_shown(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Store.create(Path("campaign"), META).close()
    (tmp_path / "secret").write_text("password hunter2\n")
    Path("findings.toml").symlink_to("../secret")
    given = [each.replace("DIR", "campaign") for each in arguments]
    assert command_line.main(given) == 2
    assert "findings.toml: a link, or outside of '.'" in capsys.readouterr().err
    Path("findings.toml").unlink()
    Path("findings.toml").write_text("password hunter2\n")
    assert command_line.main(given) == 2
    said = capsys.readouterr().err
    assert "findings.toml:1: not TOML: " in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    "text",
    [
        "a.b." * 20_000 + "c = 1",
        "[" + "a." * 99 + "a]",
        "a = " + "[" * 100_000,
        "a = " + "1" * 6000,
        "a = 2027-02-31",
        "\x00",
        "a = {" * 999,
    ],
)
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


def test_a_path_that_no_system_can_use_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("loop.py").symlink_to("loop.py")
    Path("policy.toml").write_text("")
    Store.create(Path("campaign"), META).close()
    run = ("run", "--out", "new", "--seed", "1", "--max-examples", "1", "--workers", "1")
    gate = ("gate", "campaign", "--policy", "policy.toml")
    for name in ("loop", "n" * 300):
        for command in (
            ("report", name),
            (*gate, "--history", name),
            (*gate, "--baseline", name),
            ("merge", "campaign", "campaign", "--out", name),
            (*run, "--regress", name),
            (*run, "--plugin", f"{name}.py"),
        ):
            assert command_line.main([*command]) == 2, command
            (line,) = capsys.readouterr().err.splitlines()
            assert name[:250] in line
