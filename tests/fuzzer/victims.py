"""Functions that isolated workers run in the tests: harmless ones and deadly ones."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fuzzer.worker.child import begin_case, breadcrumb, record_unsent


def double(number: int) -> int:
    return 2 * number


def process(_: object) -> int:
    return os.getpid()


def die(number: int) -> None:
    breadcrumb("crash: Deadly")
    os.kill(os.getpid(), number)
    time.sleep(60)


def null_pointer(_: object) -> None:
    import ctypes

    breadcrumb("crash: Deadly")
    ctypes.string_at(0)


def nap(seconds: float) -> float:
    breadcrumb("crash: Slow")
    time.sleep(seconds)
    return seconds


def spin(_: object) -> None:
    breadcrumb("crash: Busy")
    while True:
        pass


def hang(_: object) -> None:
    breadcrumb("idempotence: Endless")
    while True:
        time.sleep(0.1)


def eat(mebibytes: int) -> int:
    breadcrumb("crash: Hungry")
    hoard = []
    for _ in range(mebibytes):
        hoard.append(bytearray(os.urandom(1024)) * 1024)
    return len(hoard)


def leave(code: int) -> None:
    os._exit(code)


def system_exit(_: object) -> None:
    sys.exit(3)


def recurse(depth: int) -> int:
    return recurse(depth + 1) + 1


def three_then_die(_: object) -> Iterator[int]:
    for number in range(3):
        begin_case()
        breadcrumb(f"crash: case {number}")
        yield number
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)


def slow_cases(seconds: float) -> Iterator[int]:
    """Three cases, each within the limit, together beyond it."""
    for number in range(3):
        begin_case()
        time.sleep(seconds)
        yield number


def noise(_: object) -> None:
    os.write(1, b"to the standard output\n")
    os.write(2, b"to the standard error\n")


def killed_at_first(times: Path) -> int:
    """Twice ended as if from outside; then says how often it was begun."""
    with times.open("a") as file:
        file.write("x")
    if (begun := len(times.read_text())) < 3:
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    return begun


def record_and_die(_: object) -> Iterator[str]:
    record_unsent("told")
    yield "told"
    record_unsent("first")
    record_unsent("second")
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)


def record_and_hang(_: object) -> Iterator[str]:
    yield "told"
    record_unsent("first")
    begin_case()
    breadcrumb("crash: Endless")
    while True:
        pass


def endless(_: object) -> Iterator[int]:
    """Hangs in the first step of its kind."""
    begin_case(counts=True)
    breadcrumb("crash: Endless")
    while True:
        pass
    yield 1
