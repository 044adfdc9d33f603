"""Foreign text, such as a message that quotes a module, made fit for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    """The text with every control character, escape sequences' first of all, shown as ``?``; line ends stay."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def first_line(text: str, fallback: str = "") -> str:
    """The first line that says something, printable."""
    return next((printable(line.strip()) for line in text.splitlines() if line.strip()), fallback)


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters, the cut marked with dots."""
    return text if len(text) <= width else text[: width - 3] + "..."


def columns(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A table as lines: the heads, a rule, then a line a row; no wider than its cells, two spaces between them."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(head), *(len(row[at]) for row in texts), 0) for at, head in enumerate(heads)]
    lines = [list(heads), ["-" * width for width in widths], *texts]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
