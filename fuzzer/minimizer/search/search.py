"""The search: to a fixed point of all reductions, never to another signature, within limits.

What it does depends on the case and on what the queries say, not on how many of them run at the same time: candidates
are tried in the order in which they are proposed, the first that shows the signature is accepted, and what was asked
ahead of that is kept for when it is wanted, or forgotten.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from fuzzer.minimizer.judge.pool import Asked
from fuzzer.minimizer.search.messages import (
    EnteredCase,
    Failing,
    ProposalRequest,
    ProposedModules,
    SmallerModule,
    StartFacts,
)
from fuzzer.minimizer.search.outcome import Minimized, Other, SearchLimits, Stopped
from fuzzer.minimizer.search.passes import shorter, simpler
from relaxkit.ir.domain import ORDINARY

if TYPE_CHECKING:
    from fuzzer.core.case import Case

Query = Callable[["Case"], "Sequence[Failing]"]
Proposer = Callable[[ProposalRequest], "ProposedModules | None"]
Entering = Callable[["Case", str], "tuple[EnteredCase, ...] | None"]
Mark = tuple[str, int, tuple[str, ...]]

MOST_OTHERS = 16
"""Other failures that are kept; a search that meets more of them has found a module that breaks everything."""
_MOST_FOLDED = 32
_UNTIL_ENTERED = 0.6
"""Share of the limits for the case with all that leads up to the pass at fault; the rest is for what is left of it."""
_MOST_ENTRIES = 3
_SHARED = 2  # times as long a small module may get by an edit: one built by hand has one node for types in many places
_MOST_WRITTEN_OUT = 65_000
"""Characters of JSON of a module that is written out, some hundred lines: what makes a longer one is easier to read."""


class _Stop(Exception):
    """A limit was reached."""

    def __init__(self, why: Stopped) -> None:
        super().__init__(str(why))
        self.why = why


@dataclasses.dataclass(frozen=True, slots=True)
class _Reached:
    """A case and its module's digest."""

    case: Case
    digest: str

    @property
    def mark(self) -> Mark:
        """Equal for cases that cannot be told apart."""
        return self.digest, self.case.input_seed, tuple(item.expression for item in self.case.passes)


