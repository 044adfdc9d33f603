"""What must stay true while a module becomes smaller: the signature of a failure, or the user's own criterion."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from fuzzer.confirm import Confirmation, confirm
from fuzzer.hangs import is_hang, search_limits, search_seconds
from fuzzer.minimizer.judging import DEFAULT_MEMORY, DEFAULT_SECONDS, Judge, judging_oracles, values_matter
from fuzzer.minimizer.predicate import PredicateJudge, predicate_id
from fuzzer.signatures import Signature, signature
from oracles.verdict import OracleName

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from fuzzer.isolation import IsolatedWorker
    from fuzzer.minimizer.search import Limits
    from oracles.verdict import Verdict

RUNS = 3
NEAR = 0.5
"""A case that takes so much of its time limit is near it: on a busy machine a smaller one may look like a hang."""
_ROOM = 4.0


class Criterion(Protocol):
    """What must stay true."""

    @property
    def id(self) -> str:
        """The id that a query must answer with."""

    @property
    def text(self) -> str:
        """The criterion in one line."""

    @property
    def numeric(self) -> bool:
        """Whether modules are executed."""

    @property
    def guarded(self) -> bool:
        """Whether modules must stay inside the operators' domains."""

    @property
    def problem(self) -> str:
        """Why the last confirmation could not be had, in one line; empty when it could."""

    def judge(self, worker: IsolatedWorker) -> Judge:
        """A judge for the candidates of a search."""

    def limits(self, limits: Limits) -> Limits:
        """Limits of the search."""

    def confirm(self, case: Case, runs: int = RUNS) -> Confirmation:
        """Judge a case in fresh processes, at the full time limit."""

    def patient(self, seconds: float) -> Criterion:
        """The criterion for a case that takes so long: with a longer time limit, if that is near."""


@dataclass(frozen=True, slots=True)
class OracleCriterion:
    """A failure of an oracle's.

    Attributes:
        verdict: The failing verdict.
        seconds: Time limit of one case.
        memory: Memory limit of a worker in bytes.
    """

    verdict: Verdict
    seconds: float = DEFAULT_SECONDS
    memory: int = DEFAULT_MEMORY

    @property
    def signature(self) -> Signature:
        """Of the verdict."""
        return signature(self.verdict)

    @property
    def id(self) -> str:
        """Id of the signature."""
        return self.signature.id

    @property
    def text(self) -> str:
        """The signature in one line."""
        return self.signature.text

    @property
    def numeric(self) -> bool:
        """Whether modules are executed."""
        return self.verdict.oracle is OracleName.NUMERIC

    @property
    def guarded(self) -> bool:
        """Whether modules must stay inside the operators' domains."""
        return values_matter(self.verdict)

    @property
    def problem(self) -> str:
        """An oracle always has an answer."""
        return ""

    def judge(self, worker: IsolatedWorker) -> Judge:
        """A judge with the finding's own oracle."""
        return Judge(worker, judging_oracles(self.verdict), search_seconds(self.verdict, self.seconds), self.memory)

    def limits(self, limits: Limits) -> Limits:
        """Fewer queries for a hang: each costs its time limit."""
        return search_limits(self.verdict, limits)

    def confirm(self, case: Case, runs: int = RUNS) -> Confirmation:
        """Judge a case in fresh processes."""
        from fuzzer.isolation import IsolatedWorker

        return confirm(
            case, self.id, IsolatedWorker, runs,
            oracles=judging_oracles(self.verdict), seconds=self.seconds, memory=self.memory, recorded=self.verdict,
        )  # fmt: skip

    def patient(self, seconds: float) -> OracleCriterion:
        """With a longer time limit where a case that does not hang is near it."""
        near = not is_hang(self.verdict) and seconds > NEAR * self.seconds
        return replace(self, seconds=_ROOM * seconds) if near else self


@dataclass(slots=True)
class PredicateCriterion:
    """The user's own criterion.

    Attributes:
        target: ``FILE.py:FUNCTION`` or ``package.module:FUNCTION``.
        seconds: Time limit of one call.
        memory: Memory limit of a worker in bytes.
        problem: Why the last confirmation could not be had.
    """

    target: str
    seconds: float = DEFAULT_SECONDS
    memory: int = DEFAULT_MEMORY
    problem: str = field(default="", init=False)
    numeric: bool = field(default=False, init=False)
    guarded: bool = field(default=False, init=False)

    @property
    def id(self) -> str:
        """Stands for the criterion."""
        return predicate_id(self.target)

    @property
    def text(self) -> str:
        """The criterion in one line."""
        return f"{self.target} holds"

    def judge(self, worker: IsolatedWorker) -> PredicateJudge:
        """A judge that asks the function."""
        judge = PredicateJudge(worker, (), self.seconds, self.memory)
        judge.target = self.target
        return judge

    def limits(self, limits: Limits) -> Limits:
        """As they are."""
        return limits

    def confirm(self, case: Case, runs: int = RUNS) -> Confirmation:
        """Ask the function in fresh processes."""
        from fuzzer.isolation import IsolatedWorker

        hits, shortest = 0, 0.0
        for _ in range(runs):
            with IsolatedWorker() as worker:
                judge = self.judge(worker)
                judge.facts(case)  # so that starting the process is not timed
                began = time.monotonic()
                holds = bool(judge.failures(case))
            spent = time.monotonic() - began
            self.problem = judge.problem
            hits += holds
            shortest = min(shortest or spent, spent)
            if judge.problem:
                break
        return Confirmation(hits, runs, None, shortest)

    def patient(self, seconds: float) -> PredicateCriterion:
        """With a longer time limit where a call is near it."""
        return replace(self, seconds=_ROOM * seconds) if seconds > NEAR * self.seconds else self
