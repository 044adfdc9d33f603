"""What a case costs the campaign's own process where Dask's workers judge: handing out, receiving, writing down.

    python benchmarks/coordinator_dask.py [--workers 1 128] [--seconds 30] [--seed 1]

Scheduler and workers are processes of their own.  The workers, threads of one process here, judge one shard of a
campaign over all passes and all oracles, and then say the same of every other one, after a pause by which they make
2,000 cases a second together: one worker takes 32 ms for a shard, 128 take 4 s each.  The processor time of this
process is counted while they do.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from shared import arguments
from tabulate import tabulate

_GOAL = 2000
"""Cases a second."""


def replay(pause: float) -> None:
    """Runs in the Dask worker: from now on a shard is judged once, and takes so many seconds."""
    from dataclasses import replace

    from fuzzer.cluster.executor import WorkerPool
    from fuzzer.shard.shard import OTHER

    judge, lock, judged = WorkerPool.run_shard, threading.Lock(), []

    def run_shard(self: Any, task: Any, cut: Any) -> Any:
        with lock:
            if not judged:
                judged.append(judge(self, task, cut))
        time.sleep(pause)
        whole = judged[0]
        spent = {key: seconds * pause / sum(whole.spent.values()) for key, seconds in whole.spent.items()}
        return replace(whole, number=task.number, spent={**spent, (OTHER, ""): 0.0})

    WorkerPool.run_shard = run_shard  # type: ignore[method-assign]  # all workers of this process replay


def cluster(workers: int, folder: str, held: contextlib.ExitStack) -> str:
    """A scheduler file of a new cluster."""
    dask, file = str(Path(sys.executable).parent / "dask"), f"{folder}/scheduler.json"
    for command in (["scheduler", "--port", "0"], ["worker", "--nthreads", str(workers)]):
        process = subprocess.Popen(
            [dask, *command, "--no-dashboard", "--scheduler-file", file],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        held.callback(process.wait)
        held.callback(process.terminate)
    while not Path(file).exists():
        time.sleep(0.1)
    return file


def measure(workers: int, seconds: float, seed: int) -> tuple[float, float]:
    """Microseconds of processor time a case, and cases a second."""
    from fuzzer.campaign.progress import Progress
    from fuzzer.campaign.setup import pass_names
    from fuzzer.campaign.write_buffer import WriteBuffer
    from fuzzer.cluster.dask_client import DaskConnection
    from fuzzer.cluster.dask_executor import DaskExecutor
    from fuzzer.core.config import Config
    from fuzzer.shard.draw import SHARD_EXAMPLES
    from fuzzer.shard.shard import ShardTask
    from fuzzer.store.writer import Store
    from relaxkit.passes.contract import OracleName

    config = Config(seed, pass_names(), (), tuple(OracleName), None, 3600.0, 1)
    progress = Progress(config, io.StringIO())
    meta = {
        "seed": str(seed), "tvm_version": "", "ffi_version": "", "passes": "[]", "oracles": "[]", "workers": "1",
        "budget": "", "config": config.to_json(),
    }  # fmt: skip
    pause = workers * SHARD_EXAMPLES / _GOAL
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as held:
        link = held.enter_context(DaskConnection(cluster(workers, folder, held), lambda _: None))
        while not link.threads:
            time.sleep(0.1)
        store = held.enter_context(Store.create(Path(folder) / "out", meta))
        executor = DaskExecutor(link, config, Path(folder), Path(folder) / "log", threading.Event(), threading.Event())
        client = link.submit(link.client()).result()

        async def everywhere() -> None:
            await client.run(replay, pause)

        link.submit(everywhere()).result()
        executor.shard(ShardTask(config, 0)).result()
        ledger, number, cases = WriteBuffer(store), 1, 0
        running: set[Future[Any]] = set()
        begun, spent, from_then = time.monotonic(), 0.0, 0
        warm = begun + 2 + 2 * pause  # until groups have the size that they keep
        while (now := time.monotonic()) < warm + seconds:
            if not spent and now >= warm:
                spent, begun, from_then = time.process_time(), now, cases
            while len(running) < executor.slots:
                running.add(executor.shard(ShardTask(config, number)))
                number += 1
            done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            for result in (future.result() for future in done):
                cases += result.examples
                ledger.add(result)
            if ledger.due and (entry := ledger.write(now)):
                if entry.total.hits:
                    store.untriaged()
                progress.shard(entry.total, list(entry.fresh))
        spent, cases = time.process_time() - spent, cases - from_then
        rate = cases / (time.monotonic() - begun)
        executor.kill()
        executor.close()
    return 1e6 * spent / cases, rate


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--workers", type=arguments.count, nargs="+", default=[1, 128])
    parser.add_argument("--seconds", type=arguments.positive, default=30.0)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    options = parser.parse_args()
    rows = []
    for workers in options.workers:
        each, rate = measure(workers, options.seconds, options.seed)
        rows.append((workers, f"{each:.1f}", f"{rate:.0f}", f"{_GOAL * each / 1e4:.1f}%"))
    head = ("workers", "µs a case", "cases a second", "of a core at 2,000 cases a second")
    print(tabulate(rows, head, disable_numparse=True))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
