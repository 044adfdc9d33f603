"""The process that is ended by a signal, or ends itself: only its parent can see that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from fuzzer.repro_pieces.frame import first_line


def in_child(text: str, kind: str, seconds: float) -> tuple[str, str]:
    """Check a module in a child process, which is expected to die of ``kind``.

    Exit codes belong to the passes, which may end the process by any of them: the child says in a line of its own
    how it ended (see ``child``), and when its last one says that it began, it died.
    """
    command = [sys.executable, os.path.abspath(__file__), "child"]
    try:
        done = subprocess.run(
            command, input=text, stdout=subprocess.PIPE, text=True, errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return "DIFFERENT", f"expected {kind}, the child process ended with hang"
    said = [line.removeprefix("CHILD ") for line in done.stdout.splitlines() if line.startswith("CHILD ")]
    if said and said[-1] != "begins":
        outcome, _, rest = said[-1].partition(": ")
        return outcome, rest
    code = done.returncode
    if not said and code >= 0:
        return "ENVIRONMENT", "the child process did not come to the check"
    seen = f"signal {-code}" if code < 0 else f"exit {code}"
    if seen != kind:
        return "DIFFERENT", f"expected {kind}, the child process ended with {seen}"
    return "BUG", f"killed by {seen}" if code < 0 else f"ended itself by {seen}"


def child(begin: Callable[[], Callable[[], tuple[str, str]]]) -> int:
    """In the child process: prepare, say that the check begins, run it, say how it ended, past all buffers."""
    try:
        body = begin()
    except Exception as error:
        said = f"ENVIRONMENT: {type(error).__name__}: {first_line(error)}"
    else:
        os.write(1, b"\nCHILD begins\n")
        try:
            outcome, text = body()
            said = f"{outcome}: {text}" if outcome == "ENVIRONMENT" else "OK: the child process ends normally"
        except (Exception, SystemExit) as error:
            said = f"DIFFERENT: an exception instead: {type(error).__name__}: {first_line(error)}"
    os.write(1, f"\nCHILD {said}\n".encode(errors="replace"))
    return 0
