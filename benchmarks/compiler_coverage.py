"""What coverage tells and what it takes: blocks reached by directory, and processor time a case with and without it.

    python benchmarks/compiler_coverage.py [--shards N] [--seed SEED] [--fresh] [--json]
    python benchmarks/compiler_coverage.py --campaigns DIR DIR --tests TVM_CHECKOUT [--tests-blocks FILE] [--least N]

Judges the same shards of 64 cases in two processes, one of which watches TVM's compiler, in turns, after a third one
has filled the cache of kernels with what they need.  Prints both times of each shard and whether their verdicts are
the same, the median of the ratios, and the blocks that were reached.
With ``--fresh`` each shard is judged in a process of its own, which pays for its breakpoints and for all blocks anew.
A shard whose process dies is left out.

With ``--campaigns`` it compares what campaigns with ``--coverage`` reached, all together, with what TVM's own tests of
Relax reach under the same breakpoints, file by file: by directory, and the functions of which the tests alone reach
many blocks.  ``compiler_coverage_reasons.toml`` says of those why.  ``--tests-blocks`` keeps what the tests reached, or
holds it already.  The tests are those of the checkout, the compiler is the one that is installed.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tvm  # noqa: F401 - loads the compiler, whose table is asked for
from shared import arguments, watched_tests
from tabulate import tabulate

from fuzzer.campaign.setup import pass_names, watched_build
from fuzzer.core.config import Config
from fuzzer.shard.run import ShardAccumulator
from fuzzer.shard.shard import ShardTask, run_shard
from fuzzer.store.records import ShardResult
from fuzzer.store.writer import Store
from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.coverage.breakpoints import loaded, table_of
from relaxkit.coverage.table import SOURCES, BlockTable
from relaxkit.passes.contract import OracleName

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEAST = 60
"""Of so many blocks or more that the tests alone reach, a function needs a reason."""
_NAME = 90


@dataclass(frozen=True, slots=True)
class Judged:
    """A shard that was judged, and the processor time that its process took for it."""

    result: ShardResult
    seconds: float


def judge_shard(task: ShardTask) -> Iterator[Judged]:
    """Judge a shard in the process that calls this."""
    before = time.process_time()
    added = ShardAccumulator(task)
    for event in run_shard(task):
        added.add(event)
    yield Judged(added.result, time.process_time() - before)


def judged(worker: IsolatedWorker, task: ShardTask) -> Judged | None:
    """Judge a shard in a worker; ``None``: it died."""
    (answer,) = worker.stream(judge_shard, task)
    return None if isinstance(answer, Died) else answer


def compare(campaigns: Iterable[Path], checkout: Path | None, kept: Path | None, least: int) -> None:
    """Print what campaigns and tests reached."""
    reached = set[int]()
    builds = set()
    for folder in campaigns:
        with Store.open(folder) as store:
            reached |= store.reached().keys()
            builds.add(Config.from_json(store.meta()["config"]).coverage)
            print(f"{folder.name}: {store.info().examples} cases, {len(store.reached())} blocks")
    table = table_of(loaded()[0])
    tests = watched_tests.watched(checkout, kept)
    if builds | {tests.build} != {table.build}:
        raise SystemExit(f"builds of TVM's compiler: {builds | {tests.build}}, and {table.build} is installed")
    print(tests.text)
    print(tabulate(by_directory(table, reached, tests.first.keys()), headers="keys", floatfmt=".1%"))
    print(tabulate(of_tests_only(table, reached, tests.first, least, reasons()), headers="keys"))


def by_directory(table: BlockTable, ours: Collection[int], tests: Collection[int]) -> list[dict[str, Any]]:
    """A row for each directory of the compiler, and one for all: blocks, and who reached them."""
    folders = np.array([file.split("/")[2] for file in table.files])[table.owners[table.function_of]]
    mine, theirs = (np.isin(table.blocks, list(each)) for each in (ours, tests))
    rows = []
    for folder in (*(name for name, _ in Counter(folders.tolist()).most_common()), ""):
        here = (folders == folder) | (not folder)
        ours_here, tests_here, only = (int((here & each).sum()) for each in (mine, theirs, theirs & ~mine))
        rows.append(
            {
                "directory": folder or "all",
                "blocks": int(here.sum()),
                "reached by us": ours_here,
                "by the tests": tests_here,
                "by the tests only": only,
                "ours of all reached": ours_here / max(1, ours_here + only),
            }
        )
    return rows


def of_tests_only(
    table: BlockTable, ours: Collection[int], first: Mapping[int, str], least: int, why: Iterable[Mapping[str, str]]
) -> list[dict[str, Any]]:
    """A row for each function of which the tests alone reach so many blocks, the largest first."""
    only = np.isin(table.blocks, list(first.keys() - set(ours)))
    there, alone = np.bincount(table.function_of), np.bincount(table.function_of[only], minlength=len(table.functions))
    rows = []
    for place in sorted(np.flatnonzero(alone >= least).tolist(), key=lambda each: -alone[each]):
        files = Counter(first[block] for block in table.blocks[only & (table.function_of == place)].tolist())
        name = table.names[place] or f"at {int(table.functions[place]):#x}"
        file = table.files[table.owners[place]].removeprefix(SOURCES)
        rows.append(
            {
                "by the tests only": int(alone[place]),
                "of": int(there[place]),
                "file": file,
                "function": name[:_NAME],
                "tests": files.most_common(1)[0][0],
                "reason": next(
                    (row["reason"] for row in why if row.get("function", "") in name and row["file"] == file), ""
                ),
            }
        )
    return rows


def reasons() -> list[dict[str, str]]:
    """Return why campaigns do not reach what the tests reach, a row for each function."""
    path = Path(__file__).with_name("compiler_coverage_reasons.toml")
    rows: list[dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8")).get("only", [])
    return rows


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--shards", type=arguments.count, default=8, metavar="N", help="how many shards of 64 cases")
    parser.add_argument("--seed", type=arguments.whole, default=5)
    parser.add_argument("--fresh", action="store_true", help="a fresh process for each shard")
    parser.add_argument(
        "--campaigns", type=arguments.campaign, nargs="+", metavar="DIR", help="compare these with tests"
    )
    parser.add_argument("--tests", type=Path, metavar="TVM_CHECKOUT", help="whose tests of Relax are run")
    parser.add_argument(
        "--tests-blocks", type=arguments.kept(arguments.document("build", "files")), metavar="FILE",
        help="what the tests reached",
    )  # fmt: skip
    parser.add_argument("--least", type=arguments.count, default=LEAST, metavar="N", help="blocks of a function listed")
    parser.add_argument("--json", action="store_true", help="print one JSON object, of the shards alone")
    options = parser.parse_args()
    if options.campaigns:
        if not (options.tests_blocks and options.tests_blocks.exists()) and not (
            options.tests and (options.tests / watched_tests.TESTS).is_dir()
        ):
            parser.error(f"--tests must be a checkout of TVM, with {watched_tests.TESTS}")
        compare(options.campaigns, options.tests, options.tests_blocks, options.least)
        return
    plain = Config(options.seed, pass_names(), (), tuple(OracleName), None, 1.0, 1, shares=True)
    watching = replace(plain, coverage=watched_build())
    reached: set[int] = set()
    ratios, examples, same = [], 0, 0
    with IsolatedWorker() as first, IsolatedWorker() as without, IsolatedWorker() as watched:
        for number in range(options.shards):
            judged(first, ShardTask(plain, number))
            pairs = [(without, plain), (watched, watching)]
            if options.fresh:
                without.fresh()
                watched.fresh()
            both = [judged(worker, ShardTask(config, number)) for worker, config in pairs[:: 1 if number % 2 else -1]]
            one, other = both if number % 2 else both[::-1]
            if one is None or other is None:
                print(f"shard {number}: a process died", file=sys.stderr)
                continue
            reached |= other.result.reached
            examples += other.result.examples
            ratios.append(other.seconds / one.seconds)
            same += one.result == other.result
            times = [f"{1000 * each.seconds / each.result.examples:.1f}" for each in (one, other)]
            print(
                f"shard {number}: {times[0]} and {times[1]} ms a case, {len(reached)} blocks reached, "
                f"{'same' if one.result == other.result else 'OTHER'} verdicts",
                flush=True,
                file=sys.stderr,
            )
    if not ratios:
        raise SystemExit("no shard was judged in both processes")
    table = table_of(loaded()[0])
    folders = [file.split("/")[2] for file in table.files]
    places = [folders[table.owners[each]] for each in table.function_of.tolist()]
    there = Counter(places)
    hit = Counter(place for place, block in zip(places, table.blocks.tolist(), strict=True) if block in reached)
    ratio = statistics.median(ratios)
    if options.json:
        print(json.dumps({"cases": examples, "time": ratio, "same": same, "reached": {"all": len(reached), **hit}}))
        return
    print(f"{examples} cases; processor time with to without coverage: median {ratio:.3f}")
    rows = [(name, count, hit[name], f"{hit[name] / count:.1%}") for name, count in there.most_common()]
    print(tabulate(rows, headers=("directory", "blocks", "reached", "share")))


if __name__ == "__main__":
    main()
