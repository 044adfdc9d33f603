"""Output for people: tables that wrap, colour and bars where somebody looks, plain text of 80 columns in a pipe."""

from __future__ import annotations

import functools
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from fuzzer.core.text import disarmed, first_line, printable, shorten

WIDTH = 80
"""Columns where no terminal is attached."""
MOST_ROWS = 1_000
"""Of a table: each takes a millisecond to lay out, and a campaign from elsewhere may have millions."""
_MOST_CELL = 300
"""Characters of a cell: a longer one wraps over dozens of lines, and a thousand of them take half a minute."""
_NUMBER = re.compile(r"\d{1,9}(\.\d+)?%?|-")  # shorter than an id
_STYLES = {"S1": "bold red", "S2": "red", "S3": "yellow"}
"""Colours of cells in the columns of severities."""


def console_of(stream: TextIO) -> Console:
    """Make what draws on a stream: as wide as a terminal is, coloured where ``rich`` finds that it may be."""
    return Console(file=stream, width=None if stream.isatty() else WIDTH, markup=False, emoji=False, highlight=False)


def rendered(*parts: RenderableType, stream: TextIO) -> str:
    """Lay parts out one below the other, as the stream shows them; text is not wrapped unless it is prose."""
    console = console_of(stream)
    with console.capture() as held:
        for part in parts:
            line = Text(printable(part)) if isinstance(part, str) else part
            console.print(line, soft_wrap=isinstance(line, Text))
    return disarmed("\n".join(line.rstrip() for line in held.get().split("\n")))


def prose(text: str) -> Group:
    """Wrap each line at its own indent."""
    lines = [(line.lstrip(" "), line) for line in printable(text).split("\n")]
    return Group(*(Padding(Text(said), (0, 0, 0, len(line) - len(said))) for said, line in lines))


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> RenderableType:
    """Lay out a table no wider than its cells; where there is less room, the widest columns wrap."""
    return Group(*listed(heads, rows[:MOST_ROWS]), *left_out(rows)) if rows else Text("none")


def left_out(rows: Sequence[object]) -> list[RenderableType]:
    """Say how many rows a table leaves out, if it does."""
    return [prose(f"and {len(rows) - MOST_ROWS} more rows; --json prints all")] if len(rows) > MOST_ROWS else []


def listed(
    heads: Sequence[str], rows: Sequence[Sequence[object]], below: Sequence[Sequence[str]] = ()
) -> list[RenderableType]:
    """Lay out the heads, then each row apart; ``below`` has the texts that stand below each."""
    cells = [[shorten(first_line(str(cell)), _MOST_CELL) for cell in row] for row in rows]
    columns = list(zip(heads, *cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [max(map(cell_len, " ".join(column).split() or [""])) for column in columns]
    right = [all(map(_NUMBER.fullmatch, column[1:])) for column in columns]
    rule = _Line([Rule(characters="-", style="none")] * len(heads), widths, least, right)
    shown: list[RenderableType] = [Group(_Line([Text(head, "bold") for head in heads], widths, least, right), rule)]
    for row, texts in zip(cells, below or [()] * len(rows), strict=True):
        line = [
            Text(cell, _STYLES.get(cell, "") if head == "sev" else "") for head, cell in zip(heads, row, strict=True)
        ]
        shown.append(Group(_Line(line, widths, least, right), *map(prose, texts)))
    return shown


@functools.lru_cache(maxsize=16)
def _narrowed(given: tuple[int, ...], least: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Take width from the widest columns until all have room: once for all lines of a table."""
    widths = list(given)
    while sum(widths) + 2 * (len(widths) - 1) > max(most, 4 * len(widths)):
        widths[max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))] -= 1
    return (*widths,)


class _Line:
    """A line of a table: what has no room is wrapped in the widest columns, and between words while that will do."""

    def __init__(
        self, cells: Sequence[RenderableType], widths: Sequence[int], least: Sequence[int], right: Sequence[bool]
    ) -> None:
        self.cells, self.widths, self.least, self.right = cells, widths, least, right

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        widths = _narrowed(tuple(self.widths), tuple(self.least), options.max_width)
        line = Table.grid(padding=(0, 2, 0, 0))
        for width, right in zip(widths, self.right, strict=True):
            line.add_column(width=width, justify="right" if right else "left", overflow="fold")
        line.add_row(*self.cells)
        yield line


def bars() -> Progress:
    """Make bars on the standard error that are gone at the end; none appear where nobody looks or ``-q`` is given."""
    seen = sys.stderr.isatty() and logging.getLogger("relaxfuzz").isEnabledFor(logging.INFO)
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(),
        console=console_of(sys.stderr), transient=True, redirect_stdout=sys.stdout.isatty(), disable=not seen,
    )  # fmt: skip
