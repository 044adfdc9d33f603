"""How many changed subjects are proved to compute the same for all inputs, how fast, and why the rest is open.

    python benchmarks/proof.py [--shards 6] [--seed 1] [--json]

Modules and passes are drawn as a campaign over all passes draws them; a subject counts when its pass changed the
module.  ``median_ms`` is the time of one proof, the original included; ``growth`` is the time of a chain of additions
under ConvertToDataflow, in microseconds a binding, by its length.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter, defaultdict
from typing import Any

from shared import arguments
from tabulate import tabulate

LENGTHS = (10, 100, 1_000, 10_000)
NO_PROGRAM = ("no output", "output is ill-formed", "results may change")
"""Why a subject has no results to compare: a defect that other oracles report, or a pass that promises none."""


def subjects(seed: int, shard: int) -> Any:
    """Draw the subjects of a shard; yields each that a pass has changed, and whether the pass is a lowering one."""
    from fuzzer.campaign.setup import pass_names
    from fuzzer.core.config import Config
    from fuzzer.shard.draw import SHARD_EXAMPLES, draw_subjects, subjects_per_module
    from oracles.core.module_facts import ModuleFacts
    from oracles.core.subject import Subject
    from relaxkit.passes.contract import OracleName, Stage

    config = Config(seed, pass_names(), (), tuple(OracleName), None, 1.0, 1)
    for number in range(SHARD_EXAMPLES // subjects_per_module(config)):
        drawn = draw_subjects(config, shard, number)
        if drawn is None:
            continue
        facts = ModuleFacts(drawn.module)
        for passes in drawn.pipelines:
            subject = Subject(facts.module, passes, facts=facts)
            if subject.facts is None or subject.facts.complaint is not None or not subject.changed:
                continue
            lowering = any(contract.gives is not Stage.HIGH_LEVEL for contract in subject.contracts)
            yield subject, lowering


def chain(length: int) -> Any:
    """Build a chain of additions."""
    from tvm import relax

    builder = relax.BlockBuilder()
    x = value = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        for _ in range(length):
            value = builder.emit(relax.op.add(value, x))
        builder.emit_func_output(value)
    return builder.get()


def growth() -> dict[int, float]:
    """Measure microseconds a binding by the length of a program."""
    from tvm import relax

    from relaxkit.proof import Result, prove

    found = {}
    for length in LENGTHS:
        before = chain(length)
        after = relax.transform.ConvertToDataflow()(before)
        start = time.process_time()
        assert prove(before, after).result is Result.PROVED
        found[length] = 1e6 * (time.process_time() - start) / length
    return found


def proofs(task: tuple[int, int]) -> Any:
    """Prove the subjects of one shard; yields the judged pass, whether it lowers, the result, its reason and the ms."""
    from oracles.numeric.oracle import proof_of

    for subject, lowering in subjects(*task):
        start = time.process_time()
        proof = proof_of(subject)
        if proof.reason not in NO_PROGRAM:
            milliseconds = 1000 * (time.process_time() - start)
            yield subject.judged, lowering, str(proof.result), proof.reason, milliseconds


def measure(seed: int, shards: int) -> dict[str, Any]:
    """Prove what is drawn."""
    from fuzzer.worker.death import Died
    from fuzzer.worker.worker import IsolatedWorker

    results: Counter[tuple[bool, str]] = Counter()
    by_pass: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    times = []
    with IsolatedWorker() as worker:
        for item in (item for shard in range(shards) for item in worker.stream(proofs, (seed, shard))):
            if isinstance(item, Died):  # a pass that crashes; the rest of its shard is left out
                continue
            name, lowering, result, reason, milliseconds = item
            times.append(milliseconds)
            results[lowering, result] += 1
            by_pass[name][result] += 1
            if result == "open":
                reasons[reason] += 1

    def share(*kinds: bool) -> float:
        all_of = sum(count for (lowering, _), count in results.items() if lowering in kinds)
        return sum(results[lowering, "proved"] for lowering in kinds) / max(1, all_of)

    return {
        "subjects": sum(results.values()),
        "proved_share": share(False, True),
        "proved_share_high_level": share(False),
        "proved_share_lowering": share(True),
        "median_ms": statistics.median(times),
        "max_ms": max(times),
        "growth": growth(),
        "open": dict(reasons.most_common()),
        "by_pass": {name: dict(counts) for name, counts in sorted(by_pass.items())},
    }


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--shards", type=arguments.count, default=6, help="shards of 64 subjects (default: 6)")
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    result = measure(options.seed, options.shards)
    if options.json:
        print(json.dumps(result))
        return
    print(tabulate([(key, value) for key, value in result.items() if not isinstance(value, dict)], floatfmt=".3f"))
    print(tabulate(result["growth"].items(), headers=("bindings", "microseconds each"), floatfmt=".1f"))
    print(tabulate(result["open"].items(), headers=("open because", "subjects")))
    kinds = ("proved", "different", "open")
    rows = [(name, *(counts.get(kind, 0) for kind in kinds)) for name, counts in result["by_pass"].items()]
    print(tabulate(rows, headers=("pass", *kinds)))


if __name__ == "__main__":
    main()
