"""How small do failing modules become, how fast, and do they keep their signature?

Each case of ``reducing/cases.py`` (30 to 200 bindings) is judged and minimized as ``relaxfuzz minimize`` does: by the
finding's own oracle in isolated processes, confirmed before and after in fresh ones.  With ``--cvise``, C-Vise (of
Debian's package ``cvise``) gets the same cases as text for as long, with the same question asked of a warm process.

    python benchmarks/reduction.py [--only TEXT] [--workers N] [--time TIME] [--cvise] [--drawn N] [--json]
"""

from __future__ import annotations

import contextlib
import json
import statistics
import time
from dataclasses import asdict, dataclass, replace

import psutil
from reducing.cases import Specimen, specimens
from reducing.cvise import Rival, cvise, cvise_version
from reducing.drawn import drawn
from shared import arguments
from tabulate import tabulate

from fuzzer.campaign.setup import cores
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.criterion import OracleCriterion
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.triage.reduce import NotReduced, ReductionPlan, failures, reduce


@dataclass(frozen=True, slots=True)
class Row:
    """One case.

    Attributes:
        name: What it stands for.
        before: Bindings of the given module.
        after: Bindings of the smallest one; ``None`` when the case does not fail, as one is meant to.
        passes: Passes that are left.
        queries: Candidates judged.
        seconds: Time of the search.
        total: Time with the confirmations before and after.
        processor: Processor seconds of all that, of all processes: what a busy machine does not change.
        same: Whether the smallest case shows the signature in a fresh process.
        again: Whether a second run from there changes nothing.
        complete: Whether a fixed point was reached.
        others: Other failures met.
        rival: What C-Vise came to.
    """

    name: str
    before: int
    after: int | None
    passes: int
    queries: int
    seconds: float
    total: float
    processor: float
    same: bool
    again: bool
    complete: bool
    others: int
    rival: Rival | None = None


def measure(specimen: Specimen, workers: int, seconds: float) -> Row:
    """Minimize one case, and its result once more."""
    began = time.perf_counter()
    failed = failures(specimen.case, specimen.oracle)
    if not failed:
        total = time.perf_counter() - began
        return Row(specimen.name, specimen.bindings, None, 0, 1, total, total, 0.0, not specimen.fails, True, True, 0)
    criterion, plan = OracleCriterion(failed[0]), ReductionPlan(SearchLimits(10**9, seconds), workers)
    began, spent = time.perf_counter(), processor_seconds()
    try:
        found = reduce(specimen.case, criterion, plan)
    except NotReduced:
        total = time.perf_counter() - began
        return Row(specimen.name, specimen.bindings, None, 0, 1, total, total, 0.0, False, False, False, 0)
    total, spent = time.perf_counter() - began, processor_seconds() - spent
    case = found.minimized.case
    again = reduce(case, criterion, plan).minimized.case == case
    same = specimen.fails and criterion.id in {signature(item).id for item in failures(case, specimen.oracle)}
    return Row(
        specimen.name, found.bindings_before, found.bindings, len(case.passes), found.minimized.queries,
        found.minimized.seconds, total, spent, same, again, found.minimized.complete, len(found.minimized.others),
    )  # fmt: skip


def processor_seconds() -> float:
    """Of this process and of all that it has started, and they."""
    mine = psutil.Process()
    total = 0.0
    for process in (mine, *mine.children()):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
            if process != mine:  # workers that have ended belong to the process that forked them
                total += times.children_user + times.children_system
    return total


