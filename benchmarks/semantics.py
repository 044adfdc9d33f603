"""Does the reference interpreter say of each operator what CodeGenVM computes?

    python benchmarks/semantics.py [--operators NAME,NAME] [--cases N] [--seed S] [--json] [--show N]

Each operator is drawn alone into a function, on arguments of the default domain and on hard values (zeros of both
signs, ones, extremes, denormals, infinities, NaN) where it is defined on those.  Integers, booleans and shapes must be
equal; floats must be as near to the interpreter's float64 result as rounding explains, by the measure of
``oracles.tolerance``.  ``unsupported`` and ``undefined`` are cases that the interpreter does not judge, by reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from typing import Any

from tabulate import tabulate

from fuzzer.isolation import Died, IsolatedWorker
from oracles.interpreter.agreement import Agreement, judge_alone
from strategies.alone import ROW, draw_alone

BATCH = 50


def batch(request: tuple[str, int, int]) -> list[tuple[str, str, int]]:
    """Verdict and reason of cases of one operator, with their seeds; runs in a worker."""
    name, first, count = request
    found = []
    for seed in range(first, first + count):
        alone = draw_alone(ROW[name], seed)
        if alone is None:
            found.append(("not drawn", "", seed))
            continue
        said = judge_alone(alone.module, seed)
        found.append((said.verdict.value, said.reason, seed))
    return found


def measure(name: str, cases: int, first: int, worker: IsolatedWorker) -> dict[str, Any]:
    """What was said of one operator."""
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    seeds: dict[str, int] = {}
    for begin in range(0, cases, BATCH):
        said = worker.call(batch, (name, first + begin, min(BATCH, cases - begin)))
        if isinstance(said, Died):
            verdicts["died"] += 1
            reasons[f"died: {said.detail}"] += 1
            continue
        for verdict, reason, seed in said:
            verdicts[verdict] += 1
            if verdict != Agreement.AGREES.value and verdict != "not drawn":
                text = f"{verdict}: {reason}"
                reasons[text] += 1
                seeds.setdefault(text, seed)
    return {
        "operator": name,
        **{verdict: verdicts[verdict] for verdict in [*(each.value for each in Agreement), "not drawn", "died"]},
        "reasons": [{"reason": text, "count": count, "seed": seeds.get(text)} for text, count in reasons.most_common()],
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", default="", help="names without relax., separated by commas; default: all")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", type=int, default=3, help="reasons to show of each operator")
    options = parser.parse_args()
    names = [f"relax.{each}" for each in options.operators.split(",") if each] or list(ROW)
    if unknown := [name for name in names if name not in ROW]:
        print(f"no operator is called {', '.join(unknown)}", file=sys.stderr)
        return 2
    with IsolatedWorker(time_limit=120.0) as worker:
        rows = [measure(name, options.cases, options.seed, worker) for name in names]
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    columns = [*(each.value for each in Agreement), "not drawn", "died"]
    print(tabulate([[row["operator"], *(row[each] for each in columns)] for row in rows], ["operator", *columns]))
    for row in rows:
        for reason in row["reasons"][: options.show]:
            print(f"{row['operator']}: {reason['count']} x {reason['reason']} (seed {reason['seed']})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
