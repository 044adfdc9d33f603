"""Findings told apart from suspects (``fuzzer.records.SUSPECTS``), and numbers of things in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

SUSPECTS_ARE = "seen, but no script of theirs proves it; not counted as findings"
"""What people are told where suspects are listed."""


class _Seen(Protocol):
    @property
    def suspect(self) -> bool: ...


_AnySeen = TypeVar("_AnySeen", bound=_Seen)


def apart(seen: Iterable[_AnySeen]) -> tuple[list[_AnySeen], list[_AnySeen]]:
    """Findings and suspects, each in the order in which they were given."""
    parts: tuple[list[_AnySeen], list[_AnySeen]] = ([], [])
    for each in seen:
        parts[each.suspect].append(each)
    return parts


def headline(seen: Iterable[_Seen]) -> str:
    """``12 findings, 3 suspects``; without suspects ``12 findings``."""
    findings, suspects = apart(seen)
    return counted(len(findings), "finding") + (f", {counted(len(suspects), 'suspect')}" if suspects else "")


def counted(number: int, noun: str) -> str:
    """``1 finding``, ``2 findings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
