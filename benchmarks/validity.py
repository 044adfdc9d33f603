"""Whether generated modules are what they should be: well formed, and executable where they are meant to be.

    python benchmarks/validity.py [--modules 2000] [--seed 1] [--workers 2] [--no-run] [--show 20] [--json]
                                  [--aim add,multiply] [--demand FEATURE,FEATURE] [--max-bindings N]

Each module is checked by TVM's own checker and by ours (declared return types against the bodies, JSON that loads
back); one that is meant to execute is built by the minimal reference pipeline, and each of its public functions is
run twice on drawn inputs. What does not come out is listed by message, with the number of the first such module, which
``--only NUMBER`` draws and prints again.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shared import arguments
from tabulate import tabulate

BATCH = 50
DRAW_BYTES = 16 << 10
AIMED_WEIGHT = 30
"""The weight of each operator that is aimed at: of two, six of seven operators are one of them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is asked of ``described_modules``: operators to aim at, names of features, and the most bindings."""

    aim: tuple[str, ...] = ()
    demand: tuple[str, ...] = ()
    max_bindings: int = 12


@dataclass(frozen=True, slots=True)
class Batch:
    """Modules ``first`` up to, not with, ``stop`` of a seed."""

    seed: int
    first: int
    stop: int
    run: bool
    kind: Kind


@dataclass(frozen=True, slots=True)
class Begun:
    """A module is about to be checked."""

    number: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of a module; ``problems`` are pairs of a kind and a message."""

    number: int
    drawn: bool
    meant: bool = False
    problems: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Totals:
    """What all workers found."""

    checked: int = 0
    discarded: int = 0
    meant: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    messages: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, item: Checked) -> None:
        """Count one module."""
        if not item.drawn:
            self.discarded += 1
            return
        self.checked += 1
        self.meant += item.meant
        self.failed.update({kind for kind, _ in item.problems})
        for kind, message in item.problems:
            key = (kind, normalised(message))
            self.messages[key] += 1
            self.first.setdefault(key, item.number)


def normalised(message: str) -> str:
    """The last telling line of a message, without numbers."""
    lines = [line for line in message.strip().splitlines() if line.strip()]
    return re.sub(r"\d+", "N", lines[-1])[:150] if lines else "no message"


@functools.cache
def modules_of(kind: Kind) -> Any:
    """Return the strategy of modules of a kind."""
    from strategies import Feature
    from strategies.modules import described_modules

    return described_modules(
        demand=[Feature(name) for name in kind.demand],
        max_bindings=kind.max_bindings,
        operators=dict.fromkeys(kind.aim, AIMED_WEIGHT),
    )


def described(seed: int, number: int, kind: Kind) -> Any:
    """Module ``number`` of a seed with what is known of it; ``None`` when the draw is discarded."""
    from strategies.scope.from_bytes import draw_from_bytes

    return draw_from_bytes(modules_of(kind), random.Random(f"{seed}/{number}").randbytes(DRAW_BYTES))


def check_batch(batch: Batch) -> Iterator[Begun | Checked]:
    """Check the modules of a batch; runs in an isolated worker."""
    from fuzzer.worker.child import begin_case

    for number in range(batch.first, batch.stop):
        begin_case()
        yield Begun(number)
        drawn = described(batch.seed, number, batch.kind)
        if drawn is None:
            yield Checked(number, False)
            continue
        problems = _form(drawn.module)
        if batch.run and drawn.executable and not problems:
            problems += _execution(drawn.module)
        yield Checked(number, True, drawn.executable, tuple(problems))


def _form(module: Any) -> list[tuple[str, str]]:
    import tvm

    from oracles.core.function_signatures import contradicted_type
    from oracles.core.module_facts import complaint, load

    problems = []
    if (found := complaint(module)) is not None:
        problems.append(("TVM's checker", found.message))
    if (found := contradicted_type(module, module)) is not None:
        problems.append(("our checker", found.message))
    text = str(tvm.ir.save_json(module))
    again = load(text)
    if again is None:
        problems.append(("our checker", "its JSON cannot be loaded"))
    elif str(tvm.ir.save_json(again)) != text:
        problems.append(("our checker", "its JSON changes when it is loaded"))
    return problems


