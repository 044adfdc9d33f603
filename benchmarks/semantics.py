"""Does the reference interpreter say of each operator what CodeGenVM computes?

    python benchmarks/semantics.py [--operators NAME,NAME] [--cases N] [--seed S] [--rows FILE] [--show N]
    python benchmarks/semantics.py --table FILE [FILE ...]

The first draws, judges and prints; what it counted of each operator is also appended to FILE, one line each, so that a
long measurement can be made in slices; operators that FILE has from the same seed and number of cases are not measured
again.  The second adds up such files and prints docs/semantics-table.md.

Each operator is drawn alone into a function, which is built once and run on four inputs (on one if it takes none); each
module on one input is a case.  Half of the cases run on arguments of the default domain, the others on
other dims, corners of the domain (zeros of both signs, ones, denormals), empty dims, extremes, infinities and NaN in
turn, where they are defined on those.  What is right is said in ``oracles.semantics.nearness``: integers, booleans and
shapes must be equal, floats as near to the interpreter's float64 result as rounding explains.  A difference is counted
for the operator whose call is wrong alone, which may be one that guards the operand of the drawn one.
``unsupported`` and ``undefined`` are cases that the interpreter does not judge, by reason.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared import arguments
from shared.agreement import Agreement, judge_inputs
from shared.operator_modules import ROW, draw_alone
from tabulate import tabulate

from fuzzer.worker.child import breadcrumb
from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker
from oracles.measure.input_variations import Variation

BATCH = 32
TIME_LIMIT = 600.0  # seconds for a batch: the machine may be busy
INPUTS = 4
MODULES = "modules"
NOT_DRAWN, DIED, INVALID = "not drawn", "died", "invalid"
COLUMNS = (*(each.value for each in Agreement), NOT_DRAWN, DIED, INVALID)
HEADING = """\
# Interpreter against CodeGenVM, operator by operator

