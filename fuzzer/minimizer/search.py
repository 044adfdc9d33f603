"""The search: greedy, to a fixed point of all reductions, never to another signature, within limits."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from fuzzer.minimizer.messages import Facts, Proposal, Request

if TYPE_CHECKING:
    from fuzzer.cases import Case

Query = Callable[["Case"], "set[str]"]
Proposer = Callable[[Request], "Proposal | None"]


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """When the search stops.

    Attributes:
        queries: How many candidates may be judged.
        seconds: Wall time.
    """

    queries: int = 400
    seconds: float = 45.0


@dataclasses.dataclass(frozen=True, slots=True)
class Minimized:
    """Outcome of a search.

    Attributes:
        case: The smallest case found; the given one when nothing could be removed.
        reproduced: Whether the given case showed its signature at all; when not, nothing was tried.
        queries: Candidates judged.
        seconds: Wall time.
        complete: Whether a fixed point was reached; else a limit ended the search.
        others: Signature ids of other failures met on the way; never accepted, worth a look of their own.
        steps: Names of the reductions that were accepted, in order.
    """

    case: Case
    reproduced: bool
    queries: int = 0
    seconds: float = 0.0
    complete: bool = True
    others: frozenset[str] = frozenset()
    steps: tuple[str, ...] = ()


class _Stop(Exception):
    """A limit was reached."""


class Search:
    """One minimization.

    Args:
        case: Where to start.
        signature: The id that every accepted candidate must show.
        query: Judges a case: the ids of all its failures.
        propose: Gives candidates (``minimizer.propose.propose``, usually in a worker); ``None`` when that died.
        facts: Facts of the case's module.
        numeric: Whether candidates must stay inside the operators' domains.
        limits: When to stop.
    """

    def __init__(
        self,
        case: Case,
        signature: str,
        query: Query,
        propose: Proposer,
        facts: Facts,
        *,
        numeric: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.case = case
        self.signature = signature
        self.query = query
        self.propose = propose
        self.facts = facts
        self.hazards = facts.hazards if numeric else None
        self.limits = limits or Limits()
        self.queries = 0
        self.others: set[str] = set()
        self.steps: list[str] = []
        self.seen: set[tuple[str, tuple[str, ...]]] = set()
        self.started = time.monotonic()

    def run(self) -> Minimized:
        """Reduce until nothing applies any more or a limit is reached."""
        if not self._fails(self.case):
            return self._result(reproduced=False, complete=True)
        complete = True
        try:
            self._passes()
            self._empty()
            while self._round():
                self._passes()
            self._final()
        except _Stop:
            complete = False
        return self._result(reproduced=True, complete=complete)

    def _result(self, *, reproduced: bool, complete: bool) -> Minimized:
        seconds = time.monotonic() - self.started
        others = frozenset(self.others - {self.signature})
        return Minimized(self.case, reproduced, self.queries, seconds, complete, others, tuple(self.steps))

    def _fails(self, case: Case) -> bool:
        if self.queries >= self.limits.queries or time.monotonic() - self.started >= self.limits.seconds:
            raise _Stop
        self.queries += 1
        found = self.query(case)
        self.others |= found
        return self.signature in found

    def _accept(self, case: Case, name: str) -> bool:
        if not self._fails(case):
            return False
        self.case = case
        self.steps.append(name)
        return True

    def _passes(self) -> None:
        """Drop passes of a pipeline, from the back."""
        index = len(self.case.passes) - 1
        while index >= 0 and len(self.case.passes) > 1:
            fewer = self.case.passes[:index] + self.case.passes[index + 1 :]
            self._accept(dataclasses.replace(self.case, passes=fewer), "drop a pass")
            index -= 1

    def _empty(self) -> None:
        """A pass that fails on everything fails on nothing at all."""
        if self.hazards is None:
            self._accept(dataclasses.replace(self.case, module_json=self.facts.empty_json), "empty module")

    def _round(self) -> bool:
        """All reductions once; whether any of them was accepted."""
        changed = False
        for index, (_, final) in enumerate(self.facts.reductions):
            if not final:
                changed = self._exhaust(index) or changed
        return changed

    def _final(self) -> None:
        for index, (_, final) in enumerate(self.facts.reductions):
            if final:
                self._exhaust(index)

    def _exhaust(self, index: int) -> bool:
        changed = False
        start: tuple[int, ...] | None = None
        tried = False
        while True:
            request = Request(self.case.module_json, index, start, tried, hazards=self.hazards)
            proposal = self.propose(request)
            if proposal is None:
                return changed
            accepted = None
            for candidate in proposal.candidates:
                mark = (candidate.digest, tuple(item.expression for item in self.case.passes))
                if mark in self.seen:
                    continue
                self.seen.add(mark)
                smaller = dataclasses.replace(self.case, module_json=candidate.module_json)
                if self._accept(smaller, self.facts.reductions[index][0]):
                    accepted = candidate
                    break
            if accepted is not None:
                changed, start, tried = True, accepted.key, False
            elif proposal.last is None:
                return changed
            else:
                start, tried = proposal.last, True


def minimize(
    case: Case,
    signature: str,
    query: Query,
    propose: Proposer,
    facts: Facts,
    *,
    numeric: bool = False,
    limits: Limits | None = None,
) -> Minimized:
    """Make ``case`` smaller while it keeps the failure with id ``signature``; see :class:`Search`."""
    return Search(case, signature, query, propose, facts, numeric=numeric, limits=limits).run()
