"""How many changed subjects are proved to compute the same for all inputs, how fast, and why the rest is open.

    python benchmarks/proof.py [--shards 6] [--seed 1] [--judge] [--json]

Modules and passes are drawn as a campaign over all passes draws them; a subject counts when its pass changed the
module, and gives a well-formed one whose results it promises to keep: what does not count is listed by reason.
A subject on which a pass has a defect counts, and is never proved.  ``--judge`` executes what is not proved, and counts
how many of these the numeric oracle finds wrong, cannot execute, or finds equal; ``proved_of_right`` leaves the first
two out.  ``median_ms`` is the time of one proof, the original included, ``median_ms_further`` that of another proof on
the same original; ``growth`` is the time of a chain of additions under ConvertToDataflow, in microseconds a binding, by
its length.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from shared import arguments
from tabulate import tabulate

LENGTHS = (10, 100, 1_000, 10_000)


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


@dataclass(frozen=True)
class Proved:
    """What came of one subject.

    Attributes:
        result: The end of the proof; empty where there is nothing to prove, for a reason.
        milliseconds: Time of the proof, and beyond that of another one on the same original.
        judged: What the numeric oracle says of a subject that is not proved, where it was asked.
    """

    name: str
    lowering: bool
    result: str
    reason: str
    exact: bool = True
    milliseconds: float = 0.0
    further: bool = False
    judged: str = ""


def proofs(task: tuple[int, int, bool]) -> Any:
    """Prove the subjects of one shard; executes, where that is asked for, what is not proved."""
    from shared.proofs import no_results, proof_of

    from oracles import judge
    from relaxkit.passes.arguments import NotLiteral
    from relaxkit.passes.contract import OracleName

    *drawn, execute = task
    facts = set()
    for subject, lowering in subjects(*drawn):
        try:
            if reason := no_results(subject):
                yield Proved(subject.judged, lowering, "", reason)
                continue
        except NotLiteral:
            pass
        start = time.process_time()
        proof = proof_of(subject)
        milliseconds = 1000 * (time.process_time() - start)
        further = id(subject.original_facts) in facts
        facts.add(id(subject.original_facts))
        said = ""
        if execute and str(proof.result) != "proved":
            (verdict,) = judge(subject, [OracleName.NUMERIC])
            said = _JUDGED[str(verdict.outcome)]
        yield Proved(
            subject.judged, lowering, str(proof.result), proof.reason, proof.exact, milliseconds, further, said
        )


_JUDGED = {"fail": "found wrong", "skip": "cannot be executed", "invalid": "cannot be executed", "pass": "found equal"}


def measure(seed: int, shards: int, execute: bool) -> dict[str, Any]:
    """Prove what is drawn."""
    from fuzzer.worker.death import Died
    from fuzzer.worker.worker import IsolatedWorker

    found: list[Proved] = []
    with IsolatedWorker() as worker:
        for item in (item for shard in range(shards) for item in worker.stream(proofs, (seed, shard, execute))):
            if not isinstance(item, Died):  # a pass that crashes; the rest of its shard is left out
                found.append(item)
    counted = [each for each in found if each.result]
    by_pass: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in counted:
        by_pass[each.name][each.result] += 1

    def share(*kinds: bool, excluded: tuple[str, ...] = ()) -> float:
        all_of = [each.result == "proved" for each in counted if each.lowering in kinds and each.judged not in excluded]
        return sum(all_of) / max(1, len(all_of))

    def tally(values: Any) -> dict[str, int]:
        return dict(Counter(values).most_common())

    further = [each.milliseconds for each in counted if each.further]
    right = ("found wrong", "cannot be executed")
    return {
        "subjects": len(counted),
        "high_level": sum(not each.lowering for each in counted),
        "proved_share": share(False, True),
        "proved_share_high_level": share(False),
        "proved_share_lowering": share(True),
        **({"proved_of_right_high_level": share(False, excluded=right)} if execute else {}),
        "proved_to_the_bit": sum(each.result == "proved" and each.exact for each in counted) / max(1, len(counted)),
        "median_ms": statistics.median(each.milliseconds for each in counted),
        "median_ms_further": statistics.median(further) if further else 0.0,
        "max_ms": max(each.milliseconds for each in counted),
        "growth": growth(),
        "no_results": tally(each.reason for each in found if not each.result),
        "open": tally(each.reason for each in counted if each.result == "open"),
        "not_proved_high_level": tally(
            f"{each.name}, {each.result}{', ' * bool(each.judged)}{each.judged}"
            for each in counted
            if each.result != "proved" and not each.lowering
        ),
        "by_pass": {name: dict(counts) for name, counts in sorted(by_pass.items())},
    }


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--shards", type=arguments.count, default=6, help="shards of 64 subjects (default: 6)")
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--judge", action="store_true", help="execute what is not proved, to say whether it is wrong")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    result = measure(options.seed, options.shards, options.judge)
    if options.json:
        print(json.dumps(result))
        return
    print(tabulate([(key, value) for key, value in result.items() if not isinstance(value, dict)], floatfmt=".3f"))
    print(tabulate(result["growth"].items(), headers=("bindings", "microseconds each"), floatfmt=".1f"))
    print(tabulate(result["no_results"].items(), headers=("not counted because", "subjects")))
    print(tabulate(result["open"].items(), headers=("open because", "subjects")))
    print(tabulate(result["not_proved_high_level"].items(), headers=("high-level, not proved", "subjects")))
    kinds = ("proved", "different", "open")
    rows = [(name, *(counts.get(kind, 0) for kind in kinds)) for name, counts in result["by_pass"].items()]
    print(tabulate(rows, headers=("pass", *kinds)))


if __name__ == "__main__":
    main()
