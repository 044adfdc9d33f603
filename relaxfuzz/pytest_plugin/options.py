"""The options of the command line, checked, and which tests judge passes: those run in processes of their own.

Loaded in every run of pytest: it imports nothing of the other rooms before a test is met that judges passes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from relaxfuzz.pytest_plugin.accepted import AcceptedFailures

MARKER = "relaxfuzz"
PROPERTY = "relaxfuzz"
"""Name of the user property of a test that holds what was counted in it."""
MIN_CHANGED = "relaxfuzz_min_changed"
KNOWN = "relaxfuzz_known"
_FACE = "relaxfuzz"
_ROOMS = ("oracles", "strategies")
_HOME = Path(__file__).resolve().parents[2]


OPTIONS = {
    "time": ("TIME", None, "generate modules for this long (90s, 10m) in each test that checks a pass"),
    "seed": ("N", None, "random seed for these tests (default: chosen by Hypothesis)"),
    "minimize": ("TIME", "30s", "time limit for minimizing a failing module (default: 30s)"),
    "case-timeout": ("TIME", "20s", "time limit for one module in a test (default: 20s)"),
    "known": ("FILE", None, "accept findings that this file lists in [[known]] tables"),
    "out": ("DIR", None, "write repro scripts to this directory (default: in pytest's cache)"),
    "script": ("FORM", "short", "form of repro scripts: short, or full (default: short)"),
}
"""The options behind ``--relaxfuzz-``: name of the value, default, help."""
_FORMS = ("short", "full")


@dataclass(frozen=True, slots=True)
class Options:
    """The way in which tests that judge passes are run.

    Attributes:
        seconds: Draw modules for so long in each; ``None``: as many as Hypothesis is set to.
        seed: Decides what is drawn; ``None``: Hypothesis does.
        minimize: Seconds for making a failing module small.
        case_timeout: Seconds for one example.
        out: Directory of the repro scripts; ``None``: pytest's cache.
        known: Failures that are accepted.
        min_changed: Least modules that the pass of a test must change; ``None``: one, where enough were drawn.
        full: Whether repro scripts have the long form.
    """

    seconds: float | None
    seed: int | None
    minimize: float
    case_timeout: float
    out: Path | None
    known: AcceptedFailures
    min_changed: int | None = None
    full: bool = False


def given_options(config: pytest.Config) -> dict[str, str | None]:
    """Return the values of the options of a run of pytest, by name."""
    return {name: config.getoption(f"relaxfuzz_{name.replace('-', '_')}") for name in OPTIONS}


def options_of(config: pytest.Config) -> Options:
    """Read the options of a run of pytest.

    Raises:
        pytest.UsageError: One of them makes no sense.
    """
    from fuzzer.core.config import parse_duration, parse_whole
    from fuzzer.core.verb import UsageError
    from relaxfuzz.pytest_plugin.accepted import AcceptedFailures, load_accepted

    seconds, seed, minimize, case_timeout, known, out, form = given_options(config).values()
    least, listed = str(config.getini(MIN_CHANGED)), str(config.getini(KNOWN))
    if known is None and listed:
        known = str((config.inipath.parent if config.inipath else config.rootpath) / listed)
    try:
        if form not in _FORMS:
            raise UsageError(f"--relaxfuzz-script must be {' or '.join(_FORMS)}, not {form!r}")
        return Options(
            None if seconds is None else parse_duration(seconds),
            None if seed is None else parse_whole(seed, "--relaxfuzz-seed", 0, 2**63 - 1),
            parse_duration(str(minimize)),
            parse_duration(str(case_timeout)),
            None if out is None else Path(out),
            AcceptedFailures() if known is None else load_accepted(Path(known)),
            parse_whole(least, MIN_CHANGED, 0, 10**6) if least else None,
            form == _FORMS[1],
        )
    except UsageError as error:
        text = str(error)
        raise pytest.UsageError(text if text.startswith("--") else f"--relaxfuzz: {text}") from error


def judges_passes(item: pytest.Item) -> bool:
    """Say whether a test names something of ``relaxfuzz``; of one under ``@given``, whether its file does.

    ``@pytest.mark.relaxfuzz`` says so of any other test, ``@pytest.mark.relaxfuzz(isolate=False)`` the contrary.
    Imports nothing: what a test uses has been imported by its file.
    """
    marker = item.get_closest_marker(MARKER)
    if marker is not None:
        return bool(marker.kwargs.get("isolate", True))
    function = getattr(item, "obj", None)
    if inspect.iscoroutinefunction(function):
        return False
    inner: Any = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    inner = inspect.unwrap(inner)
    inner = getattr(inner, "__func__", inner)
    code, names = getattr(inner, "__code__", None), getattr(inner, "__globals__", {})
    if code is None:
        return False
    used = names if getattr(function, "is_hypothesis_test", False) else code.co_names
    return any(_ours(names.get(name)) for name in used)


def _ours(thing: Any) -> bool:
    name = thing.__name__ if isinstance(thing, ModuleType) else str(getattr(thing, "__module__", None) or "")
    room = name.partition(".")[0]
    if room not in _ROOMS and name != _FACE:
        return False
    file = getattr(sys.modules.get(room), "__file__", None)
    return file is not None and Path(file).resolve().parent.parent == _HOME


_MOST_NAMED = 8


def how_to_aim(names: Sequence[str] = (), elsewhere: bool = False) -> str:
    """Say how a test generates modules that its pass acts on.

    Args:
        names: Operators that it generates more often.
        elsewhere: Whether these are all that the files of the pass name.
    """
    see = "see docs/drawing-modules.md in the relaxfuzz repository"
    plant = f"plant=Fragment(...) to insert the pattern that the pass looks for ({see})."
    if names:
        more = f"{len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        where = " (all that its files name, because the source of the pass itself names no operator)" * elsewhere
        listed = " and ".join(filter(None, (", ".join(names[: _MOST_NAMED if more else -1]), more or names[-1])))
        return f"Generating {listed}{where} more often was not enough. Keep `operators`, and add {plant}"
    more = 'ir_modules(operators="FILE.py:PASS") to generate the operators that its source names more often'
    return f"Use {more}, or {plant}"
