"""What coverage tells and what it takes: blocks reached by directory, and processor time a case with and without it.

    python benchmarks/compiler_coverage.py [--shards N] [--seed SEED] [--fresh]

Judges the same shards of 64 cases in two processes, one of which watches TVM's compiler, in turns, after a third one
has filled the cache of kernels with what they need.  Prints both times of each shard and whether their verdicts are
the same, the median of the ratios, and the blocks that were reached.
With ``--fresh`` each shard is judged in a process of its own, which pays for its breakpoints and for all blocks anew.
A shard whose process dies is left out.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import tvm  # noqa: F401 - loads the compiler, whose table is asked for
from shared import arguments
from tabulate import tabulate

from fuzzer.campaign.setup import pass_names, watched_build
from fuzzer.core.config import Config
from fuzzer.shard.run import ShardAccumulator
from fuzzer.shard.shard import ShardTask, run_shard
from fuzzer.store.records import ShardResult
from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.coverage.breakpoints import loaded, table_of
from relaxkit.passes.contract import OracleName


@dataclass(frozen=True, slots=True)
class Judged:
    """A shard that was judged, and the processor time that its process took for it."""

    result: ShardResult
    seconds: float


def judge_shard(task: ShardTask) -> Iterator[Judged]:
    """Judge a shard in the process that calls this."""
    before = time.process_time()
    added = ShardAccumulator(task)
    for event in run_shard(task):
        added.add(event)
    yield Judged(added.result, time.process_time() - before)


def judged(worker: IsolatedWorker, task: ShardTask) -> Judged | None:
    """Judge a shard in a worker; ``None``: it died."""
    (answer,) = worker.stream(judge_shard, task)
    return None if isinstance(answer, Died) else answer


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--shards", type=arguments.count, default=8, metavar="N", help="how many shards of 64 cases")
    parser.add_argument("--seed", type=arguments.whole, default=5)
    parser.add_argument("--fresh", action="store_true", help="a fresh process for each shard")
    options = parser.parse_args()
    plain = Config(options.seed, pass_names(), (), tuple(OracleName), None, 1.0, 1, shares=True)
    watching = replace(plain, coverage=watched_build())
    reached: set[int] = set()
    ratios, examples = [], 0
    with IsolatedWorker() as first, IsolatedWorker() as without, IsolatedWorker() as watched:
        for number in range(options.shards):
            judged(first, ShardTask(plain, number))
            pairs = [(without, plain), (watched, watching)]
            if options.fresh:
                without.fresh()
                watched.fresh()
            both = [judged(worker, ShardTask(config, number)) for worker, config in pairs[:: 1 if number % 2 else -1]]
            one, other = both if number % 2 else both[::-1]
            if one is None or other is None:
                print(f"shard {number}: a process died")
                continue
            reached |= other.result.reached
            examples += other.result.examples
            ratios.append(other.seconds / one.seconds)
            same = "same verdicts" if one.result == other.result else "OTHER VERDICTS"
            times = [f"{1000 * each.seconds / each.result.examples:.1f}" for each in (one, other)]
            print(
                f"shard {number}: {times[0]} and {times[1]} ms a case, {len(reached)} blocks reached, {same}",
                flush=True,
            )
    if not ratios:
        raise SystemExit("no shard was judged in both processes")
    table = table_of(loaded()[0])
    print(f"{examples} cases; processor time with to without coverage: median {statistics.median(ratios):.3f}")
    folders = [file.split("/")[2] for file in table.files]
    places = [folders[table.owners[each]] for each in table.function_of.tolist()]
    there = Counter(places)
    hit = Counter(place for place, block in zip(places, table.blocks.tolist(), strict=True) if block in reached)
    rows = [(name, count, hit[name], f"{hit[name] / count:.1%}") for name, count in there.most_common()]
    print(tabulate(rows, headers=("directory", "blocks", "reached", "share")))


if __name__ == "__main__":
    main()
