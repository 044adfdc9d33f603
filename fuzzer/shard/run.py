"""Running a shard in an isolated worker: a death becomes a finding and ends the piece; the campaign runs the rest."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fuzzer.core.case import Case
from fuzzer.findings.signature import death_verdict, signature
from fuzzer.shard.draw import subjects_per_module
from fuzzer.shard.shard import (
    DRAW,
    ExampleBegun,
    ExampleDone,
    Failure,
    ModuleDrawn,
    ShardTask,
    example_case,
    generator_fault,
    run_shard,
)
from fuzzer.store.records import ShardResult, SignatureHits
from fuzzer.worker.child import flush_asked, record_unsent
from fuzzer.worker.death import Death, Died
from fuzzer.worker.worker import DOUBTS, IsolatedWorker
from oracles.core.verdict import Outcome

# Results are added up where they are judged and sent in batches, since each message costs the campaign's process.  What
# is not sent yet stands in the worker's flight recorder, example by example: whoever reads that of a dead worker has
# received exactly what would have been sent.

PIECE_SECONDS = 20.0
"""A piece of a shard ends behind the case at hand after so long: only what was reported survives the campaign's death,
and a shard of slow cases takes minutes."""

ShardEvent = ModuleDrawn | ExampleBegun | ExampleDone
"""What a shard reports, one by one."""


@dataclass(frozen=True, slots=True)
class PartialResult:
    """Results of consecutive examples.

    Attributes:
        result: Of those that are done.
        repeats: Counts of signatures that an earlier batch has shown first, by id.
        pending: Events behind the last example that is done.
    """

    result: ShardResult
    repeats: Counter[str]
    pending: tuple[ModuleDrawn | ExampleBegun, ...]


class ShardAccumulator:
    """Adds up the results of a piece of a shard, one by one or in batches.

    Attributes:
        result: What is known of the examples that are done.
        current: The example that is being judged.
    """

    def __init__(self, task: ShardTask) -> None:
        self.result = ShardResult(task.number, task.first, task.first)
        self.current: ExampleBegun | None = None
        self._drawn: list[ModuleDrawn] = []  # none of their examples is done: a resume draws them again
        self._repeats: Counter[str] = Counter()

    def add(self, item: ShardEvent | PartialResult) -> None:
        """Add an event or a batch, in the order in which they happened."""
        if isinstance(item, PartialResult):
            self._merge(item)
        elif isinstance(item, ModuleDrawn):
            self._drawn.append(item)
        elif isinstance(item, ExampleBegun):
            self.current = item
        else:
            self._done(item)

    def flush(self) -> PartialResult:
        """Give everything since the last batch, and begin the next one."""
        current = () if self.current is None else (self.current,)
        batch = PartialResult(self.result, self._repeats, (*self._drawn, *current))
        self.result = ShardResult(self.result.number, self.result.stop, self.result.stop)
        self._repeats = Counter()
        self.restart()
        return batch

    def restart(self) -> None:
        """Forget what is pending: the shard goes on behind the last judged example, in another process."""
        self.current = None
        self._drawn.clear()

    def _done(self, item: ExampleDone) -> None:
        result = self.result
        self.current, result.stop = None, item.index + 1
        self._count_modules()
        self._count_rewrite(item)
        result.examples += 1
        for step, seconds in item.spent:
            key = (step, "" if step == DRAW else item.judged)
            result.spent[key] = result.spent.get(key, 0.0) + seconds
        result.tallies.update(item.tallies)
        result.reached.update(memoryview(item.reached).cast("I"))
        for function in memoryview(item.entered).cast("I"):
            result.entered.setdefault(function, item.index)
        for place, line, ran in item.lines:
            result.lines[place, line] = ran or result.lines.get((place, line), False)
        for failure in item.failures:
            self._hit(item.index, failure)
        # Where the time of the example went, should its findings be known ones.
        ids = {failure.signature_id for failure in item.failures}
        for finding_id in ids:
            result.failing[finding_id] = result.failing.get(finding_id, 0.0) + item.taken / len(ids)

    def _merge(self, batch: PartialResult) -> None:
        more, hits = batch.result, self.result.hits
        if more.examples:
            self.current = None
            self._count_modules()
            self.result.add(more)
        for finding_id, count in batch.repeats.items():
            hits[finding_id] = hits[finding_id].counted(hits[finding_id].count + count)
        for item in batch.pending:
            self.add(item)

    def _count_modules(self) -> None:
        for drawn in self._drawn:
            self.result.discarded += drawn.discarded
            self.result.modules += 1
            self.result.coverage.add(drawn.coverage)
        self._drawn.clear()

    def _count_rewrite(self, done: ExampleDone) -> None:
        if not done.judged:
            return
        coverage = self.result.coverage
        coverage.judged[done.judged] += 1
        if done.rewrite:
            coverage.changed[done.judged] += 1
            coverage.rewrites[done.judged, done.rewrite] += 1

    def _hit(self, index: int, failure: Failure) -> None:
        hits = self.result.hits
        known = hits.get(failure.signature_id)
        if known is not None:
            hits[failure.signature_id] = known.counted(known.count + 1)
        elif failure.case is not None:
            hits[failure.signature_id] = SignatureHits.of(
                signature(failure.verdict), failure.verdict, failure.case, index, 1
            )
        else:
            self._repeats[failure.signature_id] += 1


def run_batched(task: ShardTask) -> Iterator[ShardEvent | PartialResult]:
    """Run a shard from ``task.first`` on, in the worker."""
    return batched(task, run_shard(task))


def batched(task: ShardTask, events: Iterable[ShardEvent]) -> Iterator[ShardEvent | PartialResult]:
    """Send what a shard reports in batches, also when the recorder is full; end when the parent asks for all of it."""
    unsent = ShardAccumulator(task)
    for item in events:
        if not record_unsent(item):
            yield unsent.flush()  # which empties the recorder
            if not record_unsent(item):
                yield item  # longer than a recorder
                continue
        unsent.add(item)
        if isinstance(item, ExampleDone) and flush_asked():
            break  # the campaign runs the rest
    yield unsent.flush()


def run_isolated(worker: IsolatedWorker, task: ShardTask, stop: threading.Event) -> ShardResult:
    """Run a shard from ``task.first`` to its end, to a death, or to where it is after a while or when ``stop`` is set.

    A death counts as the verdict on the case that died, which the piece ends with: so a finding is recorded when it
    happens, not after all other hangs of the shard. The result's ``stop`` tells where to go on. Where somebody else
    may have ended the process, or a step was far slower than others of its kind, the case is judged again first.
    A case that hangs when ``stop`` is set is recorded too: nobody else would tell of it.

    Raises:
        fuzzer.worker.worker.ChildError: an error of this program.
    """
    reply, due = ShardAccumulator(task), time.monotonic() + PIECE_SECONDS
    place, deaths = -1, Counter[str]()
    slow = -1  # the example that was taken for a hang before its time limit
    while True:
        died = None
        rest = replace(task, first=reply.result.stop)
        for item in worker.stream(
            run_batched, rest, hurry=lambda: stop.is_set() or time.monotonic() >= due, adaptive=True
        ):
            if isinstance(item, Died):
                died = item
            for event in item.unsent if isinstance(item, Died) else (item,):
                reply.add(event)
            if stop.is_set() and not (died is not None and died.death is Death.HANG):
                worker.fresh()
                return reply.result
        if died is None:
            return reply.result
        if died.early and slow != reply.result.stop:
            slow = reply.result.stop
            reply.restart()  # a machine that paused makes no finding: a fresh process that knows no pace decides
            continue
        if place != reply.result.stop:
            place, deaths = reply.result.stop, Counter()
        deaths[died.kind] += 1  # the last of several kinds may be somebody else's doing
        if not died.doubtful or deaths[died.kind] > DOUBTS:
            _record_death(worker, task, reply, died, stop)
            return reply.result
        reply.restart()


def _record_death(
    worker: IsolatedWorker, task: ShardTask, reply: ShardAccumulator, died: Died, stop: threading.Event
) -> None:
    """Add the verdict on the example that killed its process; when it died while drawing a module, on all of it."""
    begun = reply.current
    if begun is None:
        per_module = subjects_per_module(task.config)
        first = reply.result.stop
        end = min((first // per_module + 1) * per_module, task.limit)
        for index in range(first, end):
            reply.add(generator_fault(index, f"the generator died: {died.kind}"))
        return
    case = worker.call(_redraw, (task, begun.index))
    if not isinstance(case, Case):
        if stop.is_set():
            return  # killed with the campaign; a resume judges the case again
        reply.add(generator_fault(begun.index, f"the case that died cannot be drawn again: {died.kind}"))
        return
    verdict = death_verdict(died, begun.name)
    said = (verdict.oracle.value, verdict.culprit, Outcome.FAIL.value, "")
    failure = Failure(verdict, signature(verdict).id, case)
    reply.add(ExampleDone(begun.index, (said,), (failure,), begun.judged, taken=time.monotonic() - begun.at))


def _redraw(request: tuple[ShardTask, int]) -> Any:
    task, index = request
    return example_case(task, index)
