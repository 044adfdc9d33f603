"""Breakpoints are hit exactly where code is run, once, in any thread and process, and change nothing that it does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_library import NAME, compiled

from relaxkit.coverage import breakpoints
from relaxkit.coverage.breakpoints import loaded, table_of
from relaxkit.coverage.elf import CoverageError, Library


def script(tmp_path: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the watched library as ``it``, in a process of its own: breakpoints are never taken back."""
    place = compiled(tmp_path)
    begin = f"import json, os, threading\nfrom small_library import Watched\nit = Watched({str(place)!r})\n"
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": folders, "RELAXFUZZ_CACHE": str(tmp_path / "cache")}
    return subprocess.run(
        [sys.executable, "-c", begin + body], capture_output=True, text=True, env=environment, timeout=120, check=False
    )


def result(tmp_path: Path, body: str) -> Any:
    done = script(tmp_path, body)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_blocks_are_reached_as_functions_are_called(tmp_path: Path) -> None:
    body = """
calls = [("sign", -3), ("sign", -4), ("sign", 0), ("checked", 5), ("checked", 6), ("sign", 7)]
steps = [it.call(*each) for each in calls]
it.breakpoints.arm()
counts = {name: len(each) for name, each in it.blocks.items()}
print(json.dumps([steps, it.call("sign", 0), it.functions.sign(0), counts]))
"""
    steps, again, value, all_of_them = result(tmp_path, body)
    entry_and_way, way = 2, 1
    assert steps[0] == {"sign": entry_and_way}
    assert steps[1] == {}  # the same way
    assert steps[2] == {"sign": 2}  # the second test, and what it leads to
    assert steps[3] == {"sign": way, "checked": 2}
    assert steps[4:] == [{}, {}]
    assert again == {"sign": 3}
    assert value == 5
    assert all_of_them["sign"] == sum(each.get("sign", 0) for each in steps)
    assert all_of_them["checked"] == 2  # that which ends in `abort` does not count
    assert all_of_them["never"] >= 2


def test_some_are_set_anew_and_the_others_are_not(tmp_path: Path) -> None:
    body = """
import numpy
first = [it.call("sign", -3), it.call("checked", 5)]
again = []
for _ in range(9):
    it.breakpoints.arm(numpy.array(it.blocks["sign"][:1]))
    again.append([it.call("sign", -3), it.call("checked", 5)])
print(json.dumps([first, again]))
"""
    first, again = result(tmp_path, body)
    assert first == [{"sign": 2}, {"sign": 2, "checked": 2}]
    assert again == [[{"sign": 1}, {}]] * 9


def test_threads_and_forked_processes_are_heard(tmp_path: Path) -> None:
    body = """
thread = threading.Thread(target=it.functions.sign, args=(1,))
thread.start()
thread.join()
first = it.reached()
if not (child := os.fork()):
    it.functions.never(0)
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps([first, it.reached(), it.call("never", 0)]))
"""
    first, second, third = result(tmp_path, body)
    assert first == {"sign": 3}
    assert second == {"never": 2}
    assert third == {}


def test_a_breakpoint_that_is_not_ours_ends_the_process(tmp_path: Path) -> None:
    assert script(tmp_path, "it.functions.breakpoint()").returncode == -signal.SIGTRAP


def test_a_cache_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, cache = compiled(tmp_path), tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setenv("RELAXFUZZ_CACHE", str(cache))
    monkeypatch.setattr(breakpoints, "loaded", lambda: (place, 0))
    monkeypatch.setattr(breakpoints, "table_of", Library)
    with pytest.raises(CoverageError, match="cannot keep the table of blocks: it must be this user's alone"):
        breakpoints.prepare()
    assert not list(cache.iterdir())


def test_one_line_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAXFUZZ_CACHE", str(tmp_path / "cache"))
    table_of.cache_clear()
    place = compiled(tmp_path)
    with pytest.raises(CoverageError, match=f"no {NAME} is loaded here"):
        loaded((NAME,))
    with pytest.raises(CoverageError, match="0 of its source files can be distinguished, too few"):
        table_of(place)
    text = tmp_path / "text"
    text.write_text("no library" * 100)
    with pytest.raises(CoverageError, match="'text' is not for Linux on x86-64"):
        Library(text)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "capstone", None)
        with pytest.raises(CoverageError, match=r"capstone: pip install 'relaxfuzz\[coverage\]'"):
            table_of(place)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CoverageError, match="no `cc` is found"):
        breakpoints._machine_code()
