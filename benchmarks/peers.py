"""Peers under the same lamp: relaxfuzz, NNSmith and TVM's own tests, at equal processor time.

    python -m venv peers && peers/bin/pip install -e '.[coverage]' tabulate nnsmith onnx torch
    relaxfuzz corpus import TVM_CHECKOUT --out seeds
    peers/bin/python benchmarks/peers.py --seeds seeds --out results [--trials 3] [--seconds 240] [--seed 1]

Each trial is a process of its own, with an empty cache of kernels; what counts is the processor time of it and of all
that it starts.  Basic blocks of TVM's compiler are counted by the same breakpoints for all (docs/coverage.md).

* ``relaxfuzz``: a campaign with one worker and the default options.  Findings are not looked into.
* ``nnsmith``: models through TVM's ONNX importer (``peers_nnsmith.py``).  Reported is what raises, ends the process, or
  gives other numbers than PyTorch.
* ``tests``: modules of TVM's tests in random order, each under every pass that needs no argument, and built without
  and with the default pipeline.  Reported is what raises, ends the process, or gives other numbers by NNSmith's
  tolerance.

A report is not a defect: a pass may refuse what it gets, and a result may be undefined.  So when a trial is over,
relaxfuzz judges up to three cases of each signature that was reported, or up to 100 where numbers differ, in fresh
processes.  A *cause* is a family (``fuzzer.findings.family``) of what fails there, for all three alike.  Reports on the
importer have no Relax module, and are counted apart.  Results of trials are kept in ``--out``, and are not measured
again.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import multiprocessing
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from shared import arguments
from shared.ranks import mann_whitney
from shared.untriaged import Untriaged, processor_seconds
from tabulate import tabulate

from fuzzer.campaign.progress import Progress
from fuzzer.campaign.setup import open_campaign, pass_names, watched_build
from fuzzer.core.case import Case, judge_case, load_module
from fuzzer.core.config import Config
from fuzzer.core.installed import installed
from fuzzer.findings.family import family
from fuzzer.findings.signature import death_verdict, signature
from fuzzer.store.records import FindingState, ShardResult
from fuzzer.worker.child import breadcrumb
from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Breadcrumb, Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime.compile.diskcache import ENVIRONMENT
from relaxkit.text_enum import TextEnum

T = TypeVar("T")
POINTS = 10
BUILD = "build:cpu"
"""The pipeline of ``tvm.compile``."""
_EACH, _NUMBERS = 3, 100
"""So many cases of a signature are judged, and of one of wrong numbers, which says little of their cause."""
_END_TO_END = (OracleName.CRASH, OracleName.NUMERIC)
"""What a fuzzer with naive oracles can see."""


class Fuzzer(TextEnum):
    """Who is measured."""

    RELAXFUZZ = "relaxfuzz"
    NNSMITH = "nnsmith"
    TESTS = "tests"


@dataclass(frozen=True, slots=True)
class Report:
    """A failure as a fuzzer reports it; no case where there is no Relax module."""

    verdict: Verdict
    case: Case | None


@dataclass(slots=True)
class Reports:
    """Reports of one signature: when it was first seen, how often, and the first ones."""

    seconds: float
    count: int = 0
    first: list[Report] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Point:
    """What had been seen after so many seconds."""

    seconds: float
    blocks: int
    cases: int


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause: its family in words, who saw it fail and where, and when it was first reported."""

    family: str
    oracle: str
    culprit: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial.

    Attributes:
        curve: What had been seen, over time.
        blocks: Addresses of the blocks.
        reports: How often each signature was reported.
        causes: What relaxfuzz says of them.
        importer: Families of the reports on the importer.
        excused: The signatures whose cases relaxfuzz does not see fail.
    """

    fuzzer: str
    seed: int
    seconds: float
    curve: list[Point]
    blocks: list[int]
    reports: dict[str, int]
    causes: list[Cause]
    importer: list[str]
    excused: list[str]

    @classmethod
    def read(cls, path: Path) -> Trial:
        """Read what :meth:`write` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        curve, causes = [Point(**each) for each in raw.pop("curve")], [Cause(**each) for each in raw.pop("causes")]
        return cls(**raw, curve=curve, causes=causes)

    def write(self, path: Path) -> None:
        """Write it, at once or not at all."""
        whole = path.with_suffix(".part")
        whole.write_text(json.dumps(asdict(self)), encoding="utf-8")
        whole.rename(path)


