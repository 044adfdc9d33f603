"""The parser of each verb, found by entry point, and what several verbs share: arguments, errors of files.

TVM is not imported.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.core.text import printable, to_json
from fuzzer.core.verb import OK, Parser, UsageError, Verb

if TYPE_CHECKING:
    from rich.console import RenderableType


def add_campaign(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Add the directory of a campaign, as ``directory``; ``more`` is added to its help."""
    parser.add_argument("directory", type=Path, metavar="DIR", help=f"the campaign's directory{more}")


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the option of the verbs that run what a campaign holds, as ``trust``."""
    parser.add_argument(
        "--trust", action="store_true",
        help="run the scripts, passes and plugins from a campaign even if the campaign was created or modified on "
        "another machine, by another user or with another program",
    )  # fmt: skip


def add_triage(parser: argparse.ArgumentParser) -> None:
    """Add the file of decisions on families, as ``triage``: ``None`` for that of the working directory."""
    parser.add_argument(
        "--triage", type=Path, metavar="FILE",
        help="a file of decisions about families (groups of findings that seem to have the same cause), written by "
        "`relaxfuzz triage` (default: findings.toml, if it exists)",
    )  # fmt: skip


class _Console(logging.Handler):
    """Writes to the standard error as it is at the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"relaxfuzz: {record.getMessage()}", file=sys.stderr, flush=True)


def inform(line: str) -> None:
    """Log a line for the user, by default on the standard error, beside what a verb prints for programs."""
    if not _LOG.handlers:
        _LOG.addHandler(_Console())
        _LOG.propagate = False
    _LOG.info("%s", printable(line))


_LOG = logging.getLogger("relaxfuzz")
_LOG.setLevel(logging.INFO)


def show(*parts: RenderableType) -> None:
    """Print what a verb has to say to people, on the standard output: what it quotes of a campaign is only text."""
    from fuzzer.core.terminal import rendered

    print(rendered(*parts, stream=sys.stdout), end="", flush=True)


def put_json(value: object) -> int:
    """Print what a verb has to say to programs; returns the exit code of a verb that is done."""
    print(to_json(value, indent=2))
    return OK


@contextlib.contextmanager
def file_errors(verb: str, path: Path | str) -> Iterator[None]:
    """Turn the error of a file that cannot be read or written into one line for the user.

    Args:
        verb: ``read`` or ``write``.
        path: The file, as the user named it.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not a text file") from error
    except OSError as error:
        raise UsageError(f"cannot {verb} '{path}': {error.strerror}") from error


GROUP = "relaxfuzz.verbs"
PROGRAM = "relaxfuzz"
GROUPS = {
    "Get started": ("init", "doctor"),
    "Run campaigns": ("run", "merge"),
    "Look at findings": ("findings", "triage", "minimize", "repro", "bisect", "prove"),
    "Judge and report": ("gate", "baseline", "report"),
    "Look things up": ("passes", "ops", "coverage", "corpus", "completion"),
}
"""The verbs as help shows them; those that others register come last."""


def entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """Return the verbs by name, in the order in which help shows them; those that others register come last."""
    found = {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}
    rank = {name: place for place, name in enumerate(name for names in GROUPS.values() for name in names)}
    return {name: found[name] for name in sorted(found, key=lambda name: (rank.get(name, len(rank)), name))}


def parser_of(verb: Verb) -> Parser:
    """Return the parser of one verb's arguments."""
    parser = Parser(
        prog=f"{PROGRAM} {verb.name}",
        description=verb.help,
        epilog="\n".join(filter(None, [verb.code, f"example: {verb.example}"])),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_arguments(parser)
    return parser


def whole_parser() -> Parser:
    """Build one parser of all verbs, for what must know them all; :mod:`fuzzer.cli.main` loads one verb a call."""
    parser = Parser(prog=PROGRAM, description="A differential-testing fuzzer for TVM's Relax passes.")
    parser.add_argument("-V", "--version", action="store_true", help="print all versions")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND")
    for name, entry in entry_points().items():
        verb: Verb = entry.load()
        verb.add_arguments(verbs.add_parser(name, help=verb.help, allow_abbrev=False))
    return parser
