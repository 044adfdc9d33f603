"""Judging on several workers at the same time, and judging what does not fail every time."""

from __future__ import annotations

import math
import queue
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fuzzer.minimizer.messages import Failing, Proposal, Request
from fuzzer.minimizer.tasks import Serial, Tasks, Threads

if TYPE_CHECKING:
    from types import TracebackType

    from fuzzer.cases import Case
    from fuzzer.minimizer.judging import Judge

MISSED = 0.05
"""How often a candidate that fails as often as the finding itself may be taken for one that does not."""
MOST_TRIES = 8


def tries_for(rate: float) -> int:
    """How many fresh processes a candidate of a finding gets that shows in such a share of them."""
    if rate >= 1.0:
        return 1
    return min(MOST_TRIES, math.ceil(math.log(MISSED) / math.log(1.0 - rate)))


class Judges:
    """Judges for several threads: each call takes an idle one.  A context manager: its end closes the workers.

    Args:
        make: Makes a judge with a worker of its own.
        count: How many.
        signature: The id that is looked for, where ``tries`` is above 1.
        tries: In how many fresh processes a case is judged before it counts as one that does not fail.
    """

    def __init__(self, make: Callable[[], Judge], count: int = 1, *, signature: str = "", tries: int = 1) -> None:
        self._all: Sequence[Judge] = [make() for _ in range(count)]
        self._idle: queue.SimpleQueue[Judge] = queue.SimpleQueue()
        for judge in self._all:
            self._idle.put(judge)
        self._signature = signature
        self._tries = tries
        self._threads = Threads(count) if count > 1 else None

    @property
    def tasks(self) -> Tasks:
        """What runs the queries of a search on these judges."""
        return self._threads or Serial()

    def __enter__(self) -> Judges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            self._threads.cancel()
        for judge in self._all:
            judge.worker.kill()  # what is still under way is not wanted any more
        if self._threads is not None:
            self._threads.close()
        for judge in self._all:
            judge.worker.close()

    def failures(self, case: Case) -> tuple[Failing, ...]:
        """All failures of a case."""
        judge = self._idle.get()
        try:
            if self._tries == 1:
                return judge.failures(case)
            found: dict[str, Failing] = {}
            for _ in range(self._tries):
                judge.worker.fresh()
                found |= {failing.id: failing for failing in judge.failures(case)}
                if self._signature in found:
                    break
            return tuple(found.values())
        finally:
            self._idle.put(judge)

    def ask(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """Any module-level function in one of the workers; see :meth:`Judge.ask`."""
        judge = self._idle.get()
        try:
            return judge.ask(function, argument)
        finally:
            self._idle.put(judge)

    def propose(self, request: Request) -> Proposal | None:
        """Candidates, or ``None`` when they cannot be had."""
        judge = self._idle.get()
        try:
            return judge.propose(request)
        finally:
            self._idle.put(judge)
