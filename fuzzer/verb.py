"""A verb of the command line; the rooms register theirs under the entry-point group ``relaxfuzz.verbs``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

OK = 0
GATE_FAILED = 1
USAGE = 2
NO_EVIDENCE = 3
INTERNAL = 70


class UsageError(Exception):
    """Bad input; the message is the one line that the user sees, and the exit code is 2."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError`` instead of printing the usage."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb.

    Attributes:
        name: What the user types.
        help: One line.
        example: A command line that works, shown by ``--help``.
        add_arguments: Adds the verb's arguments to its parser.
        run: Does the work; returns the exit code; raises ``UsageError`` for bad input.
        needs_tvm: Whether TVM must be installed in a working pair.
    """

    name: str
    help: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    needs_tvm: bool = True
