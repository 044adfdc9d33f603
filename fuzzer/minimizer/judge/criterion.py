"""The criterion: what must stay true while a module becomes smaller: of a finding, the signature of its failure.

A hang has time limits of its own: each of its cases costs the limit, and triage judges dozens of them.  The slowest
honest case seen took 3 s, on a loaded machine (``fuzzer.worker.worker.DEFAULT_TIME_LIMIT``).  A hang is recorded, and
confirmed in the end, at the campaign's full limit.  In between shorter limits suffice, because what they let pass
wrongly the full limit refuses.
"""

from __future__ import annotations

import abc
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fuzzer.findings.signature import Signature, signature
from fuzzer.minimizer.judge.judge import Judge, is_hang, judging_oracles, values_matter
from fuzzer.worker.worker import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT
from relaxkit.passes.contract import OracleName

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.minimizer.search.outcome import SearchLimits
    from fuzzer.worker.worker import IsolatedWorker
    from oracles.core.verdict import Verdict

WorkerFactory = Callable[[], "IsolatedWorker"]

RUNS = 3
NEAR = 0.5
"""A case that takes so much of its time limit is near it: on a busy machine a smaller one may look like a hang."""
_ROOM = 4.0
AGAIN_SECONDS = 6.0
"""Limit of the further runs that confirm a hang: twice the slowest honest case."""
SEARCH_SECONDS = 4.0
"""Limit of a candidate of a hang: should an honest one be taken for a hang, the confirmation tells."""
SEARCH_QUERIES = 60
"""Most candidates of a hang: they are what the time of the search allows if every fifth one hangs."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A count of the fresh processes in which a failure showed again.

    Attributes:
        hits: Runs in which it came back.
        runs: Fresh processes that judged the case.
        verdict: A failing verdict of the last hit.
        seconds: Time of the shortest run that showed it.
        problem: Why the last run could not tell, in one line; empty when it could.
    """

    hits: int = 0
    runs: int = 0
    verdict: Verdict | None = None
    seconds: float = 0.0
    problem: str = ""

    @property
    def confirmed(self) -> bool:
        """Say whether every run showed it."""
        return self.runs > 0 and self.hits == self.runs

    @property
    def rate(self) -> float:
        """Share of runs that showed it."""
        return self.hits / self.runs if self.runs else 0.0

    def __str__(self) -> str:
        return f"{self.hits} of {self.runs} runs"

    def followed_by(self, run: Confirmation) -> Confirmation:
        """Return both taken together."""
        shortest = min(filter(None, (self.seconds, run.seconds)), default=0.0)
        return Confirmation(
            self.hits + run.hits, self.runs + run.runs, run.verdict or self.verdict, shortest, run.problem
        )


def isolated_worker() -> IsolatedWorker:
    """Return a worker with the defaults of ``fuzzer.worker.worker``."""
    from fuzzer.worker.worker import IsolatedWorker

    return IsolatedWorker()


@dataclass(frozen=True, kw_only=True)
class Criterion(abc.ABC):
    """A condition that must stay true of a case.

    Attributes:
        seconds: Time limit of one case.
        memory: Memory limit of a worker in bytes.
        workers: Makes a worker, a process of its own.
    """

    seconds: float = DEFAULT_TIME_LIMIT
    memory: int = DEFAULT_MEMORY_LIMIT
    workers: WorkerFactory = isolated_worker

    @property
    @abc.abstractmethod
    def id(self) -> str:
        """The id that a query must answer with."""

    @property
    @abc.abstractmethod
    def text(self) -> str:
        """The criterion in one line."""

    @property
    def least_runs(self) -> int:
        """Fresh processes that must confirm the smallest case at least."""
        return 1

    @property
    def guarded(self) -> bool:
        """Say whether modules must stay inside the operators' domains."""
        return False

    @abc.abstractmethod
    def judge(self, worker: IsolatedWorker) -> Judge:
        """Return a judge for the candidates of a search."""

    def new_judge(self) -> Judge:
        """Return a judge in a worker of its own, which the caller closes."""
        return self.judge(self.workers())

    def limits(self, limits: SearchLimits) -> SearchLimits:
        """Return the limits of the search."""
        return limits

    def confirm(
        self, case: Case, runs: int = RUNS, *, begun: Confirmation | None = None, until: int | None = None
    ) -> Confirmation:
        """Judge a case in fresh processes, one after the other, at the full time limit.

        Args:
            case: The failing case.
            runs: How many processes.
            begun: What the first of these runs gave, where they were made before.
            until: How many of the runs are made; the others are for a call with ``begun``.
        """
        found, until = begun or Confirmation(), runs if until is None else until
        for run in range(found.runs, until):
            found = found.followed_by(self._run(case, found.verdict, last=run == runs - 1))
            if found.problem:
                return replace(found, runs=until)
        return found

    def patient(self, seconds: float) -> Criterion:
        """Return the criterion for a case that takes so long: with a longer time limit, if that is near."""
        return replace(self, seconds=_ROOM * seconds) if self.is_near(seconds) else self

    def is_near(self, seconds: float) -> bool:
        """Say whether a case that takes so long is near the time limit."""
        return seconds > NEAR * self.seconds

    @abc.abstractmethod
    def _run(self, case: Case, seen: Verdict | None, *, last: bool) -> Confirmation:
        """Judge a case in one fresh process; ``seen`` is the verdict of an earlier run."""


