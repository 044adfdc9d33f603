"""How fast is numeric execution, against plain ``relax.build``, and does it give the same bits?

    python benchmarks/numeric.py [--modules N] [--seed S] [--chunk N] [--state DIR] [--json]

A comparison is a generated module and what a drawn pass makes of it: both are built, every public function of both is
called on the same inputs, and the results are compared.  The same comparisons are made by plain ``relax.build`` (LLVM's
default optimisation) and ``VirtualMachine``, with a cache that was empty at the start of the run (cold), by a session
over the directory that the first has filled (disk), and once more by that session (warm: the steady state, in which
kernels and legalizations are known, but each module is lowered, generated, linked and run).  Then as campaigns do it
(shared): all drawn passes of a module in turn, and the original, which they share, is built and run once, by plain
means for each.  Seconds are of the processor, linkers included.  Then modules a second of the reference interpreter, at
about ten bindings, and whole judgements by the numeric oracle, generation included.

All of it runs in child processes, a chunk of modules in each, because passes and what they leave kill processes.  Of
what a child died is named (chunk's seed, module, pass, step, signal), counted and left out, and the chunk is made again
without it.  With ``--state`` chunks that are done are kept, and the next run with the same directory, seed and chunk
goes on behind them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numeric_pairs
import tvm
from numeric_pairs import OPTIMISED, Chunk, Measured
from shared import arguments
from tabulate import tabulate

from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker

TIME_LIMIT = 1200.0  # seconds for a chunk: a plain comparison takes one, and the machine may be busy
MEMORY_LIMIT = 6 << 30
DEATHS = 40  # of one chunk, after which something else is wrong than a module
SEEDS = 1000  # so many chunks of a run have seeds of their own
PARTS: dict[str, Callable[[Chunk], Measured]] = {
    "pairs": numeric_pairs.measure_pairs,
    "shared": numeric_pairs.measure_shared,
    "interpreter": numeric_pairs.measure_interpreter,
    "judged": numeric_pairs.measure_judged,
}
DIVISORS = {"pairs": 1, "shared": 2, "interpreter": 1, "judged": 8}
"""Of the modules of a run, a part takes one in so many."""


@dataclass(frozen=True, slots=True)
class Row:
    """One chunk of one part.

    Attributes:
        part: Of :data:`PARTS`.
        seed: The chunk's.
        measured: What it gave.
        died: Of what children died, for people.
    """

    part: str
    seed: int
    measured: Measured
    died: list[str]

    @classmethod
    def read(cls, line: str) -> Row:
        """From a line of a state's file."""
        record = json.loads(line)
        return cls(record["part"], record["seed"], Measured(**record["measured"]), record["died"])


def survived(worker: IsolatedWorker, part: Callable[[Chunk], Measured], chunk: Chunk) -> tuple[Measured, list[str]]:
    """What a chunk gives, without what a process died of, and that.

    The directory is as the last of these processes leaves it, as if the others had not been: else the modules that had
    been built before the death would not be met cold.

    Raises:
        RuntimeError: Processes die of nothing in particular.
    """
    died: list[str] = []
    with tempfile.TemporaryDirectory(dir=Path(chunk.directory).parent) as kept:
        saved = Path(kept) / "saved"
        _copy(Path(chunk.directory), saved)
        for _ in range(DEATHS):
            worker.fresh()
            said = worker.call(part, chunk)
            if not isinstance(said, Died):
                return said, died
            title, _, _step = said.stage.rpartition(": ")
            died.append(f"{said.stage}: {said.detail}")
            print(f"died: {died[-1]}", file=sys.stderr, flush=True)
            if not title or title in chunk.left_out:
                break
            chunk = dataclasses.replace(chunk, left_out=chunk.left_out | {title})
            shutil.rmtree(chunk.directory)
            _copy(saved, Path(chunk.directory))
    raise RuntimeError(f"processes die of nothing in particular: {'; '.join(died)}")


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, copy_function=os.link)  # entries are replaced as a whole, never written into


def chunks(part: str, count: int, first: int, size: int, directory: str) -> Iterator[Chunk]:
    """The chunks of a part, without end for comparisons: a chunk may give fewer than it is asked for."""
    for number in range(SEEDS):
        left = count // DIVISORS[part] - number * size
        if part in ("interpreter", "judged") and left <= 0:
            return
        yield Chunk(SEEDS * first + number, min(size, left) if left > 0 else size, directory)


