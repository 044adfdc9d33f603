"""The page of the command line, from the parsers that parse it."""

from __future__ import annotations

import argparse
import os
import re

from fuzzer.cli.options import PROGRAM, entry_points, parser_of
from fuzzer.core.verb import Verb

_INTRODUCTION = f"""# Command line

`{PROGRAM} COMMAND --help` prints the same text. After a usage error, {PROGRAM} prints one line to standard error and
exits with code 2. After an internal error, it writes the traceback to a file, prints the name of that file, and
exits with code 70.
"""


def cli_page() -> str:
    """The page as Markdown."""
    os.environ["COLUMNS"] = "100"  # argparse breaks usages there
    return "\n".join([_INTRODUCTION, *(_verb(entry.load()) for entry in entry_points().values())])


def _verb(verb: Verb) -> str:
    lines = [f"## {verb.name}", "", _text(_sentence(verb.help)), "", *_parser(parser_of(verb))]
    return "\n".join([*lines, "Example:", "", "```sh", verb.example, "```", ""])


def _parser(parser: argparse.ArgumentParser) -> list[str]:
    """Usage, arguments and the parsers below."""
    usage = re.sub(r"^usage: ", "", parser.format_usage().strip())
    lines = ["```text", usage, "```", ""]
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    rows = [_row(parser, action) for action in shown if not isinstance(action, argparse._SubParsersAction)]
    if rows:
        lines += ["| argument | what it does |", "|---|---|", *rows, ""]
    for action in shown:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                lines += [f"### {parser.prog.removeprefix(f'{PROGRAM} ')} {name}", "", _text(below.description or "")]
                lines += ["", *_parser(below)]
    return lines


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser._get_formatter()
    value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    if action.option_strings:
        name = ", ".join(f"{option} {value}".strip() for option in action.option_strings)
    else:
        name = value
    text = formatter._expand_help(action) if action.help else ""
    return f"| `{_cell(name)}` | {_cell(_text(text))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _text(text: str) -> str:
    """Help is plain text: what would be markup is not, apart from code in backquotes."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
