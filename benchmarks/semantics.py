"""Does the reference interpreter say of each operator what CodeGenVM computes?

    python benchmarks/semantics.py [--operators NAME,NAME] [--cases N] [--seed S] [--rows FILE] [--show N]
    python benchmarks/semantics.py --table FILE [FILE ...]

The first draws, judges and prints; what it counted of each operator is also appended to FILE, one line each, so that a
long measurement can be made in slices.  The second adds up such files and prints docs/semantics-table.md.

Each operator is drawn alone into a function.  Half of the cases run on arguments of the default domain, the others on
other dims, corners of the domain (zeros of both signs, ones, denormals), empty dims, extremes, infinities and NaN in
turn, where they are defined on those.  What is right is said in ``oracles.meaning.nearness``: integers, booleans and
shapes must be equal, floats as near to the interpreter's float64 result as rounding explains.  A difference is counted
for the operator whose call is wrong alone, which may be one that guards the operand of the drawn one.
``unsupported`` and ``undefined`` are cases that the interpreter does not judge, by reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tabulate import tabulate

from fuzzer.isolation import Died, IsolatedWorker
from oracles.meaning.agreement import Agreement, judge_alone
from oracles.variations import Variation
from strategies.alone import ROW, draw_alone

BATCH = 25
NOT_DRAWN, DIED, INVALID = "not drawn", "died", "invalid"
COLUMNS = (*(each.value for each in Agreement), NOT_DRAWN, DIED, INVALID)
HEADING = """\
# Interpreter against CodeGenVM, operator by operator

Made by `python benchmarks/semantics.py --table FILE ...` of what it has measured; not edited by hand.  Half of the
cases ran on the default domain of inputs, half on hard values.  *Undefined*: the documentation does not say what the
result is.  *Not judged*: it does not build or does not run, or the interpreter does not know it, or fails.  *Differs*
names the operator whose call alone is wrong, which may be one that guards the operand of the drawn one; what that is
stands in [semantics.md](semantics.md).
"""
OTHERS = tuple(variation for variation in Variation if variation is not Variation.DEFAULT)


def variation_of(seed: int) -> Variation:
    """How the inputs of a case are drawn."""
    return OTHERS[seed // 2 % len(OTHERS)] if seed % 2 else Variation.DEFAULT


def batch(request: tuple[str, int, int]) -> list[tuple[str, str, str, int]]:
    """Verdict, reason and example of cases of one operator, with their seeds; runs in a worker."""
    name, first, count = request
    found: list[tuple[str, str, str, int]] = []
    for seed in range(first, first + count):
        alone = draw_alone(ROW[name], seed)
        if alone is None:
            found.append((NOT_DRAWN, "", "", seed))
            continue
        try:
            said = judge_alone(alone.module, seed, variation_of(seed))
        except Exception as error:  # of our own
            found.append((INVALID, f"{type(error).__name__}: {error}", "", seed))
            continue
        found.append((said.verdict.value, said.reason, said.example, seed))
    return found


def measure(name: str, cases: int, first: int, worker: IsolatedWorker) -> dict[str, Any]:
    """What was said of one operator."""
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    seeds: dict[str, int] = {}
    examples: dict[str, str] = {}
    for begin in range(0, cases, BATCH):
        for verdict, reason, example, seed in _judged(worker, name, first + begin, min(BATCH, cases - begin)):
            verdicts[verdict] += 1
            if verdict not in (Agreement.AGREES.value, NOT_DRAWN):
                text = f"{verdict}: {reason}"
                reasons[text] += 1
                seeds.setdefault(text, seed)
                examples.setdefault(text, example)
    return {
        "operator": name,
        **{verdict: verdicts[verdict] for verdict in COLUMNS},
        "reasons": [
            {"reason": text, "count": count, "seed": seeds.get(text), "example": examples.get(text, "")}
            for text, count in reasons.most_common()
        ],
    }


def _judged(worker: IsolatedWorker, name: str, first: int, count: int) -> list[tuple[str, str, str, int]]:
    """As :func:`batch`, in the worker; where it dies, case by case."""
    said = worker.call(batch, (name, first, count))
    if not isinstance(said, Died):
        return list(said)
    if count == 1:
        return [(DIED, said.kind, "", first)]
    return [each for seed in range(first, first + count) for each in _judged(worker, name, seed, 1)]


def merged(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of several measurements, one for each operator."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        whole = found.setdefault(
            row["operator"], {"operator": row["operator"], "reasons": [], **dict.fromkeys(COLUMNS, 0)}
        )
        for column in COLUMNS:
            whole[column] += row.get(column, 0)
        for reason in row["reasons"]:
            same = next((each for each in whole["reasons"] if each["reason"] == reason["reason"]), None)
            if same is None:
                whole["reasons"].append(dict(reason))
            else:
                same["count"] += reason["count"]
    return [found[name] for name in ROW if name in found]


def markdown(rows: list[dict[str, Any]]) -> str:
    """The text of docs/semantics-table.md."""
    lines = []
    for row in rows:
        judged = sum(row[each] for each in COLUMNS) - row[NOT_DRAWN]
        differs = [each for each in row["reasons"] if each["reason"].startswith(("differs", DIED))]
        told = "; ".join(f"{each['count']} x {each['reason'].partition(': ')[2]}" for each in differs)
        known = [row[each] for each in (Agreement.AGREES.value, Agreement.UNDEFINED.value, Agreement.DIFFERS.value)]
        rest = judged - sum(known)
        name = row["operator"].removeprefix("relax.")
        lines.append(f"| `{name}` | {judged} | {' | '.join(map(str, known))} | {rest} | {told} |")
    total = [sum(row[each] for row in rows) for each in COLUMNS]
    summed = dict(zip(COLUMNS, total, strict=True))
    cases = sum(total) - summed[NOT_DRAWN]
    return "\n".join(
        [
            HEADING,
            f"{len(rows)} operators, {cases} cases: {summed[Agreement.AGREES.value]} agree,",
            f"{summed[Agreement.UNDEFINED.value]} are undefined, {summed[Agreement.DIFFERS.value]} differ.",
            "",
            "| operator | cases | agree | undefined | differ | not judged | differs |",
            "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
            *lines,
            "",
        ]
    )


def main() -> int:
    """Measure, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", default="", help="names without relax., separated by commas; default: all")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, help="append what is counted to this file")
    parser.add_argument("--table", type=Path, nargs="+", metavar="FILE", help="print the table of such files")
    parser.add_argument("--show", type=int, default=3, help="reasons to show of each operator")
    options = parser.parse_args()
    if options.table:
        print(markdown(merged(json.loads(line) for path in options.table for line in path.read_text().splitlines())))
        return 0
    names = [f"relax.{each}" for each in options.operators.split(",") if each] or list(ROW)
    if unknown := [name for name in names if name not in ROW]:
        print(f"no operator is called {', '.join(unknown)}", file=sys.stderr)
        return 2
    rows = []
    with IsolatedWorker(time_limit=120.0) as worker:
        for name in names:
            rows.append(measure(name, options.cases, options.seed, worker))
            if options.rows is not None:
                with options.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print(tabulate([[row["operator"], *(row[each] for each in COLUMNS)] for row in rows], ["operator", *COLUMNS]))
    for row in rows:
        for reason in row["reasons"][: options.show]:
            print(
                f"{row['operator']}: {reason['count']} x {reason['reason']} (seed {reason['seed']}) {reason['example']}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
