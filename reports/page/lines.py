"""Texts as lists of numbers of lines: scripts share most of theirs, so that a page of hundreds stays small."""

from __future__ import annotations


class Lines:
    """A table of lines.

    Attributes:
        table: The distinct lines.
    """

    def __init__(self) -> None:
        self.table: list[str] = []
        self._numbers: dict[str, int] = {}

    def add(self, text: str) -> list[int]:
        """Numbers of the lines of ``text``, which joined by line ends give it back."""
        return [self._number(line) for line in text.split("\n")]

    def _number(self, line: str) -> int:
        number = self._numbers.get(line)
        if number is None:
            number = self._numbers[line] = len(self.table)
            self.table.append(line)
        return number