def summary(rows: list[Row]) -> dict[str, float | int]:
    """The figures of all cases that were reduced."""
    done = [row for row in rows if row.after is not None]
    sizes = [row.after for row in done if row.after is not None]
    if not done:
        return {"cases": len(rows), "reduced": 0}
    figures: dict[str, float | int] = {
        "cases": len(rows),
        "reduced": len(done),
        "median_bindings_before": statistics.median(row.before for row in done),
        "median_bindings": statistics.median(sizes),
        "max_bindings": max(sizes),
        "median_seconds": round(statistics.median(row.seconds for row in done), 3),
        "max_seconds": round(max(row.seconds for row in done), 3),
        "median_total_seconds": round(statistics.median(row.total for row in done), 3),
        "max_total_seconds": round(max(row.total for row in done), 3),
        "median_processor_seconds": round(statistics.median(row.processor for row in done), 3),
        "max_processor_seconds": round(max(row.processor for row in done), 3),
        "same_signature_share": sum(row.same for row in rows) / len(rows),
        "unchanged_by_a_second_run_share": sum(row.again for row in done) / len(done),
        "median_queries": statistics.median(row.queries for row in done),
        "max_queries": max(row.queries for row in done),
    }
    rivals = [row.rival for row in done if row.rival is not None]
    if rivals:
        left = [rival.bindings for rival in rivals]
        figures |= {
            "cvise_median_bindings": statistics.median(left),
            "cvise_max_bindings": max(left),
            "cvise_median_seconds": round(statistics.median(rival.seconds for rival in rivals), 3),
            "cvise_median_queries": statistics.median(rival.queries for rival in rivals),
        }
    return figures


def _table(rows: list[Row]) -> str:
    heads = [
        "case",
        "bindings",
        "after",
        "passes",
        "queries",
        "search s",
        "in all s",
        "processor s",
        "same",
        "again",
        "others",
    ]
    with_rival = any(row.rival is not None for row in rows)
    table: list[list[object]] = []
    for row in rows:
        line: list[object] = [
            row.name, row.before, "-" if row.after is None else row.after, row.passes, row.queries,
            f"{row.seconds:.2f}", f"{row.total:.2f}", f"{row.processor:.1f}", row.same, row.again, row.others,
        ]  # fmt: skip
        if with_rival and row.rival is None:
            line += ["-", "-", "-"]
        elif row.rival is not None:
            line += [row.rival.bindings, f"{row.rival.seconds:.1f}", row.rival.queries]
        table.append(line)
    return str(tabulate(table, heads + (["C-Vise", "its s", "its queries"] if with_rival else [])))


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this in it")
    parser.add_argument(
        "--workers", type=arguments.count, default=cores(), metavar="N", help="processes (default: one a core)"
    )
    parser.add_argument(
        "--time", type=arguments.duration, default="5m", metavar="TIME", help="limit of each case (default: 5m)"
    )
    parser.add_argument("--cvise", action="store_true", help="run C-Vise on the same cases")
    parser.add_argument(
        "--cvise-time",
        type=arguments.duration,
        default="2m",
        metavar="TIME",
        help="limit of C-Vise on each case (default: 2m)",
    )
    parser.add_argument(
        "--drawn", type=arguments.whole, default=0, metavar="N", help="also so many findings in drawn modules"
    )
    parser.add_argument(
        "--seed", type=arguments.whole, default=1, metavar="N", help="seed of the drawn modules (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    version = cvise_version() if options.cvise else None
    if options.cvise and version is None:
        parser.error("there is no `cvise` (Debian's package of that name)")
    given = [specimen for specimen in specimens() if options.only in specimen.name]
    if not given and not options.drawn:
        parser.error(f"no case is called '{options.only}'")
    rows: list[Row] = []
    for specimen in [*given, *drawn(options.drawn, options.seed)]:
        row = measure(specimen, options.workers, options.time)
        if options.cvise and row.after is not None:
            row = replace(row, rival=cvise(specimen, options.workers, options.cvise_time))
        rows.append(row)
        if not options.json:
            print(_table([row]).splitlines()[-1], flush=True)
    figures = summary(rows)
    if options.json:
        print(json.dumps({**figures, "cvise": version, "rows": [asdict(row) for row in rows]}))
        return
    print(f"\n{_table(rows)}\n\n{tabulate(figures.items())}")


if __name__ == "__main__":
    main()
