"""Foreign text, such as a message that quotes a module, made fit for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


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


# Findings told apart from suspects (``fuzzer.store.records.SUSPECTS``), and numbers of things in words.

SUSPECTS_ARE = "seen, but no script of theirs proves it; not counted as findings"
"""What people are told where suspects are listed."""


class _HasSuspect(Protocol):
    @property
    def suspect(self) -> bool: ...


_AnySeen = TypeVar("_AnySeen", bound=_HasSuspect)


def split_suspects(seen: Iterable[_AnySeen]) -> tuple[list[_AnySeen], list[_AnySeen]]:
    """Findings and suspects, each in the order in which they were given."""
    parts: tuple[list[_AnySeen], list[_AnySeen]] = ([], [])
    for each in seen:
        parts[each.suspect].append(each)
    return parts


def headline(seen: Iterable[_HasSuspect]) -> str:
    """``12 findings, 3 suspects``; without suspects ``12 findings``."""
    findings, suspects = split_suspects(seen)
    return counted(len(findings), "finding") + (f", {counted(len(suspects), 'suspect')}" if suspects else "")


def counted(number: int, noun: str) -> str:
    """``1 finding``, ``2 findings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
