"""The command line as a whole: the verbs, found by entry point, and the parser of each; TVM is not imported."""

from __future__ import annotations

import argparse
import importlib.metadata

from fuzzer.verb import Parser, Verb

GROUP = "relaxfuzz.verbs"
PROGRAM = "relaxfuzz"
_ORDER = (
    "run",
    "merge",
    "findings",
    "triage",
    "minimize",
    "repro",
    "bisect",
    "gate",
    "baseline",
    "report",
    "passes",
    "ops",
    "corpus",
    "doctor",
    "completion",
)


def entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """The verbs by name, in the order in which help shows them; those that others register come last."""
    found = {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}
    rank = {name: place for place, name in enumerate(_ORDER)}
    return {name: found[name] for name in sorted(found, key=lambda name: (rank.get(name, len(rank)), name))}


def parser_of(verb: Verb) -> Parser:
    """The parser of one verb's arguments."""
    parser = Parser(
        prog=f"{PROGRAM} {verb.name}",
        description=verb.help,
        epilog=f"example: {verb.example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_arguments(parser)
    return parser


def whole_parser() -> Parser:
    """All verbs in one parser, for what must know the whole command line; :mod:`fuzzer.cli` loads one verb a call."""
    parser = Parser(prog=PROGRAM, description="Differential-testing fuzzer for the passes of TVM's Relax.")
    parser.add_argument("-V", "--version", action="store_true", help="print all versions")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    for name, entry in entry_points().items():
        verb: Verb = entry.load()
        verb.add_arguments(verbs.add_parser(name, help=verb.help, allow_abbrev=False))
    return parser