class Log:
    """What a trial has seen so far.

    Args:
        until: What is seen after so many seconds does not count.
        clock: Says how many have passed.
    """

    def __init__(self, until: float, clock: Callable[[], float] = processor_seconds) -> None:
        self.until = until
        self.blocks: set[int] = set()
        self.points: list[Point] = []
        self.reports: dict[str, Reports] = {}
        self._clock = clock

    def note(self, blocks: Iterable[int], cases: int, reports: Iterable[tuple[Report, int]]) -> bool:
        """Count new blocks, cases, and reports with how often each was made; say whether there is time left."""
        now = self._clock()
        if now > self.until:
            return False
        self.blocks.update(blocks)
        before = self.points[-1].cases if self.points else 0
        self.points.append(Point(now, len(self.blocks), before + cases))
        for report, count in reports:
            entry = self.reports.setdefault(signature(report.verdict).text, Reports(now))
            entry.count += count
            most = _NUMBERS if report.verdict.oracle is OracleName.NUMERIC else _EACH
            entry.first += [report][: max(0, most - len(entry.first))]
        return True

    def curve(self) -> list[Point]:
        """What had been seen at each of some moments."""
        moments = [self.until * number / POINTS for number in range(1, POINTS + 1)]
        last = [
            max((each for each in self.points if each.seconds <= moment), default=None, key=_time) for moment in moments
        ]
        return [replace(each or Point(0.0, 0, 0), seconds=moment) for each, moment in zip(last, moments, strict=True)]


def _time(point: Point) -> float:
    return point.seconds


# -- the three ---------------------------------------------------------------------------------------------------


class Recorder(Progress):
    """Logs what a campaign sees, and ends it when the time is over."""

    def __init__(self, config: Config, log: Log) -> None:
        super().__init__(config, io.StringIO())
        self.campaign: Untriaged | None = None
        self._log = log

    def shard(self, result: ShardResult, fresh: list[str]) -> None:
        """Count a piece of a shard."""
        hits = [(Report(hit.verdict, hit.case), hit.count) for hit in result.hits.values()]
        if not self._log.note(result.reached, result.examples, hits) and self.campaign is not None:
            self.campaign.stop()

    def triaged(self, finding_id: str, state: FindingState) -> None:
        """Nothing is triaged."""


def relaxfuzz(seed: int, log: Log) -> None:
    """Run a campaign."""
    oracles = tuple(OracleName)
    config = Config(seed, pass_names(), (), oracles, None, 1e6, 1, shares=True, coverage=watched_build())
    with (
        tempfile.TemporaryDirectory(prefix="relaxfuzz-peers-") as folder,
        open_campaign(Path(folder) / "campaign", config, installed()).store as store,
    ):
        recorder = Recorder(config, log)
        recorder.campaign = Untriaged(store, config, recorder)
        recorder.campaign.run()


def naively(
    cases: Iterator[T],
    check: Callable[[T], list[tuple[Verdict, Case | None]]],
    case_of: Callable[[T, Verdict], Case | None],
    log: Log,
) -> None:
    """Check cases in a copy of this process, which may die of them; they share what they have reached."""
    from relaxkit.coverage.breakpoints import prepare, watch_compiler

    watched = watch_compiler(prepare())
    with IsolatedWorker(inherits=True) as worker:
        for case in cases:
            found = worker.call(check, case)
            if isinstance(found, Died):
                verdict = death_verdict(found, "nothing")
                found = [(verdict, case_of(case, verdict))]
            if not log.note(watched.take().tolist(), 1, [(Report(*each), 1) for each in found]):
                return


def nnsmith(seed: int, log: Log, cache: Path) -> None:
    """Check models of NNSmith."""
    import tvm  # noqa: F401 - the breakpoints are set before anything is compiled
    from peers_nnsmith import IMPORTER, Model, case_of, failures_of, models

    def case_again(model: Model, verdict: Verdict) -> Case | None:
        with IsolatedWorker(inherits=True) as worker:
            case = None if verdict.culprit == IMPORTER else worker.call(case_of, model)
        return None if isinstance(case, Died) else case

    naively(models(seed, cache), failures_of, case_again, log)


