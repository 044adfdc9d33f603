"""The command line ``relaxfuzz``: finds the verbs, checks the installation, keeps errors to one line."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
import tempfile
import traceback

from fuzzer.environment import EnvironmentFault, require_working_pair
from fuzzer.tomlfile import near_matches
from fuzzer.verb import INTERNAL, OK, USAGE, Parser, UsageError, Verb

GROUP = "relaxfuzz.verbs"
BROKEN_PIPE = 141
_ORDER = (
    "run",
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
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code (0 done, 1 gate failed, 2 usage, 3 no evidence, 70 internal error)."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        return _dispatch(given)
    except (UsageError, EnvironmentFault) as error:
        print(f"relaxfuzz: error: {' '.join(str(error).split())}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # The reader of our output has gone (`relaxfuzz findings | head`): not an error of ours.
        # Not 0 either: a gate that was not heard to the end has not passed. 141 is what a shell says of SIGPIPE.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("relaxfuzz: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        return _internal(error)


def _dispatch(given: list[str]) -> int:
    entries = {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}
    names = sorted(entries, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    if not given or given[0] in ("-h", "--help", "help"):
        print(_overview(entries, names))
        return OK
    if given[0] in ("-V", "--version"):
        print(f"relaxfuzz {importlib.metadata.version('relaxfuzz')}")
        return OK
    if given[0] not in entries:
        raise UsageError(
            f"no verb is called '{given[0]}'{near_matches(given[0], names)} (there are {', '.join(names)})"
        )
    verb: Verb = entries[given[0]].load()
    parser = Parser(
        prog=f"relaxfuzz {verb.name}",
        description=verb.help,
        epilog=f"example: {verb.example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_arguments(parser)
    parsed = parser.parse_args(given[1:])
    if verb.needs_tvm:
        require_working_pair()
    return verb.run(parsed)


def _overview(entries: dict[str, importlib.metadata.EntryPoint], names: list[str]) -> str:
    lines = ["usage: relaxfuzz VERB [arguments]", "", "Differential-testing fuzzer for the passes of TVM's Relax.", ""]
    lines += [f"  {name:<10} {entries[name].load().help}" for name in names]
    lines += ["", "`relaxfuzz VERB --help` says more. Exit codes: 0 done, 1 gate failed, 2 bad input, 3 not enough"]
    return "\n".join([*lines, "evidence for the gate, 70 internal error."])


def _internal(error: Exception) -> int:
    """One line for the user; the traceback goes where a bug report can take it from."""
    if os.environ.get("RELAXFUZZ_DEBUG"):
        traceback.print_exc()
        return INTERNAL
    handle, path = tempfile.mkstemp(prefix="relaxfuzz-error-", suffix=".txt", text=True)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        traceback.print_exc(file=file)
    first = str(error).strip().splitlines()
    what = f"{type(error).__name__}: {first[0]}" if first else type(error).__name__
    print(f"relaxfuzz: internal error: {what} (details in {path})", file=sys.stderr)
    return INTERNAL


if __name__ == "__main__":
    sys.exit(main())
