"""Verbs of the command line: what one is, and how it complains."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

ENTRY_POINTS = "relaxfuzz.verbs"
"""Entry-point group under which verbs are found; each entry point is a :class:`Verb`."""


class UsageError(Exception):
    """Something that the user can mend; printed as one line, exit code 2."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb.

    Attributes:
        name: The word on the command line.
        help: What it does, one line.
        add_arguments: Adds its options to a parser; must not import TVM.
        run: Does it and returns the exit code; raises :class:`UsageError` for what the user can mend.
        example: One or more command lines for ``--help``.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    example: str = ""