def tests(seed: int, log: Log, seeds: Path) -> None:
    """Check modules of TVM's tests, again and again."""
    import tvm  # noqa: F401 - as above

    from strategies.seeds.file import read

    def modules() -> Iterator[str]:
        found, source = [each.module_json for each in read(seeds)[0]], random.Random(seed)
        while True:
            source.shuffle(found)
            yield from found

    def case_again(module: str, verdict: Verdict) -> Case | None:
        return Case(module, (plain_passes()[verdict.culprit],), 0)

    naively(modules(), failures_of, case_again, log)


@functools.cache
def plain_passes() -> dict[str, PassRef]:
    """The passes of ``relax.transform`` that need no argument, and the default pipeline, by name."""
    from tvm import relax

    from relaxkit.passes.contracts.pipelines import pipeline

    found = {BUILD: pipeline(BUILD)}
    for name, ref in ((name, PassRef(name, f"relax.transform.{name}()")) for name in pass_names()):
        with contextlib.suppress(Exception):
            if callable(getattr(relax.transform, name, None)) and ref.build() is not None:
                found[name] = ref
    return found


def failures_of(text: str) -> list[tuple[Verdict, Case | None]]:
    """Run every pass on a module, build it without and with the default pipeline, and compare numbers, in a worker."""
    import tvm

    from oracles.core.evidence import evidence_of
    from relaxkit.runtime.compile.lowering import target

    found: list[tuple[Verdict, Case | None]] = []

    def failed(oracle: OracleName, ref: PassRef, evidence: Evidence) -> None:
        found.append((Verdict(oracle, Outcome.FAIL, ref.name, evidence=evidence), Case(text, (ref,), 0)))

    for ref in plain_passes().values():
        breadcrumb(Breadcrumb.of(Details(OracleName.CRASH), ref.name).text)
        try:
            with target():
                ref.build()(tvm.ir.load_json(text))
        except Exception as error:
            failed(OracleName.CRASH, ref, evidence_of(error))
    breadcrumb(Breadcrumb.of(Details(OracleName.NUMERIC), BUILD).text)
    if BUILD not in {verdict.culprit for verdict, _ in found} and (other := _differs(tvm.ir.load_json(text))):
        failed(OracleName.NUMERIC, plain_passes()[BUILD], Evidence("wrong-value", "another result", observed=other))
    return found


def _differs(module: Any) -> str:
    """Say in which function the default pipeline gives other numbers; empty where in none, or where they cannot run."""
    import numpy as np
    import tvm

    from oracles.measure.inputs import materialize
    from relaxkit.ir.functions import name_in, public_functions
    from relaxkit.runtime.compile.linking import machine
    from relaxkit.runtime.run import Program, plain_build

    for symbol, function in public_functions(module).items():
        try:
            inputs = materialize(module, name_in(module, function), 0)
            before = plain_build(module).call(symbol, inputs)
            after = Program(machine(tvm.compile(module, target="llvm").jit())).call(symbol, inputs)
            pairs = list(zip(_arrays(before), _arrays(after), strict=True))
        except Exception:  # of a test that is not meant to run
            continue
        if not all(np.allclose(*pair, rtol=1e-2, atol=1e-3, equal_nan=True) for pair in pairs):
            return str(symbol)
    return ""


def _arrays(value: Any) -> list[Any]:
    """Return the arrays and numbers in a result."""
    if isinstance(value, tuple):
        return [each for part in value for each in _arrays(part)]
    return [value] if hasattr(value, "dtype") or isinstance(value, (int, float)) else []


# -- judging and telling -------------------------------------------------------------------------------------------


def judge_again(case: Case, oracles: tuple[OracleName, ...], guarded: bool) -> list[Verdict]:
    """Judge a case in a worker; numbers only where they are defined, if the module is not ``guarded`` by its maker."""
    from strategies.seeds.bounds import unproven

    if not guarded and unproven(load_module(case)):
        oracles = tuple(each for each in oracles if each is not OracleName.NUMERIC)
    return judge_case(case, oracles, breadcrumb)