Made by `python benchmarks/semantics.py --table FILE ...` of what it has measured; not edited by hand.  A case
is a drawn module on drawn inputs, four of which share a module; half of the cases ran on the default domain of inputs,
half on hard values.  *Undefined*: the documentation does not say what the
result is.  *Not judged*: it does not build or does not run, or the interpreter does not know it, or fails.  *Differs*
names the operator whose call alone is wrong, which may be one that guards the operand of the drawn one; what that is
stands in [semantics.md](semantics.md).
"""
OTHERS = tuple(variation for variation in Variation if variation is not Variation.DEFAULT)


def variation_of(number: int) -> Variation:
    """How the inputs of a case are drawn."""
    return OTHERS[number // 2 % len(OTHERS)] if number % 2 else Variation.DEFAULT


@dataclass(frozen=True, slots=True)
class Case:
    """What was said of one module on one kind of inputs; picklable.

    Attributes:
        verdict: What came of it.
        reason: Why.
        example: Both values, for people.
        seed: Seed of the module.
        number: Seed of the inputs, which says of which kind they are.
    """

    verdict: str
    reason: str
    example: str
    seed: int
    number: int


def numbers_of(seed: int, module: Any) -> list[int]:
    """Seeds of the inputs of a module: several, unless it takes none, so that they would be the same ones."""
    return [seed * INPUTS + each for each in range(INPUTS if module["main"].params else 1)]


def batch(request: tuple[str, int, int, int | None]) -> list[Case]:
    """Judge modules of one operator; runs in a worker.

    Args:
        request: The operator, the first seed, how many, and of a single one the only seed of inputs to take.
    """
    name, first, count, only = request
    drawn = {seed: draw_alone(ROW[name], seed) for seed in range(first, first + count)}
    found: list[Case] = []
    for seed, alone in drawn.items():
        if alone is None:
            found.append(Case(NOT_DRAWN, "", "", seed, seed * INPUTS))
            continue
        numbers = numbers_of(seed, alone.module) if only is None else [only]
        breadcrumb(f"{name} {seed}")
        try:
            said = judge_inputs(alone.module, [(number, variation_of(number)) for number in numbers])
        except Exception as error:  # of our own
            found.append(Case(INVALID, f"{type(error).__name__}: {error}", "", seed, numbers[0]))
            continue
        found += [
            Case(each.verdict.value, each.reason, each.example, seed, number)
            for number, each in zip(numbers, said, strict=True)
        ]
    return found


def measure(name: str, cases: int, first: int, worker: IsolatedWorker) -> dict[str, Any]:
    """What was said of one operator."""
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    examples: dict[str, Case] = {}
    seed = first
    while (left := cases - sum(verdicts.values()) + verdicts[NOT_DRAWN]) > 0 and seed - first < cases:
        # A row that mostly refuses is not asked for ever.
        count = min(BATCH, -(-left // INPUTS), first + cases - seed)
        for case in _judged(worker, name, seed, count):
            if case.verdict != NOT_DRAWN and left <= 0:
                break
            left -= case.verdict != NOT_DRAWN
            verdicts[case.verdict] += 1
            if case.verdict not in (Agreement.AGREES.value, NOT_DRAWN):
                text = f"{case.verdict}: {case.reason}"
                reasons[text] += 1
                examples.setdefault(text, case)
        seed += count
    return {
        "operator": name,
        "first": first,
        "wanted": cases,
        **{verdict: verdicts[verdict] for verdict in COLUMNS},
        MODULES: seed - first,
        "reasons": [
            {
                "reason": text,
                "count": count,
                "seed": examples[text].seed,
                "inputs": examples[text].number,
                "example": examples[text].example,
            }
            for text, count in reasons.most_common()
        ],
    }


def _judged(worker: IsolatedWorker, name: str, first: int, count: int, only: int | None = None) -> list[Case]:
    """As :func:`batch`, in the worker; where it dies, module by module, and then input by input."""
    said = worker.call(batch, (name, first, count, only))
    if not isinstance(said, Died):
        return list(said)
    if count > 1:
        return [each for seed in range(first, first + count) for each in _judged(worker, name, seed, 1)]
    if only is None:
        numbers = range(first * INPUTS, (first + 1) * INPUTS)
        return [each for number in numbers for each in _judged(worker, name, first, 1, number)]
    return [Case(DIED, said.kind, "", first, only)]


def merged(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of several measurements, one for each operator."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        whole = found.setdefault(
            row["operator"], {"operator": row["operator"], "reasons": [], **dict.fromkeys((*COLUMNS, MODULES), 0)}
        )
        for column in (*COLUMNS, MODULES):
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


def _done(file: Path | None, first: int, cases: int) -> list[dict[str, Any]]:
    """What a file has already of a measurement that was interrupted."""
    if file is None or not file.exists():
        return []
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if (row.get("first"), row.get("wanted")) == (first, cases)]


def main() -> int:
    """Measure, or print the table."""
    parser = arguments.Parser(__doc__)
    parser.add_argument("--operators", default="", help="names without relax., separated by commas; default: all")
    parser.add_argument("--cases", type=arguments.count, default=100)
    parser.add_argument("--seed", type=arguments.whole, default=0)
    parser.add_argument(
        "--rows", type=arguments.kept(arguments.rows("operator")), help="append what is counted to this file"
    )
    parser.add_argument(
        "--table", type=arguments.rows("operator"), nargs="+", metavar="FILE", help="print the table of such files"
    )
    parser.add_argument("--show", type=arguments.whole, default=3, help="reasons to show of each operator")
    options = parser.parse_args()
    if options.table:
        print(markdown(merged(itertools.chain(*options.table))))
        return 0
    names = [f"relax.{each}" for each in options.operators.split(",") if each] or list(ROW)
    if unknown := [name for name in names if name not in ROW]:
        parser.error(f"no operator is called {', '.join(unknown)}")
    rows = _done(options.rows, options.seed, options.cases)
    names = [name for name in names if name not in {row["operator"] for row in rows}]
    with IsolatedWorker(time_limit=TIME_LIMIT) as worker:
        for name in names:
            rows.append(measure(name, options.cases, options.seed, worker))
            if options.rows is not None:
                with options.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print(tabulate([[row["operator"], *(row[each] for each in COLUMNS)] for row in rows], ["operator", *COLUMNS]))
    for row in rows:
        for reason in row["reasons"][: options.show]:
            print(
                f"{row['operator']}: {reason['count']} x {reason['reason']} "
                f"(seed {reason['seed']}, inputs {reason['inputs']}) {reason['example']}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
