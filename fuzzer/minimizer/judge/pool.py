"""Judging on several workers at the same time, also what does not fail every time; and what runs the queries."""

from __future__ import annotations

import contextlib
import math
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fuzzer.minimizer.search.messages import EnteredCase, Failing, ProposalRequest, ProposedModules
from fuzzer.worker.child import Elsewhere

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.minimizer.judge.judge import Judge


class _Lazy(Future[Any]):
    """A call that runs when its result is asked for."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        super().__init__()
        self._call = function, arguments

    def result(self, timeout: float | None = None) -> Any:
        if not self.done():
            function, arguments = self._call
            self.set_result(function(*arguments))
        return super().result()


class Asked(Executor):
    """Runs calls when their results are asked for, in the caller's thread; what is cancelled before never runs."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Hand in a call."""
        return _Lazy(function, arguments)


MISSED = 0.05
"""How often a candidate that fails as often as the finding itself may be taken for one that does not."""
MOST_TRIES = 8


def tries_for(rate: float) -> int:
    """Return how many fresh processes judge a candidate of a finding that shows in such a share of them."""
    return 1 if rate >= 1.0 else min(MOST_TRIES, math.ceil(math.log(MISSED) / math.log(1.0 - rate)))


class JudgePool:
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
        self.tasks: Executor = Asked()
        """Runs the queries of a search on these judges."""
        if count > 1:
            self.tasks = ThreadPoolExecutor(max_workers=count, thread_name_prefix="relaxfuzz-minimize")

    def __enter__(self) -> JudgePool:
        return self

    def __exit__(self, *_: object) -> None:
        self.tasks.shutdown(wait=False, cancel_futures=True)
        for judge in self._all:
            judge.worker.kill()  # what is still under way is not wanted any more
        self.tasks.shutdown(wait=True)
        for judge in self._all:
            judge.worker.close()

    @contextlib.contextmanager
    def judge(self) -> Iterator[Judge]:
        """Give an idle judge, which the calling thread has for itself."""
        judge = self._idle.get()
        try:
            yield judge
        finally:
            self._idle.put(judge)

    def failures(self, case: Case) -> tuple[Failing, ...]:
        """Return all failures of a case."""
        with self.judge() as judge:
            if self._tries == 1:
                return judge.failures(case)
            found: dict[str, Failing] = {}
            for _ in range(self._tries):
                judge.worker.fresh()
                found |= {failing.id: failing for failing in judge.failures(case)}
                if self._signature in found:
                    break
            return tuple(found.values())

    def propose(self, request: ProposalRequest) -> ProposedModules | None:
        """Return candidates, or ``None`` when they cannot be had."""
        with self.judge() as judge:
            return judge.propose(request)

    def enter(self, case: Case, culprit: str) -> tuple[EnteredCase, ...] | None:
        """Return the cases that begin at the pass at fault, or ``None`` when they cannot be had."""
        with self.judge() as judge:
            answer = judge.ask(Elsewhere("fuzzer.minimizer.entering", "entered"), case, culprit)
            return answer if isinstance(answer, tuple) else None
