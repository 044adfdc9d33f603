"""How small do findings become, and how fast?

Draws modules from a seed, collects findings of stock passes (one case for each signature, never the smallest one: the
first that is met), and minimizes each in an isolated worker, as a campaign does.

    python benchmarks/reduction.py [--cases N] [--seed N] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from tabulate import tabulate

from fuzzer.cases import Case
from fuzzer.isolation import IsolatedWorker
from fuzzer.minimizer.judging import Judge, judging_oracles
from fuzzer.minimizer.search import Limits, minimize
from fuzzer.signatures import signature
from oracles.passref import PassRef
from oracles.verdict import OracleName, Verdict

PASSES = (
    "MergeCompositeFunctions",
    "FastMathTransform",
    "InlinePrivateFunctions",
    "FuseTransposeMatmul",
    "LiftTransformParams",
    "RemoveUnusedParameters",
    "ExpandTupleArguments",
    "LazySetOutput",
    "FuseOps",
    "FuseTIR",
    "VMShapeLower",
    "ToMixedPrecision",
    "LambdaLift",
)
ORACLES = tuple(oracle for oracle in OracleName if oracle is not OracleName.NUMERIC)
BATCH = 40
MAX_BATCHES = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One minimized finding; times in seconds."""

    signature: str
    name: str
    before: int
    after: int
    queries: int
    seconds: float
    same: bool
    complete: bool


def draw_modules(seed: int) -> list[str]:
    """Modules of one batch as JSON; runs in the worker."""
    import tvm
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    from strategies import ir_modules

    found: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(ir_modules())
    def collect(module: object) -> None:
        found.append(str(tvm.ir.save_json(module)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect()
    return found


def findings(worker: IsolatedWorker, seed: int) -> Iterator[tuple[Case, Verdict]]:
    """The first case of each signature."""
    judge = Judge(worker, ORACLES)
    seen: set[str] = set()
    for batch in range(MAX_BATCHES):
        modules = judge.ask(draw_modules, seed + batch)
        for module in modules if isinstance(modules, list) else ():
            for name in PASSES:
                case = Case(module, (PassRef(name, f"relax.transform.{name}()"),), 0)
                for verdict in judge.verdicts(case):
                    if signature(verdict).id not in seen:
                        seen.add(signature(verdict).id)
                        yield case, verdict


def measure(worker: IsolatedWorker, case: Case, verdict: Verdict, limits: Limits) -> Row | None:
    """Minimize one finding."""
    wanted = signature(verdict)
    judge = Judge(worker, judging_oracles(verdict))
    facts = judge.facts(case)
    if facts is None:
        return None
    started = time.perf_counter()
    found = minimize(case, wanted.id, judge.signatures, judge.propose, facts, limits=limits)
    seconds = time.perf_counter() - started
    if not found.reproduced:
        return None
    after = judge.facts(found.case)
    same = wanted.id in judge.signatures(found.case)
    size = after.bindings if after is not None else facts.bindings
    return Row(wanted.id, wanted.culprit, facts.bindings, size, found.queries, seconds, same, found.complete)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=15, metavar="N", help="findings to minimize (default: 15)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the modules (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    rows: list[Row] = []
    with IsolatedWorker() as worker:
        for case, verdict in findings(worker, options.seed):
            row = measure(worker, case, verdict, Limits())
            if row is not None:
                rows.append(row)
            if len(rows) >= options.cases:
                break
    if not rows:
        parser.exit(1, "no findings\n")
    summary = {
        "cases": len(rows),
        "median_bindings_before": statistics.median(row.before for row in rows),
        "median_bindings": statistics.median(row.after for row in rows),
        "max_bindings": max(row.after for row in rows),
        "median_seconds": round(statistics.median(row.seconds for row in rows), 3),
        "max_seconds": round(max(row.seconds for row in rows), 3),
        "same_signature_share": sum(row.same for row in rows) / len(rows),
        "median_queries": statistics.median(row.queries for row in rows),
    }
    if options.json:
        print(json.dumps(summary))
        return
    table = [
        [row.signature, row.name, row.before, row.after, row.queries, f"{row.seconds:.2f}", row.same] for row in rows
    ]
    print(tabulate(table, ["signature", "pass", "bindings", "minimized", "queries", "seconds", "same signature"]))
    print()
    print(tabulate(summary.items()))


if __name__ == "__main__":
    main()
