"""What is said of a shard, added up where it is judged and told in portions, since each message costs the campaign.

What is not told yet stands in the worker's journal, example by example: whoever reads that of a dead worker has taken
exactly what it would have been told of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fuzzer.drawing import subjects_per_module
from fuzzer.isolation import asked, jot
from fuzzer.pool import Deed
from fuzzer.records import Hit, ShardResult
from fuzzer.shards import ExampleBegun, ExampleDone, Failure, ModuleDrawn, ShardTask, run_shard
from fuzzer.signatures import signature
from fuzzer.stopwatch import DRAW

Said = ModuleDrawn | ExampleBegun | ExampleDone
"""What is said of a shard one by one."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What was said of some examples, one behind the other.

    Attributes:
        result: Of those that are done.
        again: Sightings of signatures whose first one was in an earlier portion, by id.
        open: What was said since then, of the example and the modules behind them.
    """

    result: ShardResult
    again: Counter[str]
    open: tuple[ModuleDrawn | ExampleBegun, ...]


class Collector:
    """Adds up what is said of a piece of a shard, one by one or in portions.

    Attributes:
        result: What is known of the examples that are done.
        current: The example that is being judged.
    """

    def __init__(self, task: ShardTask) -> None:
        self._task = task
        self.result = ShardResult(task.number, task.first, task.first)
        self.current: ExampleBegun | None = None
        self._drawn: list[ModuleDrawn] = []  # none of their examples is done: a resume draws them again
        self._again: Counter[str] = Counter()

    def take(self, item: Said | Portion) -> None:
        """Add what was said; in the order in which it was."""
        if isinstance(item, Portion):
            self._merge(item)
        elif isinstance(item, ModuleDrawn):
            self._drawn.append(item)
        elif isinstance(item, ExampleBegun):
            self.current = item
        else:
            self._done(item)

    def portion(self) -> Portion:
        """All that was taken since the last portion; the next one begins."""
        current = () if self.current is None else (self.current,)
        portion = Portion(self.result, self._again, (*self._drawn, *current))
        self.result = ShardResult(self.result.number, self.result.stop, self.result.stop)
        self._again = Counter()
        self.again()
        return portion

    def again(self) -> None:
        """The shard goes on behind the last example that was judged, in another process."""
        self.current = None
        self._drawn.clear()

    def finish(self, stop: int) -> None:
        """The shard was gone through up to ``stop``."""
        self._count_modules()
        self.result.stop = stop

    def _done(self, item: ExampleDone) -> None:
        result = self.result
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
        # Where the time of the example went, should its findings be known ones.
        ids = {failure.signature_id for failure in item.failures}
        for finding_id in ids:
            result.failing[finding_id] = result.failing.get(finding_id, 0.0) + item.taken / len(ids)

    def _merge(self, portion: Portion) -> None:
        more, hits = portion.result, self.result.hits
        if more.examples:
            self.current = None
            self._count_modules()
            self.result.add(more)
        for finding_id, count in portion.again.items():
            hits[finding_id] = hits[finding_id].counted(hits[finding_id].count + count)
        for item in portion.open:
            self.take(item)

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
            hits[failure.signature_id] = known.counted(known.count + 1)
        elif failure.case is not None:
            hits[failure.signature_id] = Hit.of(signature(failure.verdict), failure.verdict, failure.case, index, 1)
        else:
            self._again[failure.signature_id] += 1


def run_in_portions(task: ShardTask) -> Iterator[Said | Portion]:
    """Runs in the worker: a shard from ``task.first`` on."""
    return in_portions(task, run_shard(task))


def in_portions(task: ShardTask, said: Iterable[Said]) -> Iterator[Said | Portion]:
    """What is said of a shard, in portions: one at its end, and one when the journal is full or somebody asks."""
    collector = Collector(task)
    for item in said:
        if not jot(item):
            yield collector.portion()  # which empties the journal
            if not jot(item):
                yield item  # longer than a journal
                continue
        collector.take(item)
        if isinstance(item, ExampleDone) and asked():
            yield collector.portion()
    yield collector.portion()
