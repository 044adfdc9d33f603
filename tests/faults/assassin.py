"""Kills what a campaign is made of, from outside: workers, the fork server.

It goes by the campaign's progress, not by the clock: on a busy machine a case would else be killed again and again.
"""

from __future__ import annotations

import contextlib
import enum
import os
import random
import signal
import threading
from collections import Counter
from pathlib import Path

import psutil

from fuzzer.store.writer import Store, StoreError
from fuzzer.worker.worker import DOUBTS


class Victim(enum.Enum):
    """What is killed."""

    WORKER = "worker"
    SERVER = "fork server"


def _server(coordinator: int) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(coordinator).children():
            with contextlib.suppress(psutil.Error):
                if any("forkserver" in part for part in child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                    return child
    return None


class Assassin:
    """A thread that kills now and then, as long as it is entered.

    Args:
        coordinator: Process of the campaign.
        out: Its directory.
        chance: Decides whom and when.
        pause: Mean number of cases between two kills.

    Attributes:
        killed: How often each was killed, for certain.
    """

    def __init__(self, coordinator: int, out: Path, chance: random.Random, pause: int) -> None:
        self.killed: Counter[Victim] = Counter()
        self._coordinator = coordinator
        self._out = out
        self._chance = chance
        self._pause = pause
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Assassin:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _work(self) -> None:
        wanted = 0
        # A case that ends more processes than these is to blame, whoever ended them: a hang would be hit so often.
        while self.killed.total() < DOUBTS and not self._end.wait(0.02 + 0.1 * self._chance.random()):
            if self._judged() < wanted:
                continue
            wanted = self._judged() + self._chance.randrange(1, 2 * self._pause)
            victim = Victim.SERVER if self._chance.random() < 0.1 else Victim.WORKER
            with contextlib.suppress(psutil.Error, OSError):
                if self._kill(victim):
                    self.killed[victim] += 1

    def _judged(self) -> int:
        """Cases that are recorded; -1 when that cannot be said."""
        with contextlib.suppress(StoreError), Store.open(self._out) as store:
            return store.info().examples
        return -1

    def _kill(self, victim: Victim) -> bool:
        server = _server(self._coordinator)
        if server is None:
            return False
        workers = [each for each in server.children() if each.status() != psutil.STATUS_ZOMBIE]
        if not workers:  # it starts, which takes seconds: who kills it again and again lets nothing begin
            return False
        os.kill((server if victim is Victim.SERVER else self._chance.choice(workers)).pid, signal.SIGKILL)
        return True
