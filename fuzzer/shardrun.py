"""Running a shard in an isolated worker: a death becomes a finding and ends the piece; the campaign runs the rest."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from fuzzer.cases import Case
from fuzzer.drawing import subjects_per_module
from fuzzer.isolation import DOUBTS, Died, IsolatedWorker
from fuzzer.pool import Deed
from fuzzer.records import Hit, ShardResult
from fuzzer.shards import (
    ExampleBegun,
    ExampleDone,
    Failure,
    ModuleDrawn,
    ShardTask,
    example_case,
    generator_fault,
    run_shard,
)
from fuzzer.signatures import death_verdict, signature
from fuzzer.stopwatch import DRAW
from oracles.verdict import Outcome


class _Reply:
    """Collects what the worker says of one piece."""

    def __init__(self, task: ShardTask) -> None:
        self._task = task
        self.result = ShardResult(task.number, task.first, task.first)
        self.current: ExampleBegun | None = None
        self._since = time.monotonic()  # when the current example began
        self._drawn: list[ModuleDrawn] = []  # none of their examples is done: a resume draws them again

    def take(self, item: object) -> None:
        result = self.result
        if isinstance(item, ModuleDrawn):
            self._drawn.append(item)
        elif isinstance(item, ExampleBegun):
            self.current, self._since = item, time.monotonic()
        elif isinstance(item, ExampleDone):
            self.current, result.stop = None, item.index + 1
            self._count_modules()
            self._count_rewrite(item)
            result.examples += 1
            for step, seconds in item.spent:
                key = (step, "" if step == DRAW else item.judged)
                result.spent[key] = result.spent.get(key, 0.0) + seconds
            result.tallies.update(item.said)
            for failure in item.failures:
                self._hit(item.index, failure)
            self._count_failing(item)

    def _count_failing(self, done: ExampleDone) -> None:
        """Where the time of the example went, should its findings be known ones."""
        failing, ids = self.result.failing, {failure.signature_id for failure in done.failures}
        for finding_id in ids:
            taken = time.monotonic() - self._since
            failing[finding_id] = failing.get(finding_id, 0.0) + taken / len(ids)

    def again(self) -> None:
        """The shard goes on behind the last example that was judged, in another process."""
        self.current = None
        self._drawn.clear()

    def finish(self, stop: int) -> None:
        """The shard was gone through up to ``stop``."""
        self._count_modules()
        self.result.stop = stop

    def _count_modules(self) -> None:
        coverage = self.result.coverage
        for drawn in self._drawn:
            self.result.discarded += drawn.discarded
            self.result.modules += 1
            coverage.bindings += drawn.bindings
            coverage.repeated += drawn.repeated
            coverage.outdone += drawn.outdone
            coverage.features.update(drawn.features)
            coverage.idioms.update(drawn.idioms)
            coverage.operators.update(drawn.operators)
            coverage.operands.update(drawn.operands)
            coverage.pairs.update(drawn.pairs)
            if drawn.origin is not None:
                coverage.neighbours += drawn.origin.parent is not None
                self.result.origins[drawn.number] = drawn.origin
        self._drawn.clear()

    def _count_rewrite(self, done: ExampleDone) -> None:
        if not done.judged:
            return
        coverage = self.result.coverage
        coverage.judged[done.judged] += 1
        if done.rewrite:
            coverage.changed[done.judged] += 1
            coverage.rewrites[done.judged, done.rewrite] += 1
        if self._task.pool is not None:
            deed = Deed(done.index // subjects_per_module(self._task.config), done.judged, done.rewrite)
            self.result.deeds.append(deed)

    def _hit(self, index: int, failure: Failure) -> None:
        hits = self.result.hits
        known = hits.get(failure.signature_id)
        if known is not None:
            hits[failure.signature_id] = replace(known, count=known.count + 1)
        elif failure.case is not None:
            hits[failure.signature_id] = Hit(signature(failure.verdict), failure.verdict, failure.case, index, 1)


def run_isolated(worker: IsolatedWorker, task: ShardTask, stop: threading.Event) -> ShardResult:
    """A shard from ``task.first`` on: up to its end, up to a death, or up to where it was when ``stop`` was set.

    A death counts as the verdict on the case that died, which the piece ends with: so a finding is recorded when it
    happens, not after all other hangs of the shard. The result's ``stop`` tells where to go on. Where somebody else
    may have ended the process, the case is judged again first.

    Raises:
        fuzzer.isolation.ChildError: an error of this program.
    """
    reply = _Reply(task)
    place, doubts = -1, 0
    while True:
        died = None
        for item in worker.stream(run_shard, replace(task, first=reply.result.stop)):
            if stop.is_set():
                worker.fresh()
                return reply.result
            if isinstance(item, Died):
                died = item
            else:
                reply.take(item)
        if died is None:
            reply.finish(task.limit)
            return reply.result
        place, doubts = reply.result.stop, doubts + 1 if place == reply.result.stop else 1
        if not died.doubtful or doubts > DOUBTS:
            _bury(worker, task, reply, died, stop)
            return reply.result
        reply.again()


def _bury(worker: IsolatedWorker, task: ShardTask, reply: _Reply, died: Died, stop: threading.Event) -> None:
    """What is said of the example that killed its process; when it died while drawing a module, of all on it."""
    begun = reply.current
    if begun is None:
        per_module = subjects_per_module(task.config)
        first = reply.result.stop
        end = min((first // per_module + 1) * per_module, task.limit)
        for index in range(first, end):
            reply.take(generator_fault(index, f"the generator died: {died.kind}"))
        return
    case = worker.call(_redraw, (task, begun.index))
    if not isinstance(case, Case):
        if stop.is_set():
            return  # killed with the campaign; a resume judges the case again
        reply.take(generator_fault(begun.index, f"the case that died cannot be drawn again: {died.kind}"))
        return
    verdict = death_verdict(died, begun.name)
    said = (verdict.oracle.value, verdict.culprit, Outcome.FAIL.value, "")
    failure = Failure(verdict, signature(verdict).id, case)
    reply.take(ExampleDone(begun.index, (said,), (failure,), begun.judged))


def _redraw(request: tuple[ShardTask, int]) -> Any:
    task, index = request
    return example_case(task, index)
