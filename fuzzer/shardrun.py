"""Running a shard in an isolated worker: a death becomes a finding and ends the piece; the campaign runs the rest."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

from fuzzer.cases import Case
from fuzzer.drawing import subjects_per_module
from fuzzer.isolation import DOUBTS, Died, IsolatedWorker
from fuzzer.portions import Collector, run_in_portions
from fuzzer.records import ShardResult
from fuzzer.shards import ExampleDone, Failure, ShardTask, example_case, generator_fault
from fuzzer.signatures import death_verdict, signature
from oracles.verdict import Outcome


def run_isolated(worker: IsolatedWorker, task: ShardTask, stop: threading.Event) -> ShardResult:
    """A shard from ``task.first`` on: up to its end, up to a death, or up to where it was when ``stop`` was set.

    A death counts as the verdict on the case that died, which the piece ends with: so a finding is recorded when it
    happens, not after all other hangs of the shard. The result's ``stop`` tells where to go on. Where somebody else
    may have ended the process, the case is judged again first.

    Raises:
        fuzzer.isolation.ChildError: an error of this program.
    """
    reply = Collector(task)
    place, deaths = -1, Counter[str]()
    while True:
        died = None
        for item in worker.stream(run_in_portions, replace(task, first=reply.result.stop), hurry=stop):
            if isinstance(item, Died):
                died = item
            for said in item.left if isinstance(item, Died) else (item,):
                reply.take(said)
            if stop.is_set():
                worker.fresh()
                return reply.result
        if died is None:
            reply.finish(task.limit)
            return reply.result
        if place != reply.result.stop:
            place, deaths = reply.result.stop, Counter()
        deaths[died.kind] += 1  # the last of several kinds may be somebody else's doing
        if not died.doubtful or deaths[died.kind] > DOUBTS:
            _bury(worker, task, reply, died, stop)
            return reply.result
        reply.again()


def _bury(worker: IsolatedWorker, task: ShardTask, reply: Collector, died: Died, stop: threading.Event) -> None:
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
    reply.take(ExampleDone(begun.index, (said,), (failure,), begun.judged, taken=time.monotonic() - begun.at))


def _redraw(request: tuple[ShardTask, int]) -> Any:
    task, index = request
    return example_case(task, index)
