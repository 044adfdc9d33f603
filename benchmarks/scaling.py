"""Do two workers judge twice as many cases as one, and what does Dask cost?

    python benchmarks/scaling.py [--shards 24] [--rounds 3] [--seed 1] [--json]
    python benchmarks/scaling.py --overhead

Each round runs the same shards in every way, one after the other, so that what else happens on the machine meets all of
them: with one local worker, with two, and with one and two workers of a Dask cluster on this machine (`local:N`, whose
scheduler is counted to the coordinator).  All judge the same cases; whether they say the same is checked.

Of each way: cases a second of wall time, processor time for a case in the workers (children of the campaign, or Dask's
workers and theirs) and in the coordinator, and the coordinator's share of a core at 2,000 cases a second, which is its
processor time for 2,000 cases.  Starting processes and loading TVM is not counted: a shard is run before.

`--overhead` asks what handing out a shard to a Dask worker costs, without judging anything: a worker answers at once,
and as many shards go together as may, with a scheduler and a worker that are processes of their own.

Processor time hardly changes when the machine is shared, wall time does: **ratios of wall time mean something on an
idle machine with more cores than workers only.**  `busy` is the share of all cores that was taken by others meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from shared import arguments
from tabulate import tabulate

from fuzzer.campaign.setup import pass_names
from fuzzer.cluster.dask_client import DaskConnection
from fuzzer.cluster.dask_executor import DaskExecutor
from fuzzer.cluster.executor import Executor, LocalExecutor
from fuzzer.core.config import Config
from fuzzer.shard.draw import SHARD_EXAMPLES
from fuzzer.shard.shard import ShardTask
from fuzzer.store.records import ShardResult
from relaxkit.passes.contract import OracleName

WAYS = ("1 local", "2 local", "1 Dask", "2 Dask")


@dataclass(frozen=True)
class Run:
    """What one way took: cases, seconds, processor seconds of workers and of the coordinator, the share of others."""

    cases: int
    wall: float
    workers: float
    coordinator: float
    busy: float


def tasks(config: Config, shards: range) -> list[ShardTask]:
    return [ShardTask(config, number) for number in shards]


def run(executor: Executor, todo: list[ShardTask]) -> list[ShardResult]:
    """Run shards to their ends as a campaign hands them out; a shard that a case killed goes on behind it."""
    left, results = list(reversed(todo)), []
    running: set[Future[ShardResult]] = set()
    while left or running:
        while left and len(running) < executor.slots:
            running.add(executor.shard(left.pop()))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for result in (future.result() for future in done):
            results.append(result)
            if result.first < result.stop < SHARD_EXAMPLES:
                left.append(ShardTask(todo[0].config, result.number, result.stop))
    return results


@contextlib.contextmanager
def executor_of(way: str, config: Config) -> Iterator[Executor]:
    count, kind = way.split()
    stop, cut = threading.Event(), threading.Event()
    with contextlib.ExitStack() as held, tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        if kind == "local":
            executor: Executor = LocalExecutor(
                Config(**{**_fields(config), "workers": int(count)}), Path(folder), log, stop, cut
            )
        else:
            link = held.enter_context(DaskConnection(f"local:{count}", lambda _: None))
            executor = DaskExecutor(link, config, Path(folder), log, stop, cut)
        try:
            yield executor
        finally:
            executor.kill()
            executor.close()


def _fields(config: Config) -> dict[str, Any]:
    return {name: getattr(config, name) for name in config.__dataclass_fields__}


def processor_times() -> tuple[float, dict[int, float]]:
    """Of this process, and of all that descend from it by number."""
    own = psutil.Process()
    below = {}
    for child in own.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            spent = child.cpu_times()
            # What a child has ended of its own is counted to it: isolated processes are replaced now and then.
            below[child.pid] = spent.user + spent.system + spent.children_user + spent.children_system
    mine = own.cpu_times()
    return mine.user + mine.system, below


def measure(way: str, config: Config, shards: int) -> tuple[Run, Counter[tuple[str, ...]]]:
    with executor_of(way, config) as executor:
        run(executor, tasks(config, range(shards, shards + 2 * executor.slots)))  # loads TVM everywhere
        coordinator, below = processor_times()
        machine, began = psutil.cpu_times(), time.monotonic()
        results = run(executor, tasks(config, range(shards)))
        wall = time.monotonic() - began
        coordinator_after, below_after = processor_times()
        machine_after = psutil.cpu_times()
    workers = sum(spent - below.get(pid, 0.0) for pid, spent in below_after.items())
    own = coordinator_after - coordinator
    whole = sum(machine_after) - sum(machine)
    others = 1 - (machine_after.idle - machine.idle) / whole - (workers + own) / whole
    said: Counter[tuple[str, ...]] = Counter()
    for result in results:
        said.update(result.tallies)
        said.update({("hit", name): hit.count for name, hit in result.hits.items()})
    return Run(sum(result.examples for result in results), wall, workers, own, max(0.0, others)), said


def overhead(config: Config, count: int = 300) -> None:
    """Print what it costs to hand out a shard that is cut before it begins."""
    dask = str(Path(sys.executable).parent / "dask")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as held:
        file = f"{folder}/scheduler.json"
        for command in (
            ["scheduler", "--port", "0", "--no-dashboard"],
            ["worker", "--nthreads", "1", "--no-dashboard"],
        ):
            arguments = [dask, *command, "--no-dashboard", "--scheduler-file", file]
            process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            held.callback(process.wait)
            held.callback(process.terminate)
        while not Path(file).exists():
            time.sleep(0.1)
        link = held.enter_context(DaskConnection(file, lambda _: None))
        while not link.threads:
            time.sleep(0.1)
        executor = DaskExecutor(link, config, Path(folder), Path(folder) / "log", threading.Event(), threading.Event())
        executor.kill()  # whatever comes to the worker from now on ends at once
        run(executor, [ShardTask(config, 0, 64)])
        spent, began = time.process_time(), time.monotonic()
        run(executor, [ShardTask(config, number, 64) for number in range(count)])
        own, wall = (time.process_time() - spent) / count, (time.monotonic() - began) / count
        executor.close()
    share = own * 2000 / SHARD_EXAMPLES
    print(f"{1000 * own:.2f} ms of the coordinator's processor time a shard, {1000 * wall:.1f} ms from one to the next")
    print(f"at 2,000 cases a second: {100 * share:.1f}% of a core for handing out, beside recording")


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--shards", type=arguments.count, default=24, help="shards of 64 cases in each run")
    parser.add_argument("--rounds", type=arguments.count, default=3)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--overhead", action="store_true", help="only what handing out shards costs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    config = Config(options.seed, pass_names(), (), tuple(OracleName), None, 1.0, 1)
    if options.overhead:
        overhead(config)
        return
    runs: dict[str, list[Run]] = {way: [] for way in WAYS}
    expected = None
    for _ in range(options.rounds):
        for way in WAYS:
            taken, said = measure(way, config, options.shards)
            runs[way].append(taken)
            expected = said if expected is None else expected
            if said != expected:
                raise SystemExit(f"{way}: other verdicts: {said - expected} {expected - said}")
    middle = {
        way: {
            "cases/s": statistics.median(each.cases / each.wall for each in rows),
            "worker ms/case": statistics.median(1000 * each.workers / each.cases for each in rows),
            "coordinator ms/case": statistics.median(1000 * each.coordinator / each.cases for each in rows),
            "core at 2000/s": statistics.median(2000 * each.coordinator / each.cases for each in rows),
            "busy": statistics.median(each.busy for each in rows),
        }
        for way, rows in runs.items()
    }

    def ratio(name: str, one: str, other: str) -> float:
        """Median over the rounds, each of which ran both."""
        pairs = zip(runs[one], runs[other], strict=True)
        key = (lambda each: each.cases / each.wall) if name == "wall" else (lambda each: each.workers / each.cases)
        return statistics.median(key(a) / key(b) for a, b in pairs)

    ratios = {
        "two workers to one, cases a second (wanted: 1.9)": ratio("wall", "2 local", "1 local"),
        "a Dask worker to a local one, cases a second (wanted: 0.9)": ratio("wall", "1 Dask", "1 local"),
        "a Dask worker to a local one, processor time of workers for a case": ratio("cpu", "1 Dask", "1 local"),
        "two workers to one, processor time of workers for a case": ratio("cpu", "2 local", "1 local"),
    }
    if options.json:
        print(
            json.dumps(
                {"ways": middle, "ratios": ratios, "runs": {w: [asdict(r) for r in rs] for w, rs in runs.items()}}
            )
        )
        return
    print(tabulate([[way, *row.values()] for way, row in middle.items()], ["", *middle[WAYS[0]]], floatfmt=".3f"))
    print()
    print(tabulate(ratios.items(), floatfmt=".3f", tablefmt="plain"))
    print(f"all ways said the same of {runs[WAYS[0]][0].cases} cases")


if __name__ == "__main__":
    main()