def judged(reports: Reports, worker: IsolatedWorker, guarded: bool) -> list[Verdict]:
    """Return the failures that relaxfuzz sees in the first cases of a signature."""
    found: list[Verdict] = []
    for verdict, case in ((each.verdict, each.case) for each in reports.first if each.case is not None):
        asked = _END_TO_END if verdict.oracle in _END_TO_END else (verdict.oracle,)
        worker.fresh()
        answer = worker.call(functools.partial(judge_again, oracles=asked, guarded=guarded), case)
        verdicts = [death_verdict(answer, verdict.culprit)] if isinstance(answer, Died) else answer
        found += [each for each in verdicts if each.outcome is Outcome.FAIL]
    return found


def causes_of(log: Log, guarded: bool) -> tuple[list[Cause], list[str], list[str]]:
    """Return causes, families of reports without a case, and signatures that relaxfuzz does not confirm."""
    causes: dict[str, Cause] = {}
    apart, excused = set(), []
    with IsolatedWorker() as worker:
        for text, reports in sorted(log.reports.items(), key=lambda each: each[1].seconds):
            if all(each.case is None for each in reports.first):
                apart.add(family(reports.first[0].verdict).text)
                continue
            verdicts = judged(reports, worker, guarded)
            for verdict in verdicts:
                name = family(verdict).text
                causes.setdefault(name, Cause(name, verdict.oracle.value, verdict.culprit, reports.seconds))
            if not verdicts:
                excused.append(text)
    return list(causes.values()), sorted(apart), excused


@dataclass(frozen=True, slots=True)
class Plan:
    """A trial to be made."""

    fuzzer: Fuzzer
    seed: int
    seconds: float
    out: Path
    seeds: Path | None

    @property
    def path(self) -> Path:
        """The file of its result."""
        return self.out / f"{self.fuzzer}-{self.seed}-{self.seconds:g}s.json"

    @property
    def possible(self) -> bool:
        """Say whether it can be made here."""
        if self.fuzzer is Fuzzer.NNSMITH:
            return all(importlib.util.find_spec(name) for name in ("nnsmith", "onnx", "torch"))
        return self.fuzzer is Fuzzer.RELAXFUZZ or self.seeds is not None

    def prepare(self) -> None:
        """Make what no trial shall pay for: the table of blocks, and which operators NNSmith can use."""
        watched_build()
        if self.fuzzer is Fuzzer.NNSMITH:
            from peers_nnsmith import operators

            operators(self.out / "nnsmith")

    def run(self) -> None:
        """Make it in this process, which was started for it."""
        log = Log(self.seconds)
        if self.fuzzer is Fuzzer.RELAXFUZZ:
            relaxfuzz(self.seed, log)
        elif self.fuzzer is Fuzzer.NNSMITH:
            nnsmith(self.seed, log, self.out / "nnsmith")
        elif self.seeds is not None:
            tests(self.seed, log, self.seeds)
        counts = {text: reports.count for text, reports in log.reports.items()}
        causes, importer, excused = causes_of(log, self.fuzzer is not Fuzzer.TESTS)
        Trial(
            self.fuzzer, self.seed, self.seconds, log.curve(), sorted(log.blocks), counts, causes, importer, excused
        ).write(self.path)


def made(plan: Plan, prepared: set[Fuzzer]) -> Trial:
    """Make a trial, unless it was made before, in a process of its own with a cache of its own."""
    if not plan.path.exists():
        kept = plan.out / "cache"
        kept.mkdir(mode=0o700, exist_ok=True)
        if plan.fuzzer not in prepared:
            _in_a_process(plan.prepare, kept)
            prepared.add(plan.fuzzer)
        with tempfile.TemporaryDirectory(prefix="relaxfuzz-peers-") as folder:
            shutil.copytree(kept, cache := Path(folder) / "cache")
            _in_a_process(plan.run, cache)
    return Trial.read(plan.path)