@dataclasses.dataclass
class Search:
    """One minimization: makes ``case`` smaller while it keeps the failure with id ``signature``.

    Attributes:
        case: Where to start.
        signature: The id that every accepted candidate must show.
        query: Judges a case: all its failures.
        propose: Gives candidates (``minimizer.propose.propose``, usually in a worker); ``None`` when that died.
        facts: Facts of the case's module.
        numeric: Whether candidates must stay inside the operators' domains.
        limits: When to stop.
        enter: Gives cases that begin at the pass at fault (``minimizer.entering.entered``); none for the user's own
            criterion, for which no pass prepares the module.
        tasks: Runs the queries; both ``query`` and ``propose`` must bear it.
        save: Is given each new best case at once.
        stop: Says that the search is to end with what it has.
    """

    case: Case
    signature: str
    query: Query
    propose: Proposer
    facts: StartFacts
    _: dataclasses.KW_ONLY
    numeric: bool = False
    limits: SearchLimits = dataclasses.field(default_factory=SearchLimits)
    enter: Entering | None = None
    tasks: Executor = dataclasses.field(default_factory=Asked)
    save: Callable[[Case], None] | None = None
    stop: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        self.state = _Reached(self.case, self.facts.digest)
        self.hazards = self.facts.hazards if self.numeric else None
        self.culprit = ""
        self.queries = 0
        self.others: dict[str, Other] = {}
        self.steps: list[str] = []
        self.trail: list[Case] = []
        self.answers: dict[Mark, bool] = {}
        self.asked: dict[Mark, Future[Any]] = {}
        self.started = time.monotonic()
        self.share = 1.0
        self.unentered: _Reached | None = None
        self.invalid: Counter[str] = Counter()

    def run(self) -> Minimized:
        """Reduce until nothing applies any more or a limit is reached."""
        reproduced, stopped = False, None
        try:
            reproduced = self._first([self.state]) is not None
            if reproduced:
                self._reduce()
        except _Stop as stop:
            stopped = stop.why
        except KeyboardInterrupt:
            stopped = Stopped.INTERRUPT
        if self.unentered is not None:
            least = len(self.unentered.case.module_json)
            if len(self.state.case.module_json) > max(least, _MOST_WRITTEN_OUT):
                self._take(self.unentered, "keep what makes the module")
        else:
            self._least()
        others = tuple(other for name, other in self.others.items() if name != self.signature)
        seconds = time.monotonic() - self.started
        return Minimized(
            self.state.case, reproduced, self.queries, seconds, stopped, others, tuple(self.steps), tuple(self.trail),
            self.invalid,
        )  # fmt: skip

    def _least(self) -> None:
        """Go back to the smallest case where the search has ended with one that is larger than the first."""
        alike = [each for each in (self.case, *self.trail) if each.passes == self.state.case.passes]
        least = min(alike, key=lambda case: len(case.module_json))
        if len(self.state.case.module_json) > _SHARED * len(self.case.module_json):
            self._take(_Reached(least, ""), "go back to the smallest")

    # -- the order of things ----------------------------------------------------------------------------------------

    def _reduce(self) -> None:
        """Reduce the case as it was met, which is cheap, then what is left of it where the pass at fault begins."""
        self._empty()
        self.share, through = _UNTIL_ENTERED if self.enter else 1.0, True
        try:
            self._rounds()
        except _Stop as stop:
            if stop.why is Stopped.INTERRUPT or self.share == 1.0:
                raise
            through = False
        self.share = 1.0
        for _ in range(_MOST_ENTRIES):
            if not self._enter() and through:
                return
            self._rounds()
            through = True

    def _enter(self) -> bool:
        """Begin at the pass at fault, if the failure shows there."""
        answer = self.enter(self.state.case, self.culprit) if self.enter else ()
        entries = answer if isinstance(answer, tuple) else ()  # nothing where the process died
        states = [_Reached(item.case, item.digest) for item in entries]
        found = self._first(states)
        if found is None:
            return False
        self.unentered = self.unentered or self.state
        self._take(states[found], "begin at the pass at fault")
        self.hazards = entries[found].hazards if self.numeric else None
        return True

    def _rounds(self) -> None:
        """Rounds until one changes nothing; of states that follow on each other in a circle, always the same one."""
        circle: list[_Reached] = []
        while self.state not in circle:
            circle.append(self.state)
            self._round()
        circle = circle[circle.index(self.state) :]
        best = min(circle, key=lambda state: (len(state.case.module_json), state.case.module_json))
        if best != self.state:
            self._take(best, "the smallest of a circle")

    def _round(self) -> None:
        """Try each reduction until it changes nothing more; what polishes when nothing else changed anything."""
        before = self.state
        for final in (False, True):
            self._passes()
            if final:
                self._arguments()
                self._inputs()
            for index, (_, polishes) in enumerate(self.facts.reductions):
                if polishes is final:
                    self._exhaust(index)
            if self.state != before:
                return

    def _passes(self) -> None:
        """Drop passes of a pipeline while that is possible."""
        while True:
            digest, case = self.state.digest, self.state.case
            fewer = [
                _Reached(dataclasses.replace(case, passes=passes), digest)
                for passes in shorter(case.passes, self.culprit)
            ]
            found = self._first(fewer)
            if found is None:
                return
            self._take(fewer[found], "drop passes")

    def _arguments(self) -> None:
        """Simplify the arguments of passes while that is possible."""
        place = 0
        while place < len(passes := self.state.case.passes):
            cases = [
                dataclasses.replace(self.state.case, passes=(*passes[:place], ref, *passes[place + 1 :]))
                for ref in simpler(passes[place])
            ]
            states = [_Reached(case, self.state.digest) for case in cases]
            found = self._first(states)
            if found is None:
                place += 1
            else:
                self._take(states[found], "simplify arguments of a pass")

    def _inputs(self) -> None:
        """Run programs on ordinary values, if they show it there."""
        case = self.state.case
        if self.numeric and case.input_seed not in ORDINARY:
            states = [_Reached(dataclasses.replace(case, input_seed=seed), self.state.digest) for seed in ORDINARY]
            found = self._first(states)
            if found is not None:
                self._take(states[found], "ordinary inputs")

    def _empty(self) -> None:
        """Try the empty module: a pass that fails on everything fails on nothing at all."""
        if self.hazards is None:
            empty = _Reached(
                dataclasses.replace(self.state.case, module_json=self.facts.empty_json), self.facts.empty_digest
            )
            if self._first([empty]) is not None:
                self._take(empty, "empty module")

    def _exhaust(self, index: int) -> None:
        """Accept what one reduction proposes, going on in each smaller module from where it stands.

        After two edits in a row the next ones are tried together, twice as many each time that works.
        """
        here = {self.state.case.module_json}
        request = self._request(index)
        row = 0
        waiting: tuple[ProposalRequest, Future[Any]] | None = None
        while True:
            self._check()
            if waiting is not None and waiting[0] == request:
                proposal: ProposedModules | None = waiting[1].result()
            else:
                if waiting is not None:
                    waiting[1].cancel()
                proposal = self.propose(request)
            waiting = None
            if proposal is None:
                return
            self.invalid.update(proposal.invalid)
            candidates = [item for item in proposal.candidates if item.module_json not in here]
            following = None
            if proposal.last is not None:
                following = dataclasses.replace(request, start=proposal.last, skip_start=True, fold=1)
            states = [self._state(item) for item in candidates]
            pending = [self._ask(state) for state in states]
            if following is not None and not isinstance(self.tasks, Asked):
                waiting = following, self.tasks.submit(self.propose, following)
            found = self._settle(states, pending)
            if found is not None:
                self._take(states[found], self.facts.reductions[index][0])
                here.add(states[found].case.module_json)
                folded = request.fold > 1 and found == 0
                row = 2 * row if folded else row + 1 if request.fold == 1 else 1
                request = dataclasses.replace(
                    self._request(index), start=candidates[found].key, fold=min(row, _MOST_FOLDED) if row > 1 else 1
                )
            elif following is None:
                return
            else:
                row, request = 0, following

    def _request(self, index: int) -> ProposalRequest:
        passes = self.state.case.passes if self.enter is not None else ()
        return ProposalRequest(self.state.case.module_json, index, hazards=self.hazards, passes=passes)

    def _state(self, candidate: SmallerModule) -> _Reached:
        return _Reached(dataclasses.replace(self.state.case, module_json=candidate.module_json), candidate.digest)

    def _take(self, state: _Reached, name: str) -> None:
        self.state = state
        self.steps.append(name)
        self.trail.append(state.case)
        if self.save is not None:
            self.save(state.case)

    # -- queries ----------------------------------------------------------------------------------------------------

    def _first(self, states: Sequence[_Reached]) -> int | None:
        """Index of the first state that shows the signature."""
        return self._settle(states, [self._ask(state) for state in states])

    def _ask(self, state: _Reached) -> Future[Any] | None:
        """Have a state judged, unless that is known."""
        mark = state.mark
        if mark in self.answers:
            return None
        if mark not in self.asked:
            self.asked[mark] = self.tasks.submit(self.query, state.case)
        return self.asked[mark]

    def _settle(self, states: Sequence[_Reached], pending: Sequence[Future[Any] | None]) -> int | None:
        for index, (state, asked) in enumerate(zip(states, pending, strict=True)):
            mark = state.mark
            if mark not in self.answers:
                assert asked is not None
                self._check()
                self.queries += 1
                self.answers[mark] = self._judged(state.case, asked.result())
                self.asked.pop(mark, None)
            if self.answers[mark]:
                self._forget(states[index + 1 :])
                return index
        return None

    def _forget(self, states: Iterable[_Reached]) -> None:
        """Do not begin what is no longer wanted; what has begun may be of use later."""
        for state in states:
            asked = self.asked.get(state.mark)
            if asked is not None and asked.cancel():
                del self.asked[state.mark]

    def _judged(self, case: Case, failures: Sequence[Failing]) -> bool:
        for failing in failures:
            if failing.id == self.signature and failing.verdict is not None:
                self.culprit = failing.verdict.culprit
            if failing.id != self.signature and len(self.others) < MOST_OTHERS:
                self.others.setdefault(failing.id, Other(failing, case))
        return any(failing.id == self.signature for failing in failures)

    def _check(self) -> None:
        if self.stop is not None and self.stop():
            raise _Stop(Stopped.INTERRUPT)
        if self.queries >= self.share * self.limits.queries:
            raise _Stop(Stopped.QUERIES)
        if time.monotonic() - self.started >= self.share * self.limits.seconds:
            raise _Stop(Stopped.TIME)