@dataclass(frozen=True)
class OracleCriterion(Criterion):
    """A failure of an oracle's.

    Attributes:
        verdict: The failing verdict.
    """

    verdict: Verdict

    @functools.cached_property
    def signature(self) -> Signature:
        """Signature of the verdict."""
        return signature(self.verdict)

    @property
    def oracles(self) -> tuple[OracleName, ...]:
        """The oracles that must run for the failure to show again."""
        return judging_oracles(self.verdict)

    @property
    def id(self) -> str:
        """Id of the signature."""
        return self.signature.id

    @property
    def text(self) -> str:
        """The signature in one line."""
        return self.signature.text

    @property
    def least_runs(self) -> int:
        """Two for numeric findings: the last run builds by another path."""
        return 2 if self.verdict.oracle is OracleName.NUMERIC else 1

    @property
    def guarded(self) -> bool:
        """Say whether modules must stay inside the operators' domains."""
        return values_matter(self.verdict)

    def judge(self, worker: IsolatedWorker) -> Judge:
        """Return a judge with the finding's own oracle."""
        seconds = min(self.seconds, SEARCH_SECONDS) if is_hang(self.verdict) else self.seconds
        return Judge(worker, self.oracles, seconds, self.memory)

    def limits(self, limits: SearchLimits) -> SearchLimits:
        """Return fewer queries for a hang: each costs its time limit."""
        return replace(limits, queries=min(limits.queries, SEARCH_QUERIES)) if is_hang(self.verdict) else limits

    def is_near(self, seconds: float) -> bool:
        """Say whether a case that does not hang is near the time limit."""
        return not is_hang(self.verdict) and super().is_near(seconds)

    def _run(self, case: Case, seen: Verdict | None, *, last: bool) -> Confirmation:
        """Judge in one process; of a hang only the last run takes the full time.

        For the numeric oracle the last run builds by plain ``relax.build``, where there is a C++ compiler: a defect of
        the fuzzer's own kernel cache must not pass for one of TVM's.
        """
        oracles = self.oracles
        plain = last and OracleName.NUMERIC in oracles
        example = seen if plain else None
        began = time.monotonic()
        limit = self.seconds if last or not is_hang(self.verdict) else min(self.seconds, AGAIN_SECONDS)
        for seconds in (limit, self.seconds):
            with self.workers() as worker:
                failed = Judge(worker, oracles, seconds, self.memory, plain=plain).verdicts(case)
            found = next((item for item in failed if self._matches(item, example)), None)
            if found is not None:
                return Confirmation(1, 1, found, time.monotonic() - began)
            if limit >= self.seconds or not any(map(is_hang, failed)):
                break
            # It hung, but at an earlier step than at the full limit: a slow machine, which is no answer.
        return Confirmation(0, 1)

    def _matches(self, verdict: Verdict, example: Verdict | None) -> bool:
        """Say whether a failure has the signature; like ``example``, it may come by other frames (another build)."""
        found = signature(verdict)
        if found.id == self.id:
            return True
        return example is not None and replace(found, frames=()) == replace(signature(example), frames=())
