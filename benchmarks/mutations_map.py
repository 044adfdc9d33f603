"""Record which functions of the production code each test runs: a plugin for pytest that `mutations.py` uses.

    PYTHONPATH=benchmarks MUTATIONS_MAP=FILE python -m pytest -p mutations_map ...

A line of the file is a test: its id, the seconds it took, the processor's seconds, and what ran, as ``file:function``.
The processor's seconds include those of all descendants, also of those that go on running.
Programs and workers that a test starts are followed, too: Python imports ``sitecustomize`` when it starts, and the
plugin puts one on the path that loads this module.  What a process that outlives its test runs later counts for the
test that is running then.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = str(Path(__file__).resolve().parent.parent) + os.sep
ROOMS = tuple(ROOT + name + os.sep for name in ("relaxkit", "strategies", "oracles", "fuzzer", "reports", "corpus"))
ROOMS = (*ROOMS, ROOT + "relaxfuzz" + os.sep)
MAP = "MUTATIONS_MAP"
TRAIL = "MUTATIONS_TRAIL"
"""Environment variables: the file to write, and the one to which every process appends what it runs."""

_seen: set[int] = set()  # ids: the hash of a code object is computed anew, over its names and constants
_trail = -1


def function_of(code: CodeType) -> str:
    """Name the function that a code object belongs to; comprehensions and lambdas belong to what holds them."""
    name = getattr(code, "co_qualname", code.co_name)
    return name.partition(".<locals>.<")[0]


def _note(frame: FrameType, event: str, argument: Any) -> None:
    code = frame.f_code
    if id(code) not in _seen:
        _seen.add(id(code))
        if code.co_filename.startswith(ROOMS):
            os.write(_trail, f"{code.co_filename[len(ROOT) :]}:{function_of(code)}\n".encode())


def processor_seconds() -> float:
    """Add up what this process and its descendants have used, living or waited for."""
    parents, used = {}, {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(entry.name)], used[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    children = defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)
    met, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        met += used[process]
        waiting += children[process]
    return met / os.sysconf("SC_CLK_TCK")


def follow() -> None:
    """Append what this process runs, and what its forks run, to the trail."""
    global _trail
    _trail = os.open(os.environ[TRAIL], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.register_at_fork(after_in_child=_seen.clear)
    threading.settrace(_note)
    sys.settrace(_note)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to follow, in the process that runs tests."""
    if os.environ.get("PYTEST_XDIST_WORKER") or not getattr(config.option, "numprocesses", None):
        folder = Path(tempfile.mkdtemp(prefix="mutations-map-"))
        (folder / "sitecustomize.py").write_text("import mutations_map\n\nmutations_map.follow()\n")
        os.environ[TRAIL] = str(folder / "trail")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        follow()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Write a line for a test."""
    if TRAIL not in os.environ:
        return (yield)
    trail = Path(os.environ[TRAIL])
    os.truncate(trail, 0)
    _seen.clear()
    threading.settrace(_note)
    sys.settrace(_note)  # another test may have set another
    begun, used = time.monotonic(), processor_seconds()
    try:
        return (yield)
    finally:
        took, processor = time.monotonic() - begun, processor_seconds() - used
        ran = sorted({line for line in trail.read_text().splitlines() if line.count(":") == 1})
        line = {"test": item.nodeid, "seconds": round(took, 2), "processor": round(processor, 2), "ran": ran}
        with open(os.environ[MAP], "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
