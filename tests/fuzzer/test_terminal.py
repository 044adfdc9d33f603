"""Titles and tables wrap and are never cut or interpreted; escapes reach a terminal and nothing else."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from io import StringIO
from pathlib import Path

import pytest
from rich.console import RenderableType
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.core.terminal import MOST_ROWS, WIDTH, listed, prose, rendered, table
from fuzzer.store.records import Earlier, EarlierState
from fuzzer.store.writer import Store

MARKUP = "[red]x[/red] [link=http://a.example]y[/link] :smile:"
TITLE = f"{MARKUP} {' '.join(f'word{number}' for number in range(30))} end"
POLICY = "[oracles.crash]\nmin_checks = 5\n"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PLAIN = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}


def plain(*parts: RenderableType) -> str:
    return rendered(*parts, stream=StringIO())


def test_a_cell_has_a_limit() -> None:
    """A campaign from elsewhere may have a thousand rows of thousands of characters."""
    assert plain(table(["a", "b"], [["x", "y" * 1_000]])).count("y") < 320


def told(arguments: Sequence[str], columns: int | None, **environment: str) -> str:
    """What a verb writes into a pipe or, with a number of columns, on a terminal; it runs in a copy of this process."""
    ours, theirs = pty.openpty() if columns else os.pipe()
    if columns:
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    if not (child := os.fork()):
        try:
            os.environ.clear()
            os.environ.update({**PLAIN, "TERM": "xterm-256color", **environment})
            for stream in (0, 1, 2) if columns else (1, 2):
                os.dup2(theirs, stream)
            sys.stdout, sys.stderr = (os.fdopen(stream, "w") for stream in (1, 2))
            main([*arguments])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(0)
    os.close(theirs)
    written = b""
    try:
        while some := os.read(ours, 1 << 16):
            written += some
    except OSError:  # the end of a terminal, as Linux has it
        pass
    os.close(ours)
    os.waitpid(child, 0)
    return written.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Name of a campaign in the working directory: a command is never broken, so a long path would be too wide."""
    folder = tmp_path_factory.mktemp("terminal")
    with Store.create(folder / "c", META) as store:
        store.record_shard(shard(0, hit(TITLE, 0)), 1.0)
    (folder / "policy.toml").write_text(POLICY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for verb in ("findings", "report"):
            main([verb, "c"])  # loads what the copies of this process need
        yield "c"


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_wide_title_wraps_and_is_not_cut() -> None:
    _, row = listed(("id", "title"), [("0123456789", TITLE)], [[f"  {TITLE}"]])
    lines = plain(row).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].startswith(f"0123456789  {MARKUP}")
    assert " ".join(line[12:].strip() for line in lines[: len(lines) // 2]) == TITLE
    assert words("\n".join(lines[len(lines) // 2 :])) == TITLE
    assert all(line.startswith("    wo") for line in plain(prose(f"    {'word ' * 40}")).splitlines())


def test_a_word_too_long_for_a_line_is_folded() -> None:
    lines = plain(table(("name", "count"), [("x" * 200, 7)])).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.count("x") for line in lines) == 200


def test_numbers_stand_on_the_right_and_ids_on_the_left() -> None:
    cells = [("a", 7, "1.50%"), ("abc", 1_000_000, "-")]
    assert plain(table(("id", "count", "share"), cells)).splitlines() == [
        "id     count  share",
        "---  -------  -----",
        "a          7  1.50%",
        "abc  1000000      -",
    ]
    assert plain(table(("a longer head",), [("0123456789",)])).splitlines()[-1] == "0123456789"
    assert plain(table(("id",), [])) == "none\n"


def test_of_a_long_table_the_beginning_is_shown() -> None:
    """A campaign from elsewhere may have as many operators or earlier findings as it likes."""
    assert len(plain(table(("name",), [(str(number),) for number in range(MOST_ROWS)])).splitlines()) == MOST_ROWS + 2
    lines = plain(table(("name",), [(str(number),) for number in range(MOST_ROWS + 20_000)])).splitlines()
    assert [line.strip() for line in lines[-2:]] == [str(MOST_ROWS - 1), "and 20000 more rows; --json prints all"]


def test_earlier_findings_are_listed_to_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.create(tmp_path / "c", META) as store:
        for number in range(MOST_ROWS + 5):
            store.save_regression(Earlier("old", f"{number:010x}", "", "crash", "FuseOps", "", EarlierState.FAILS))
    assert main(["findings", str(tmp_path / "c"), "--earlier"]) == 0
    said = capsys.readouterr().out
    assert f"{MOST_ROWS - 1:010x}" in said
    assert f"{MOST_ROWS:010x}" not in said
    assert "and 5 more rows; --json prints all" in said
    assert main(["findings", str(tmp_path / "c"), "--earlier", "--json"]) == 0
    assert f"{MOST_ROWS + 4:010x}" in capsys.readouterr().out


def test_lines_that_are_no_prose_stay_whole_and_give_no_command() -> None:
    assert plain("a " * 100) == f"{('a ' * 100).rstrip()}\n"
    wrapped = plain(prose(f"{'x' * 78} ::error title=a::b"))
    assert "\n: :error" in wrapped, "what wrapping brings to the beginning of a line"


@pytest.mark.parametrize("verb", ["findings", "report"])
def test_no_escape_in_a_pipe_and_colours_on_a_terminal(campaign: str, verb: str) -> None:
    piped = told([verb, campaign], None)
    assert "\x1b" not in piped
    assert max(map(len, piped.splitlines())) <= WIDTH
    assert piped == told([verb, campaign], None, COLUMNS="200"), "the same whatever the terminal behind the pipe"
    narrow, wide = told([verb, campaign], 80), told([verb, campaign], 140)
    assert ESCAPE.search(narrow)
    assert max(len(ESCAPE.sub("", line)) for line in narrow.splitlines()) <= 80
    assert 80 < max(len(ESCAPE.sub("", line)) for line in wide.splitlines()) <= 140
    for text in (piped, narrow, wide):
        assert MARKUP in words(ESCAPE.sub("", text))
        assert "word29 end" in words(ESCAPE.sub("", text))


def test_the_gate_colours_its_verdict_where_it_may(campaign: str) -> None:
    arguments = ["gate", campaign, "--policy", "policy.toml"]
    shown = told(arguments, 80)
    assert re.search(r"\x1b\[1;31mgate FAILED\x1b\[0m", shown)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", told(arguments, 80, NO_COLOR="1"))
    piped = told(arguments, None)
    assert "\x1b" not in piped
    assert piped == ESCAPE.sub("", shown)


def test_a_bar_is_on_a_terminal_only_and_gone_at_the_end(campaign: str, tmp_path: Path) -> None:
    shown = told(["merge", campaign, "--out", str(tmp_path / "a")], 100)
    assert "campaigns" in shown
    assert shown.endswith(("findings\n", "finding\n"))
    piped = told(["merge", campaign, "--out", str(tmp_path / "b")], None)
    assert "campaigns" not in piped
    assert len(piped.splitlines()) == 1
    quiet = told(["-q", "merge", campaign, "--out", str(tmp_path / "c")], 100)
    assert "campaigns" not in quiet


def test_help_does_not_wait_for_rich() -> None:
    code = "import sys; from fuzzer.cli.main import main; main(['--help']); sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], stdout=-3, timeout=60).returncode == 0
