"""What a campaign needs of those who do its work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fuzzer.config import Config
    from fuzzer.records import ShardResult
    from fuzzer.shards import ShardTask
    from fuzzer.triage import TriageJob, TriageResult


class Stopped(Exception):
    """The campaign ends: no new worker is to be had."""


class CrewError(Exception):
    """Nobody is left to do the work; the message is one line for the user. What was recorded can be resumed."""


class Crew(Protocol):
    """Runs shards and triage; what comes out depends on the task alone, never on who ran it.

    It is given the campaign's two events: once ``cut`` is set, shards under way end where they are; once ``stop`` is
    set, nothing new is begun.
    """

    @property
    def workers(self) -> int:
        """How many can be at work at the same time."""

    @property
    def slots(self) -> int:
        """How many tasks to hand out at the same time: the workers, and a few that wait for the next one free."""

    def shard(self, task: ShardTask) -> Future[ShardResult]:
        """Run a shard, or the rest of one; its future may raise ``Stopped`` or ``CrewError``."""

    def triage(self, job: TriageJob) -> Future[TriageResult]:
        """Look into a finding; its future may raise as that of :meth:`shard`."""

    def kill(self) -> None:
        """End what is under way at once; its futures come to an end, with or without a result."""

    def close(self) -> None:
        """Give everything back; called once, after :meth:`kill`."""


Muster = Callable[["Config", Path, Path, threading.Event, threading.Event], Crew]
"""Gives a crew, of a configuration, the campaign's directory, the log of what TVM prints, ``stop`` and ``cut``."""