def _in_a_process(function: Callable[[], None], cache: Path) -> None:
    os.environ.update({ENVIRONMENT: str(cache), "TVM_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    process = multiprocessing.get_context("spawn").Process(target=function)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"a trial ended with exit code {process.exitcode}")


def _blocks_at(number: int) -> Callable[[Trial], float]:
    return lambda trial: trial.curve[number - 1].blocks


MEASURES: dict[str, Callable[[Trial], float]] = {
    **{f"blocks at {number}/{POINTS}": _blocks_at(number) for number in (2, 5, POINTS)},
    "cases": lambda trial: trial.curve[-1].cases,
    "reports": lambda trial: sum(trial.reports.values()),
    "signatures": lambda trial: len(trial.reports),
    "signatures not confirmed": lambda trial: len(trial.excused),
    "causes": lambda trial: len(trial.causes),
    "causes by crash or numbers": lambda trial: sum(each.oracle in _END_TO_END for each in trial.causes),
    "causes in the importer": lambda trial: len(trial.importer),
}


def rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """A row for each measure: median of each fuzzer, and p of each against the first."""
    names = list(dict.fromkeys(trial.fuzzer for trial in trials))
    found = []
    for measure, of in MEASURES.items():
        samples = {name: [of(trial) for trial in trials if trial.fuzzer == name] for name in names}
        row: dict[str, Any] = {"measure": measure}
        for name in names:
            row[name] = statistics.median(samples[name])
            if name != names[0]:
                row[f"p {name}"] = mann_whitney(samples[names[0]], samples[name])
        found.append(row)
    return found


def unions(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """A row for each fuzzer: what all its trials reached or found together, and what of that no other did."""
    found = [{"all trials": name} for name in dict.fromkeys(trial.fuzzer for trial in trials)]
    for what, of in (("blocks", _blocks), ("causes", _causes)):
        every, alone = _together(trials, of)
        for row in found:
            name = row["all trials"]
            row |= {what: len(every[name]), f"{what} of no other": len(alone[name])}
    return found


def directories(trials: Sequence[Trial], folder_of: Callable[[int], str]) -> list[dict[str, Any]]:
    """A row for each directory of the compiler: the blocks that each fuzzer alone reached there."""
    _, alone = _together(trials, _blocks)
    counts = {name: Counter(map(folder_of, blocks)) for name, blocks in alone.items()}
    folders = sum(counts.values(), Counter())
    return [
        {"blocks of no other": folder} | {name: count[folder] for name, count in counts.items()}
        for folder, _ in folders.most_common()
    ]


def _blocks(trial: Trial) -> Iterable[int]:
    return trial.blocks


def _causes(trial: Trial) -> Iterable[str]:
    return (each.family for each in trial.causes)


def _together(trials: Sequence[Trial], of: Callable[[Trial], Iterable[Any]]) -> tuple[dict[str, set[Any]], ...]:
    """Return what the trials of each fuzzer have together, and what of that those of no other have."""
    every: dict[str, set[Any]] = {}
    for trial in trials:
        every.setdefault(trial.fuzzer, set()).update(of(trial))
    alone = {
        name: found.difference(*(every[other] for other in every if other != name)) for name, found in every.items()
    }
    return every, alone


def _folders() -> Callable[[int], str]:
    """Return what tells the directory of a block of the compiler that is installed."""
    import numpy as np
    import tvm  # noqa: F401 - loads the compiler

    from relaxkit.coverage.breakpoints import loaded, table_of

    table = table_of(loaded()[0])
    owners = table.owners[table.function_of]
    return lambda block: table.files[int(owners[np.searchsorted(table.blocks, block)])].split("/")[2]


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--trials", type=arguments.count, default=3, help="trials of each (default: 3)")
    parser.add_argument("--seconds", type=arguments.positive, default=240.0, help="processor time of a trial (240)")
    parser.add_argument("--seed", type=arguments.whole, default=1, help="seed of the first trial (default: 1)")
    parser.add_argument("--seeds", type=arguments.folder, metavar="DIR", help="what `relaxfuzz corpus import` made")
    parser.add_argument("--out", type=arguments.folder, required=True, metavar="DIR", help="results of trials")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    trials: list[Trial] = []
    prepared: set[Fuzzer] = set()
    for seed in range(options.seed, options.seed + options.trials):
        for fuzzer in Fuzzer:
            plan = Plan(fuzzer, seed, options.seconds, options.out.absolute(), options.seeds)
            if plan.possible:
                trials.append(made(plan, prepared))
                last = trials[-1]
                print(f"{plan.path.name}: {last.curve[-1]}, {len(last.causes)} causes", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps({"rows": rows(trials), "unions": unions(trials)}))
        return
    print(tabulate(rows(trials), headers="keys", floatfmt=".3g"))
    print(tabulate(unions(trials), headers="keys"))
    print(tabulate(directories(trials, _folders()), headers="keys"))


if __name__ == "__main__":
    main()
