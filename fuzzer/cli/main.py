"""The command line ``relaxfuzz``: finds the verbs, checks the installation, keeps errors to one line."""

from __future__ import annotations

import errno
import importlib.metadata
import io
import logging
import os
import sys
import tempfile
import traceback

from fuzzer.cli.options import GROUPS, PROGRAM, entry_points, parser_of
from fuzzer.core.installed import require_plain_directory, require_working_pair, versions
from fuzzer.core.text import first_line, printable, shorten
from fuzzer.core.verb import INTERNAL, INTERRUPTED, OK, USAGE, UsageError, Verb
from fuzzer.worker import session_files
from relaxkit.near import near_matches
from relaxkit.passes.plugins import PluginError

BROKEN_PIPE = 141
_LEVELS = {"-q": logging.WARNING, "--quiet": logging.WARNING, "-v": logging.DEBUG, "--verbose": logging.DEBUG}
_UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP)
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)
MOST_SAID = 1500
"""Characters of a line of ours."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code, which :func:`_overview` explains."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    level = logging.INFO
    while argv and (asked := _LEVELS.get(argv[0])) is not None:
        level = asked
        del argv[0]
    logging.getLogger(PROGRAM).setLevel(level)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test may have put another there
            stream.reconfigure(errors="backslashreplace")  # of what the terminal's encoding has no sign for
    try:
        if sys.stdout is None:  # somebody closed it
            raise UsageError("there is no standard output to write to")
        code = _dispatch(argv)
        sys.stdout.flush()
        return code
    except (UsageError, PluginError) as error:
        line = shorten(printable(" ".join(str(error).split())), MOST_SAID)
        print(f"relaxfuzz: error: {line}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # The reader of our output has gone (`relaxfuzz findings | head`): not an error of ours.
        # Not 0 either: a gate that was not heard to the end has not passed. 141 is what a shell says of SIGPIPE.
        _mute()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno in _UNUSABLE:
            line = shorten(printable(f"cannot use '{error.filename}': {error.strerror}"), MOST_SAID)
            print(f"relaxfuzz: error: {line}", file=sys.stderr)
            return USAGE
        if error.errno not in _UNWRITABLE:
            return _internal(error)
        _mute()
        print(f"relaxfuzz: error: cannot write: {error.strerror}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("relaxfuzz: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        return _internal(error)


def _mute() -> None:
    """Let what is still to be written to the standard output go nowhere, lest Python complain of it in the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(argv: list[str]) -> int:
    entries = entry_points()
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_overview(entries))
        return OK
    if argv[0] in ("-V", "--version"):
        if argv[1:]:
            raise UsageError(f"{argv[0]} takes no arguments, but was given '{argv[1]}'")
        print("\n".join(f"{name} {version}" for name, version in versions().items()))
        return OK
    if argv[0] not in entries:
        names = list(entries)
        raise UsageError(f"unknown command '{argv[0]}'{near_matches(argv[0], names)} (commands: {', '.join(names)})")
    verb: Verb = entries[argv[0]].load()
    parser = parser_of(verb)
    for given in (each.partition("=")[0] for each in argv[1:] if each[:2] == "--" and "--" not in argv):
        if not (parser._subparsers or given in parser._option_string_actions):  # before what is missing because of it
            parser.error(f"unrecognized arguments: {given}{near_matches(given, parser._option_string_actions)}")
    parsed = parser.parse_args(argv[1:])
    require_plain_directory()
    if verb.needs_tvm:
        require_working_pair()
    return verb.run(parsed)


def _overview(entries: dict[str, importlib.metadata.EntryPoint]) -> str:
    lines = ["usage: relaxfuzz [-q | -v] COMMAND [arguments]", "       relaxfuzz --version", ""]
    lines += ["A differential-testing fuzzer for TVM's Relax passes.", ""]
    others = tuple(name for name in entries if not any(name in names for names in GROUPS.values()))
    for title, names in {**GROUPS, "Others": others}.items():
        shown = [f"  {name:<10} {entries[name].load().help}" for name in names if name in entries]
        lines += [f"{title}:", *shown, ""] if shown else []
    lines += [
        "With -q, relaxfuzz prints only results; with -v, it shows the traceback of an internal error.",
        "`relaxfuzz COMMAND --help` explains a command. Exit codes: 0 done; 1 a gate or check failed, or a",
        "comparison found a difference; 2 bad input, a file that cannot be read or written, or a script that could not",
        "be judged (`repro --check`); 3 undecided, or not enough evidence; 70 internal error; 130 interrupted.",
    ]
    return "\n".join(lines)


def _internal(error: Exception) -> int:
    """Print one line for the user; the traceback goes where a bug report can take it from."""
    if os.environ.get("RELAXFUZZ_DEBUG") or logging.getLogger(PROGRAM).isEnabledFor(logging.DEBUG):
        traceback.print_exc()
        return INTERNAL
    details = f"details in {path}" if (path := _kept(traceback.format_exc())) else "its details could not be written"
    what = f"{type(error).__name__}: {first_line(str(error))}".rstrip(": ")
    print(f"relaxfuzz: internal error: {shorten(what, MOST_SAID)} ({details})", file=sys.stderr)
    return INTERNAL


def _kept(text: str) -> str:
    """Write a file that outlives this session, whose own temporary files go with it; returns its path."""
    try:
        handle, path = tempfile.mkstemp(prefix="relaxfuzz-error-", suffix=".txt", dir=session_files.outside())
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        return ""
    return path


if __name__ == "__main__":
    sys.exit(main())
