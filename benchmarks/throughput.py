"""How many subjects a worker judges a second, what the time goes into, and what a worker weighs.

    python benchmarks/throughput.py [--shards 12] [--seed 1] [--json]

A *subject* is one module under one pass or pipeline, drawn as in a campaign over all passes; its time includes its
share of drawing the module.  Rates count seconds of processor time (``time.process_time``), so that another process
on the machine changes them less.  A *numeric comparison* is a subject whose program was executed before and after the
pass and compared, so that its verdict is pass or fail; its time is the numeric oracle's alone, after warm-up.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import psutil
from shared import arguments
from tabulate import tabulate

_FIRST_CASE = """
import sys
from fuzzer.core.config import Config
from fuzzer.worker.worker import IsolatedWorker
from fuzzer.campaign.setup import pass_names
from fuzzer.shard.shard import ExampleDone, ShardTask, run_shard
from oracles.core.verdict import OracleName
config = Config(1, pass_names(), (), tuple(OracleName), 1, None, 1)
with IsolatedWorker() as worker:
    for item in worker.stream(run_shard, ShardTask(config, 0, limit=1)):
        if isinstance(item, ExampleDone):
            print("judged")
            break
    worker.kill()
"""


class Stages:
    """Processor time by stage; the oracles call :meth:`begin` before each step."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._stage = ""
        self._since = 0.0

    def begin(self, text: str) -> None:
        """A stage begins, ``oracle: pass``; the one before ends."""
        now = time.process_time()
        if self._stage:
            self.seconds[self._stage] += now - self._since
        self._stage, self._since = text.split(":", 1)[0], now

    def end(self) -> None:
        """The last stage ends."""
        self.begin("")


def configuration(seed: int) -> Any:
    """A campaign over all passes."""
    from fuzzer.campaign.setup import pass_names
    from fuzzer.core.config import Config
    from relaxkit.passes.contract import OracleName

    return Config(seed, pass_names(), (), tuple(OracleName), None, 1.0, 1)


def structural(seed: int, shards: range, stages: Stages, shares: bool = True) -> tuple[int, int]:
    """Judge shards by the structural oracles as in a campaign; returns how many subjects, and invalid verdicts."""
    from fuzzer.shard.draw import SHARD_EXAMPLES, draw_subjects, subjects_per_module
    from fuzzer.shard.shard import ShardTask, input_seed
    from fuzzer.shard.shares import not_asked
    from oracles.core.module_facts import ModuleFacts
    from oracles.core.subject import Subject
    from oracles.core.verdict import Outcome
    from oracles.judge import judge
    from relaxkit.passes.contract import OracleName

    config = configuration(seed)
    oracles = tuple(name for name in OracleName if name is not OracleName.NUMERIC)
    subjects = invalid = 0
    for shard in shards:
        for number in range(SHARD_EXAMPLES // (per_module := subjects_per_module(config))):
            stages.begin("draw")
            drawn = draw_subjects(config, shard, number)
            if drawn is None:
                continue
            facts = ModuleFacts(drawn.module)
            seed_of = input_seed(ShardTask(config, shard), number * per_module)
            for index, passes in enumerate(drawn.pipelines, number * per_module):
                stages.begin("other")
                subject = Subject(
                    facts.module, passes, input_seed=seed_of, stage=stages.begin, facts=facts, sampled=True
                )
                left = not_asked((seed, shard, index), passes, seed_of, oracles) if shares else ()
                verdicts = judge(subject, [name for name in oracles if name not in left])
                invalid += sum(each.outcome is Outcome.INVALID for each in verdicts)
                subjects += 1
    stages.end()
    return subjects, invalid


def numeric(seed: int, shards: range) -> tuple[int, float]:
    """Numeric comparisons in shards, and the numeric oracle's processor time for them and for what it skipped."""
    from fuzzer.shard.draw import SHARD_EXAMPLES, draw_subjects, subjects_per_module
    from fuzzer.shard.shard import ShardTask, input_seed
    from oracles.core.module_facts import ModuleFacts
    from oracles.core.subject import Subject
    from oracles.core.verdict import Outcome
    from oracles.judge import judge
    from relaxkit.passes.contract import OracleName

    config = configuration(seed)
    compared, spent = 0, 0.0
    for shard in shards:
        for number in range(SHARD_EXAMPLES // (per_module := subjects_per_module(config))):
            drawn = draw_subjects(config, shard, number)
            if drawn is None:
                continue
            facts = ModuleFacts(drawn.module)
            seed_of = input_seed(ShardTask(config, shard), number * per_module)
            for passes in drawn.pipelines:
                subject = Subject(facts.module, passes, input_seed=seed_of, facts=facts)
                judge(subject, [OracleName.CRASH])  # runs the passes, which the other oracles have paid for
                start = time.process_time()
                verdicts = judge(subject, [OracleName.NUMERIC])
                spent += time.process_time() - start
                compared += sum(each.outcome in (Outcome.PASS, Outcome.FAIL) for each in verdicts)
    return compared, spent


def startup() -> float:
    """Wall seconds from starting Python to the first judged case in an isolated worker."""
    start = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", _FIRST_CASE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        spent = time.monotonic() - start
    if line.strip() != "judged":
        raise SystemExit("no case was judged")
    return spent


def measure(shards: int, seed: int) -> dict[str, Any]:
    """All figures."""
    import fuzzer.preload  # noqa: F401  # as the fork server does, before the clock runs

    begun = startup()
    structural(seed, range(2), Stages())  # warm-up: what is computed once for a process
    stages = Stages()
    subjects, invalid = structural(seed, range(2, 2 + shards), stages)
    total = sum(stages.seconds.values())
    warm = max(1, shards // 4)
    numeric(seed, range(warm))
    compared, spent = numeric(seed, range(warm, warm + max(1, shards // 2)))
    return {
        "subjects": subjects,
        "invalid_verdicts": invalid,
        "subjects_per_second_per_core": subjects / total,
        "numeric_comparisons": compared,
        "numeric_per_second_per_core": compared / spent,
        "rss_mib": psutil.Process().memory_info().rss / (1 << 20),
        "startup_seconds": begun,
        "share": {stage: seconds / total for stage, seconds in stages.seconds.most_common()},
    }


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--shards", type=arguments.count, default=12, help="shards of 64 subjects (default: 12)")
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    result = measure(options.shards, options.seed)
    if options.json:
        print(json.dumps(result))
        return
    print(tabulate([(key, value) for key, value in result.items() if not isinstance(value, dict)], floatfmt=".3f"))
    print(tabulate(result["share"].items(), headers=("stage", "share of time"), floatfmt=".3f"))


if __name__ == "__main__":
    main()
