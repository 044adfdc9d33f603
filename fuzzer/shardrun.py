"""Running one shard in an isolated worker: deaths become findings, and the shard goes on behind them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fuzzer.cases import Case
from fuzzer.isolation import Died, IsolatedWorker
from fuzzer.records import Hit, ShardResult
from fuzzer.shards import ExampleBegun, ExampleDone, Failure, ModuleDrawn, ShardTask, example_case, run_shard
from fuzzer.signatures import death_verdict, signature
from oracles.verdict import OracleName, Outcome, Verdict


class Stopped(Exception):
    """The campaign was interrupted in the middle of a shard, whose results so far are dropped."""


class _Reply:
    """Collects what the worker says of one shard."""

    def __init__(self, number: int) -> None:
        self.result = ShardResult(number)
        self.next = 0
        self.current: ExampleBegun | None = None

    def take(self, item: object) -> None:
        result = self.result
        if isinstance(item, ModuleDrawn):
            result.discarded += item.discarded
            result.modules += not item.discarded
            result.features.update(item.features)
        elif isinstance(item, ExampleBegun):
            self.current = item
        elif isinstance(item, ExampleDone):
            self.current, self.next = None, item.index + 1
            result.examples += 1
            result.tallies.update(item.said)
            for failure in item.failures:
                self._hit(item.index, failure)

    def _hit(self, index: int, failure: Failure) -> None:
        hits = self.result.hits
        known = hits.get(failure.signature_id)
        if known is not None:
            hits[failure.signature_id] = replace(known, count=known.count + 1)
        elif failure.case is not None:
            hits[failure.signature_id] = Hit(signature(failure.verdict), failure.verdict, failure.case, index, 1)

    def death(self, died: Died, name: str, case: Case) -> None:
        """The current example killed its process."""
        assert self.current is not None
        verdict = death_verdict(died, name)
        said = (verdict.oracle.value, verdict.culprit, Outcome.FAIL.value, "")
        failure = Failure(verdict, signature(verdict).id, case)
        self.take(ExampleDone(self.current.index, (said,), (failure,)))

    def invalid(self, reason: str, index: int) -> None:
        """Our own part failed before anything was judged."""
        verdict = Verdict(OracleName.CRASH, Outcome.INVALID, "the generator", reason)
        self.take(ExampleDone(index, ((verdict.oracle.value, verdict.culprit, verdict.outcome.value, reason),), ()))


def run_isolated(worker: IsolatedWorker, task: ShardTask, stop: threading.Event) -> ShardResult:
    """All of a shard, however often the process dies of it.

    Raises:
        Stopped: when ``stop`` was set meanwhile.
        fuzzer.isolation.ChildError: an error of this program.
    """
    reply = _Reply(task.number)
    while True:
        died = _until_death(worker, replace(task, first=reply.next), reply, stop)
        if died is None:
            return reply.result
        if reply.current is None:
            # It died between cases: while a module was drawn. Skip what would have been judged on it.
            reply.invalid(f"the generator died: {died.kind}", reply.next)
            continue
        again = worker.call(_redraw, (task, reply.current.index))
        if isinstance(again, Died) or again is None:
            reply.invalid(f"the case that died cannot be drawn again: {died.kind}", reply.current.index)
            continue
        reply.death(died, reply.current.name, again)


def _until_death(worker: IsolatedWorker, task: ShardTask, reply: _Reply, stop: threading.Event) -> Died | None:
    items: Iterator[Any] = worker.stream(run_shard, task)
    for item in items:
        if stop.is_set():
            worker.fresh()
            raise Stopped
        if isinstance(item, Died):
            return item
        reply.take(item)
    return None


def _redraw(request: tuple[ShardTask, int]) -> Case | None:
    task, index = request
    return example_case(task, index)
