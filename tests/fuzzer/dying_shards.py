"""Shards that isolated workers run in the tests: cheap ones, some of whose examples kill the process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import user_passes

from fuzzer.core.config import Config, user_pass
from fuzzer.shard.run import PartialResult, ShardEvent, batched
from fuzzer.shard.shard import ExampleBegun, ExampleDone, ModuleDrawn, ShardTask, run_shard
from fuzzer.worker.child import breadcrumb
from relaxkit.passes.contract import OracleName

CRASHES = (0, 5, 6, 20, 63)
HANG = 33
KILLED_FROM_OUTSIDE = 41
DIES_WHILE_DRAWING = 6
"""A module's number."""


def config() -> Config:
    """Two cheap passes, and one that fails again and again."""
    failing = user_pass(f"{user_passes.__file__}:refuses_second_function")
    return Config(5, ("Normalize",), (failing,), (OracleName.CRASH,), None, 60.0, 1)


@dataclass(frozen=True, slots=True)
class Dying:
    """Runs in the worker: a shard whose process dies now and then.

    Attributes:
        notes: Where it notes the examples that it has judged.
        batched: Whether it tells them together.
        deadly: Whether it dies at all.
        pause: Seconds that an example takes.
    """

    notes: Path
    batched: bool
    deadly: bool = True
    pause: float = 0.0

    def __call__(self, task: ShardTask) -> Iterator[ShardEvent | PartialResult]:
        said = self._said(run_shard(task))
        return batched(task, said) if self.batched else iter(said)

    def _said(self, items: Iterable[ShardEvent]) -> Iterator[ShardEvent]:
        for item in items:
            if isinstance(item, ModuleDrawn) and item.number == DIES_WHILE_DRAWING and self.deadly:
                breadcrumb("draw: the generator")
                os.kill(os.getpid(), signal.SIGABRT)
            if isinstance(item, ExampleDone):
                time.sleep(self.pause)
                self._note(item.index)  # before it is told: whoever has been told of it finds the note
            yield item
            if isinstance(item, ExampleBegun) and self.deadly:
                self._die(item.index)

    def _die(self, index: int) -> None:
        breadcrumb(f"crash: case {index}")
        if index in CRASHES:
            os.kill(os.getpid(), signal.SIGSEGV)
            time.sleep(60)
        elif index == HANG:
            while True:
                pass
        elif index == KILLED_FROM_OUTSIDE and not self._noted(-1):
            self._note(-1)
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)

    def _note(self, index: int) -> None:
        with self.notes.open("a") as file:
            file.write(f"{index}\n")

    def _noted(self, index: int) -> bool:
        return self.notes.exists() and str(index) in self.notes.read_text().split()
