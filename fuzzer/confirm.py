"""Confirmation: does a finding show again, in fresh processes?"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fuzzer.hangs import confirmation_seconds, is_hang
from fuzzer.minimizer.judging import DEFAULT_MEMORY, DEFAULT_SECONDS, Judge

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from fuzzer.isolation import IsolatedWorker
    from oracles.verdict import OracleName, Verdict

WorkerFactory = Callable[[], "AbstractContextManager[IsolatedWorker]"]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How often a finding showed again.

    Attributes:
        hits: Runs in which the signature came back.
        runs: Fresh processes that judged the case.
        verdict: A failing verdict of the last hit.
        seconds: Time of the shortest run that showed it.
    """

    hits: int
    runs: int
    verdict: Verdict | None = None
    seconds: float = 0.0

    @property
    def confirmed(self) -> bool:
        """Whether every run showed it."""
        return self.runs > 0 and self.hits == self.runs

    @property
    def rate(self) -> float:
        """Share of runs that showed it."""
        return self.hits / self.runs if self.runs else 0.0

    def __str__(self) -> str:
        return f"{self.hits} of {self.runs} runs"


def confirm(
    case: Case,
    signature_id: str,
    worker_factory: WorkerFactory,
    runs: int = 3,
    *,
    oracles: tuple[OracleName, ...] = (),
    seconds: float = DEFAULT_SECONDS,
    memory: int = DEFAULT_MEMORY,
    recorded: Verdict | None = None,
    begun: Confirmation | None = None,
    until: int | None = None,
) -> Confirmation:
    """Judge ``case`` in ``runs`` fresh processes, one after the other.

    For the numeric oracle the last run builds by plain ``relax.build``, where there is a C++ compiler: a defect of
    the fuzzer's own kernel cache must not pass for one of TVM's.

    Args:
        case: The failing case.
        signature_id: The signature that must come back.
        worker_factory: Gives a context manager of a worker; each entry is a process of its own.
        runs: How many processes.
        oracles: The oracles to run; all when empty.
        seconds: Time limit of one run.
        memory: Memory limit in bytes.
        recorded: The failure as it was recorded: of a hang only the last run takes the full time.
        begun: What the first of these runs gave, where they were made before.
        until: How many of the runs are made; the others are for a call with ``begun``.
    """
    done = begun or Confirmation(0, 0)
    hits, last, shortest = done.hits, done.verdict, done.seconds
    until = runs if until is None else until
    numeric = any(str(oracle) == "numeric" for oracle in oracles)
    limits = confirmation_seconds(recorded, seconds, runs)
    for run in range(done.runs, until):
        limit = limits[run]
        plain = numeric and run == runs - 1
        example = last if plain else None
        began = time.monotonic()
        verdict, failed = _judged(case, signature_id, worker_factory, oracles, limit, memory, example, plain=plain)
        if verdict is None and limit < seconds and any(map(is_hang, failed)):
            # It hung, but at an earlier step than at the full limit: a slow machine, which is no answer.
            verdict, _ = _judged(case, signature_id, worker_factory, oracles, seconds, memory, example, plain=plain)
        if verdict is not None:
            hits, last = hits + 1, verdict
            spent = time.monotonic() - began
            shortest = min(shortest or spent, spent)
    return Confirmation(hits, until, last, shortest)


def _judged(
    case: Case,
    signature_id: str,
    worker_factory: WorkerFactory,
    oracles: tuple[OracleName, ...],
    seconds: float,
    memory: int,
    example: Verdict | None,
    *,
    plain: bool,
) -> tuple[Verdict | None, list[Verdict]]:
    """One run in a fresh process: the failure that was looked for, and all failures."""
    with worker_factory() as worker:
        failed = Judge(worker, oracles, seconds, memory, plain=plain).verdicts(case)
    return next((item for item in failed if _matches(item, signature_id, example)), None), failed


def _matches(verdict: Verdict, signature_id: str, example: Verdict | None) -> bool:
    """Whether a failure has the signature; like ``example``, it may come by other frames (another build path)."""
    from fuzzer.signatures import signature

    found = signature(verdict)
    if found.id == signature_id:
        return True
    return example is not None and replace(found, frames=()) == replace(signature(example), frames=())