def measure(count: int, first: int, size: int, state: Path) -> list[Row]:
    """All chunks, of which those that the state has are not measured again."""
    file, cache = state / "rows.jsonl", state / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    rows = [Row.read(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    known = {(row.part, row.seed): row for row in rows}
    found: list[Row] = []
    with IsolatedWorker(time_limit=TIME_LIMIT, memory_limit=MEMORY_LIMIT) as worker:
        for part, function in PARTS.items():
            enough = 0
            for chunk in chunks(part, count, first, size, str(cache)):
                row = known.get((part, chunk.seed))
                if row is None:
                    row = Row(part, chunk.seed, *survived(worker, function, chunk))
                    with file.open("a", encoding="utf-8") as opened:
                        opened.write(json.dumps(dataclasses.asdict(row)) + "\n")
                found.append(row)
                enough += row.measured.count
                if part in ("pairs", "shared") and enough >= count // DIVISORS[part]:
                    break
    return found


def summed(rows: list[Row], part: str) -> Measured:
    """All chunks of a part together."""
    chosen = [row.measured for row in rows if row.part == part]
    spent: defaultdict[str, float] = defaultdict(float)
    stages: defaultdict[str, float] = defaultdict(float)
    skipped: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for each in chosen:
        for total, values in ((spent, each.seconds), (stages, each.stages)):
            for name, value in values.items():
                total[name] += value
        skipped.update(each.skipped)
        counts.update(each.counts)
    differ = [text for each in chosen for text in each.differ]
    return Measured(sum(each.count for each in chosen), spent, stages, differ, skipped, counts)


def report(rows: list[Row]) -> dict[str, Any]:
    """What is printed."""
    pairs, shared, interpreter, judged = (summed(rows, part) for part in PARTS)
    plain = pairs.seconds.get("plain")
    told: dict[str, Any] = {"modules": pairs.count}
    for name in ("plain", "cold", "disk", "warm", "compiled"):
        told[f"{name}_ms"] = _milliseconds(pairs.seconds.get(name), pairs.count)
    for name in ("cold", "disk", "warm"):
        told[f"{name}_ratio"] = _ratio(plain, pairs.seconds[name])
    told["shared_ms"] = _milliseconds(shared.seconds["shared"], shared.count)
    told["shared_ratio"] = _ratio(shared.seconds.get("shared plain"), shared.seconds["shared"])
    told["passes_an_original"] = round(shared.count / max(1, shared.counts["groups"]), 1)
    differ = [*pairs.differ, *shared.differ]
    told["bit_identical"] = not differ
    told["bit_identical_but_for_llvm_optimisations"] = all(each.endswith(OPTIMISED) for each in differ)
    told["differ"] = differ
    done, spent = interpreter.counts["interpreted"], interpreter.seconds["interpreter"]
    told["interpreter_modules_per_second"] = _rate(done, spent, 1)
    told["interpreter_share"] = round(done / max(1, interpreter.count), 3)
    told["numeric_per_second_per_core"] = _rate(judged.counts["decided"], judged.seconds["judged"], 2)
    told["subjects_per_second_per_core"] = _rate(judged.count, judged.seconds["judged"], 2)
    for means in ("warm", "cold"):
        each = {name.removeprefix(f"{means} "): value for name, value in pairs.stages.items() if name.startswith(means)}
        ordered = sorted(each.items(), key=lambda item: -item[1])
        told[f"{means}_stages_ms"] = {name: _milliseconds(value, pairs.count) for name, value in ordered}
    told["kernels_compiled"] = pairs.counts["kernels_compiled"]
    told["skipped"] = dict(Counter(pairs.skipped) + Counter(shared.skipped))
    told["died"] = [text for row in rows for text in row.died]
    return {**told, "tvm": tvm.__version__}


def _milliseconds(value: float | None, count: int) -> float | None:
    return None if value is None else round(1e3 * value / max(1, count), 3)


def _ratio(plain: float | None, value: float) -> float | None:
    return round(plain / value, 1) if plain and value else None


def _rate(count: int, seconds: float, digits: int) -> float:
    return round(count / seconds, digits) if seconds else 0.0


def main() -> int:
    """Measure and print."""
    parser = arguments.Parser(__doc__)
    parser.add_argument("--modules", type=arguments.count, default=500)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--chunk", type=arguments.count, default=25, help="modules in one child process")
    parser.add_argument(
        "--state", type=arguments.folder, help="keep chunks in this directory, and go on from those it has"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        rows = measure(options.modules, options.seed, options.chunk, options.state or Path(temporary))
    told = report(rows)
    if options.json:
        print(json.dumps(told))
    else:
        print(tabulate(((name, value) for name, value in told.items()), headers=("measure", "value")))
    return 0 if told["bit_identical_but_for_llvm_optimisations"] else 1


if __name__ == "__main__":
    sys.exit(main())
