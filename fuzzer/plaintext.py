"""Foreign text, such as a message that quotes a module, made fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every control character, escape sequences' first of all, shown as ``?``; line ends stay."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def first_line(text: str, fallback: str = "") -> str:
    """The first line that says something, printable."""
    return next((printable(line.strip()) for line in text.splitlines() if line.strip()), fallback)


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters, the cut marked with dots."""
    return text if len(text) <= width else text[: width - 3] + "..."
