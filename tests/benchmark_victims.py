"""Parts of a numeric benchmark that die; run in its child processes."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from numeric_pairs import Chunk, Measured, step, title_of


def dies_of_two(chunk: Chunk) -> Measured:
    """Every module leaves a file in the cache; two of them end the process by signal 11."""
    done = 0
    for number in range(chunk.count):
        title = title_of(chunk, number, "SomePass")
        if title in chunk.left_out:
            continue
        step(title, "warm")
        (Path(chunk.directory) / f"{chunk.seed}-{number}-{os.getpid()}").touch()
        if number in (1, 3):
            os.kill(os.getpid(), signal.SIGSEGV)
        done += 1
    return Measured(done, {"warm": 0.5 * done})


def dies_at_once(_chunk: Chunk) -> Measured:
    """Ends the process before any step."""
    os.kill(os.getpid(), signal.SIGSEGV)
    return Measured(0)
