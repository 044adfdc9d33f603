"""What all tests share: the planted passes as ``planted``, whatever import mode pytest uses, and what Hypothesis draws.

Slow tests take turns (CONTRIBUTING.md): ``--turn DAY/N`` runs one of N parts, each test once in N days, in another part
in the next N; ``--begin-within SECONDS`` begins no test after that, and skips the rest.

Hypothesis draws the same modules on every machine and at every run, so that a red run is the change's and not the
day's.  Exploring is what campaigns are for; ``HYPOTHESIS_PROFILE=explore`` lets the tests explore as well.

TVMScript's decorators ask for the stack at each function.  `inspect` looks through all modules for the file of each of
its frames, which is a third of the time to collect these tests; `quick_stack` reads the same lines from the files.
"""

from __future__ import annotations

import gc
import inspect
import linecache
import os
import signal
import sys
import time
import zlib
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

# As in an activated environment: commands that are printed name programs by their paths elsewhere.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# At the end of the path: a directory of tests named after a room must not hide the room.
sys.path.append(str(Path(__file__).resolve().parent))

from warm_scripts import WarmScripts, run_test_copy

# Hundreds of processes load the same code: the first one of them compiles it, whatever the environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(_PROFILE := os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


class SameConstants(providers.HypothesisProvider):
    """Draws numbers and texts as Hypothesis does, but not those that the loaded modules contain.

    Which modules are loaded depends on the tests that ran before, and which of them count on where the checkout lies:
    none of those below a directory `tests`.
    """

    _local_constants = Constants()


assert hasattr(providers.HypothesisProvider, "_local_constants"), "Hypothesis has it elsewhere"
if _PROFILE == "fixed":
    providers.AVAILABLE_PROVIDERS["hypothesis"] = SameConstants

# A shell without job control ignores Ctrl-C for what it runs in the background, and children inherit that: campaigns
# that tests interrupt would not end, as they heed `nohup`.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def quick_stack(context: int = 1) -> list[inspect.FrameInfo]:
    """As `inspect.stack`, with one line of each frame."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals)
        context_lines = [line] if line else None
        found.append(
            inspect.FrameInfo(frame, code.co_filename, frame.f_lineno, code.co_name, context_lines, 0 if line else None)
        )
        frame = frame.f_back
    return found


inspect.stack = quick_stack


@pytest.fixture(scope="session", autouse=True)
def _warm_scripts() -> Iterator[None]:
    """Scripts that are checked run in forks of a process that has loaded TVM: of one, wherever they are put."""
    from fuzzer.repro import pristine, run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "subprocess", WarmScripts())
        patch.setattr(pristine, "run_copy", run_test_copy)
        yield


_BEGUN = time.monotonic()


def part_of(test: str, turn: str) -> bool:
    """Say whether it is a test's turn."""
    day, count = (int(part) for part in turn.split("/"))
    return (zlib.crc32(f"{test} {day // count}".encode()) + day) % count == 0


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("turns of slow tests")
    group.addoption("--turn", metavar="DAY/N", help="run the tests whose turn it is on this day, each once in N days")
    group.addoption("--begin-within", type=float, metavar="SECONDS", help="skip what would begin later")


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One process more than cores: a third of the time tests wait, for limits, for ends and for other processes."""
    return (yield) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage: nearly all that is made stays, and need not be looked at again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turn = config.getoption("turn")
    if turn:
        config.hook.pytest_deselected(items=_kept(items, turn, False))
        items[:] = _kept(items, turn, True)


def _kept(items: Iterable[pytest.Item], turn: str, now: bool) -> list[pytest.Item]:
    return [item for item in items if part_of(item.nodeid, turn) is now]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    within = item.config.getoption("begin_within")
    if within is not None and time.monotonic() - _BEGUN > within:
        pytest.skip(f"begins later than --begin-within, {within:g} s; its turn comes again")
