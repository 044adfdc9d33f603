"""What a case costs the campaign's own process: receiving what was said of it, adding it up, writing it down.

    python benchmarks/coordinator.py [--shards 400] [--seed 1] [--json]

A worker judges one shard of a campaign over all passes and all oracles, and then says the same again for every other
shard, as fast as it is asked.  Shards are recorded as they would be at 2,000 cases a second.  The processor time of
this process, and of nothing else, is counted.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shared import arguments
from tabulate import tabulate

_GOAL = 2000
"""Cases a second."""
_judged: list[Any] = []  # in the worker: what it said of the first shard


def replayed(task: Any) -> Iterator[Any]:
    """Runs in the worker: a shard as it would be judged, without the judging."""
    from fuzzer.shard.run import batched
    from fuzzer.shard.shard import run_shard

    if not _judged:
        _judged.extend(run_shard(task))
    return batched(task, _judged)


def measure(shards: int, seed: int) -> dict[str, Any]:
    """Processor time of receiving and of recording, by case."""
    from benchmarks import coordinator  # by a name that the worker can import
    from fuzzer.campaign.progress import Progress
    from fuzzer.campaign.setup import pass_names
    from fuzzer.campaign.write_buffer import WriteBuffer
    from fuzzer.core.config import Config
    from fuzzer.shard import run as shardrun
    from fuzzer.shard.shard import ShardTask
    from fuzzer.store.writer import Store
    from fuzzer.worker.worker import IsolatedWorker
    from relaxkit.passes.contract import OracleName

    config = Config(seed, pass_names(), (), tuple(OracleName), None, 3600.0, 1)
    shardrun.run_batched = coordinator.replayed
    spent, cases, stop = {"receive": 0.0, "record": 0.0}, 0, threading.Event()
    progress = Progress(config, io.StringIO())
    meta = {
        "seed": str(seed), "tvm_version": "", "ffi_version": "", "passes": "[]", "oracles": "[]", "workers": "1",
        "budget": "", "config": config.to_json(),
    }  # fmt: skip
    with (
        tempfile.TemporaryDirectory() as scratch,
        IsolatedWorker() as worker,
        Store.create(Path(scratch) / "out", meta) as store,
    ):
        shardrun.run_isolated(worker, ShardTask(config, 0), stop)
        ledger = WriteBuffer(store, lambda: cases / _GOAL)
        for number in range(1, shards + 1):
            begun = time.process_time()
            result = shardrun.run_isolated(worker, ShardTask(config, number), stop)
            received = time.process_time()
            cases += result.examples
            ledger.add(result)
            if (ledger.due or number == shards) and (entry := ledger.write(cases / _GOAL)):
                if entry.total.hits:
                    store.untriaged()
                progress.shard(entry.total, list(entry.fresh))
            spent["receive"] += received - begun
            spent["record"] += time.process_time() - received
    total = sum(spent.values()) / cases
    return {
        "cases": cases,
        "microseconds_per_case": round(1e6 * total, 1),
        "share": {name: round(value / cases / total, 3) for name, value in spent.items()},
        "share_of_a_core_at_2000": round(_GOAL * total, 4),
    }


def main() -> int:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--shards", type=arguments.count, default=400)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.shards, options.seed)
    if options.json:
        print(json.dumps(found))
        return 0
    print(tabulate([(name, str(value)) for name, value in found.items()], ("what", "value"), disable_numparse=True))
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(main())