def _execution(module: Any) -> list[tuple[str, str]]:
    import tvm

    from fuzzer.worker.child import breadcrumb
    from oracles.measure.original import Original
    from relaxkit.ir.domain import Given

    def record(*stages: object) -> None:
        breadcrumb(" ".join(map(str, stages)))

    original = Original(module, str(tvm.ir.save_json(module)), 1, Given(), record)
    if original.built is None:
        error = original.build_error
        return [("execution", f"build: {error.kind}: {error.message}" if error else "build")]
    return [
        ("execution", f"{entry.problem}{': ' + entry.error.message if entry.error else ''}")
        for entry in original.entries
        if entry.problem
    ]


def work(batches: list[Batch], totals: Totals, lock: threading.Lock) -> None:
    """Take batches until there are none left."""
    from fuzzer.worker.death import Died
    from fuzzer.worker.worker import IsolatedWorker

    with IsolatedWorker() as worker:
        while True:
            with lock:
                if not batches:
                    return
                batch = batches.pop(0)
            current = batch.first
            while current < batch.stop:
                died: Died | None = None
                for item in worker.stream(check_batch, dataclasses.replace(batch, first=current)):
                    if isinstance(item, Begun):
                        current = item.number
                    elif isinstance(item, Checked):
                        current = item.number + 1
                        with lock:
                            totals.add(item)
                    elif isinstance(item, Died):
                        died = item
                if died is not None:
                    with lock:
                        totals.add(Checked(current, True, True, (("execution", f"{died.kind} in {died.stage}"),)))
                    current += 1


def measure(count: int, seed: int, workers: int, run: bool, kind: Kind) -> Totals:
    """Check ``count`` modules of a seed."""
    totals, lock = Totals(), threading.Lock()
    batches = [Batch(seed, first, min(first + BATCH, count), run, kind) for first in range(0, count, BATCH)]
    threads = [threading.Thread(target=work, args=(batches, totals, lock)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return totals


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--modules", type=arguments.count, default=2000)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--workers", type=arguments.count, default=2)
    parser.add_argument("--no-run", action="store_true", help="check the form only")
    parser.add_argument("--show", type=arguments.whole, default=20, help="messages to list")
    parser.add_argument("--only", type=arguments.whole, metavar="NUMBER", help="print one module and nothing else")
    parser.add_argument("--aim", default="", metavar="NAME,NAME", help="operators to aim at, as of ir_modules")
    parser.add_argument("--demand", default="", metavar="FEATURE,FEATURE", help="features that every module must have")
    parser.add_argument("--max-bindings", type=arguments.count, default=12, metavar="N", help="as of ir_modules")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    aim, demand = (tuple(name for name in given.split(",") if name) for given in (options.aim, options.demand))
    kind = Kind(aim, demand, options.max_bindings)
    try:
        modules_of(kind)
    except ValueError as error:
        parser.error(str(error))
    if options.only is not None:
        drawn = described(options.seed, options.only, kind)
        print("discarded" if drawn is None else drawn.module.script(show_meta=True))
        return
    totals = measure(options.modules, options.seed, options.workers, not options.no_run, kind)
    if not totals.checked:
        raise SystemExit("all modules were discarded")
    result = {
        "modules": totals.checked,
        "discarded_share": totals.discarded / max(1, totals.checked + totals.discarded),
        "well_formed_share": 1 - totals.failed["TVM's checker"] / totals.checked,
        "accepted_by_ours_share": 1 - totals.failed["our checker"] / totals.checked,
        "meant_to_execute": totals.meant,
        "executed_share": None if options.no_run else 1 - totals.failed["execution"] / max(1, totals.meant),
    }
    rows = [
        (kind, message, count, totals.first[kind, message]) for (kind, message), count in totals.messages.most_common()
    ]
    if options.json:
        print(json.dumps({**result, "problems": rows}))
        return
    print(tabulate(list(result.items()), floatfmt=".4f"))
    if rows:
        print(
            tabulate(rows[: options.show], headers=("kind", "message", "modules", "first"), maxcolwidths=[14, 90, 8, 8])
        )


if __name__ == "__main__":
    main()
