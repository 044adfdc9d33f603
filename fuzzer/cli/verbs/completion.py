"""``relaxfuzz completion``: a script that completes verbs, options and files in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from fuzzer.core.verb import OK, UsageError, Verb

_SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "PATH", "FILE.py:FACTORY")
_DIRECTORIES = ("DIR",)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, metavar="|".join(_SHELLS), help="the shell")


def _run(options: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        raise UsageError("completion scripts need shtab: pip install 'relaxfuzz[completion]'") from None
    from fuzzer.cli.options import PROGRAM, whole_parser

    parser = whole_parser()
    places = dict.fromkeys(_FILES, shtab.FILE) | dict.fromkeys(_DIRECTORIES, shtab.DIRECTORY)
    for action in _actions(parser):
        if action.metavar in places:
            action.complete = places[action.metavar]  # type: ignore[attr-defined]  # argparse has none, shtab reads it
    print(shtab.complete(parser, options.shell, root_prefix=PROGRAM))
    return OK


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of the parsers below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)


VERB = Verb(
    name="completion",
    help="print a script that completes commands, options and files in bash, zsh or fish",
    example='eval "$(relaxfuzz completion bash)"',
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
)
