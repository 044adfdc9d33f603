"""Shards: the unit of work, a pure function of campaign seed, shard number and configuration.

Runs inside an isolated worker.  A shard that was cut short by a death goes on behind the case that died, in a fresh
process, because the same cases are drawn again there.
"""

from __future__ import annotations

import sys
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fuzzer.cases import Case
from fuzzer.config import Config
from fuzzer.coverage import UNREADABLE, rewrite
from fuzzer.drawing import (
    SHARD_EXAMPLES,
    Candidate,
    Subjects,
    draw_subjects,
    fingerprint,
    randomness,
    subjects_per_module,
)
from fuzzer.isolation import begin_case, breadcrumb, die_if_out_of_memory
from fuzzer.pool import Origin, Pool
from fuzzer.signatures import signature
from fuzzer.stopwatch import DRAW, Stopwatch
from oracles.passref import PassRef
from oracles.plugins import require
from oracles.verdict import OracleName, Outcome, Verdict

if TYPE_CHECKING:
    from oracles.subject import Subject
    from strategies.profile import Operand, Pair

GENERATOR = "the generator"
"""Culprit of verdicts on examples that could not be drawn."""


@dataclass(frozen=True, slots=True)
class ShardTask:
    """A shard, or the rest of one.

    Attributes:
        config: The campaign's configuration.
        number: Number of the shard.
        first: Number of the first example to judge; earlier ones are done.
        limit: Examples in the shard.
        pool: What guides its draws; ``None``: nothing does, and nothing is reported for guidance.
        known: Ids of known findings: an example that shows one is judged no further.
        shares: Weights of passes by what they yield (``fuzzer.budget``); empty: even ones.
    """

    config: Config
    number: int
    first: int = 0
    limit: int = SHARD_EXAMPLES
    pool: Pool | None = None
    known: frozenset[str] = frozenset()
    shares: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModuleDrawn:
    """A module was drawn.

    Attributes:
        number: Its number in the shard.
        discarded: Draws before it that gave no module.
        repeated: Neighbours before it that were equal to their parent.
        outdone: Modules drawn with it that promised less.
        bindings: Its bindings.
        features, idioms, operators, operands, pairs: What is in it.
        origin: What guidance needs to know of it.
    """

    number: int
    discarded: int
    repeated: int
    outdone: int
    bindings: int
    features: tuple[str, ...]
    idioms: tuple[str, ...]
    operators: tuple[str, ...]
    operands: tuple[Operand, ...]
    pairs: tuple[Pair, ...]
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing verdict; with its case at the first sighting of the signature in the shard."""

    verdict: Verdict
    signature_id: str
    case: Case | None


@dataclass(frozen=True, slots=True)
class ExampleDone:
    """One example was judged.

    Attributes:
        index: Its number in the shard.
        said: Oracle, culprit, outcome and reason of each verdict.
        failures: The verdicts that failed.
        judged: The pass, or ``pipeline``; empty when there was nothing to judge.
        rewrite: What it did to the module (``fuzzer.coverage.rewrite``); empty when it changed nothing.
        spent: Seconds by step, drawing its module included; no part of what makes two results equal.
        taken: Seconds from its beginning to its end; as ``spent``.
    """

    index: int
    said: tuple[tuple[str, str, str, str], ...]
    failures: tuple[Failure, ...]
    judged: str = ""
    rewrite: str = ""
    spent: tuple[tuple[str, float], ...] = field(default=(), compare=False)
    taken: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class ExampleBegun:
    """One example is about to be judged; should the process die, this is the one.

    Attributes:
        index: Its number in the shard.
        name: Its passes.
        judged: As of ``ExampleDone``.
        at: When that was, by the system's monotonic clock.
    """

    index: int
    name: str
    judged: str
    at: float = field(default_factory=time.monotonic, compare=False)


def run_shard(task: ShardTask) -> Iterator[ModuleDrawn | ExampleBegun | ExampleDone]:
    """Judge the examples of a shard, from ``task.first`` on."""
    from oracles.facts import ModuleFacts
    from oracles.subject import PIPELINE

    if task.config.plugins:
        require(task.config.plugins)  # a process on another machine has not inherited them
    per_module = subjects_per_module(task.config)
    seen: set[str] = set()
    watch = Stopwatch(breadcrumb)
    for begin in range(0, task.limit, per_module):
        numbers = range(begin, min(begin + per_module, task.limit))
        if numbers.stop <= task.first:
            continue
        begin_case()
        watch.begin(f"{DRAW}: the generator")
        try:
            drawn = draw_subjects(task.config, task.number, begin // per_module, task.pool, task.shares)
        except Exception as error:
            traceback.print_exc()  # into the workers' log
            for index in range(max(begin, task.first), numbers.stop):
                yield generator_fault(index, f"the generator raised {type(error).__name__}")
            continue
        if drawn is None:
            for index in range(max(begin, task.first), numbers.stop):
                yield generator_fault(index, "the generator discarded every draw")
            continue
        if task.first <= begin:
            yield _described(drawn, begin // per_module, task.pool is not None)
        facts = ModuleFacts(drawn.module)
        for index in numbers:
            if index < task.first:
                continue
            passes = drawn.pipelines[index - begin]
            judged = PIPELINE if len(passes) > 1 else passes[0].name
            begun = ExampleBegun(index, " > ".join(ref.name for ref in passes), judged)
            yield begun
            begin_case()
            done = _judged(task, index, facts, passes, seen, drawn.candidate, watch)
            yield replace(done, taken=time.monotonic() - begun.at)


def _described(drawn: Subjects, number: int, guided: bool) -> ModuleDrawn:
    candidate, profile = drawn.candidate, drawn.candidate.profile
    origin = None
    if guided:
        parent = None if candidate.parent is None else candidate.parent.place
        origin = Origin(candidate.data, fingerprint(candidate.module), candidate.behaviours, parent)
    return ModuleDrawn(
        number, drawn.discarded, drawn.repeated, drawn.outdone, profile.bindings, candidate.features, candidate.idioms,
        tuple(sorted(profile.operators)), tuple(sorted(profile.operands)), tuple(sorted(profile.pairs)), origin,
    )  # fmt: skip


def generator_fault(index: int, reason: str) -> ExampleDone:
    """An example that could not be judged because our own generator failed: counted, never a finding."""
    said = (OracleName.CRASH.value, GENERATOR, Outcome.INVALID.value, reason)
    return ExampleDone(index, (said,), ())


def example_case(task: ShardTask, index: int) -> Case | None:
    """The case of one example, drawn again without judging anything."""
    import tvm

    per_module = subjects_per_module(task.config)
    drawn = draw_subjects(task.config, task.number, index // per_module, task.pool, task.shares)
    if drawn is None:
        return None
    text = str(tvm.ir.save_json(drawn.module))
    return Case(text, drawn.pipelines[index % per_module], input_seed(task, index))


def input_seed(task: ShardTask, index: int) -> int:
    """Seed of the inputs of one example: the same for all on one module, so that the original is run once for them."""
    number = index // subjects_per_module(task.config)
    return randomness(task.config.seed, task.number, number, "inputs").getrandbits(31)


def _judged(
    task: ShardTask,
    index: int,
    facts: Any,
    passes: tuple[PassRef, ...],
    seen: set[str],
    candidate: Candidate,
    watch: Stopwatch,
) -> ExampleDone:
    from oracles.judge import judge
    from oracles.subject import Subject

    seed = input_seed(task, index)
    subject = Subject(
        facts.module,
        passes,
        input_seed=seed,
        stage=watch.begin,
        facts=facts,
        sampled=True,
        defined=candidate.executable,
    )
    oracles = task.config.oracles
    verdicts = judge(
        subject,
        [name for name in oracles if name is not OracleName.NUMERIC or not candidate.structural],
        lambda verdict: signature(verdict).id in task.known,
    )
    die_if_out_of_memory(verdicts)
    said, failures = [], []
    if candidate.structural and OracleName.NUMERIC in oracles:
        reason = f"structure alone: {candidate.structural}"
        said.append((OracleName.NUMERIC.value, subject.judged, Outcome.SKIP.value, reason))
    for verdict in verdicts:
        said.append((verdict.oracle.value, verdict.culprit, verdict.outcome.value, verdict.reason))
        if verdict.outcome is Outcome.INVALID:
            _log(verdict, task, index, passes)
        if verdict.outcome is not Outcome.FAIL:
            continue
        identity = signature(verdict).id
        case = None if identity in seen else Case(facts.snapshot, passes, seed)
        seen.add(identity)
        failures.append(Failure(verdict, identity, case))
    what = _rewrite(subject, candidate)
    return ExampleDone(index, tuple(said), tuple(failures), subject.judged, what, watch.take())


def _log(verdict: Verdict, task: ShardTask, index: int, passes: tuple[PassRef, ...]) -> None:
    """Write what the harness did wrong into the workers' log: the tally alone would not say where to look."""
    where = f"seed {task.config.seed}, shard {task.number}, example {index}"
    error = "" if verdict.evidence is None else verdict.evidence.observed or verdict.evidence.message
    chain = " > ".join(ref.expression for ref in passes)
    print(
        f"invalid: {verdict.oracle.value} on {chain}, {where}: {verdict.reason}\n{error}", file=sys.stderr, flush=True
    )


_PREPARED: weakref.WeakKeyDictionary[Any, Counter[str]] = weakref.WeakKeyDictionary()
"""Operators and parts of prepared modules, by their facts: several passes are tried on each."""


def _rewrite(subject: Subject, candidate: Candidate) -> str:
    """What the passes of a judged subject did to its module; empty when they changed nothing or never ran."""
    from strategies.profile import profile_of

    if not subject.ran or not subject.changed:
        return ""
    facts = subject.facts
    try:
        if not subject.plan.prepare:
            before = candidate.profile.counts
        elif facts not in _PREPARED:
            before = _PREPARED[facts] = profile_of(subject.module, operands=False).counts
        else:
            before = _PREPARED[facts]
        return rewrite(before, profile_of(subject.output_module, operands=False).counts)
    except Exception:  # a pass may give anything; what is wrong with it is for the oracles to say
        return UNREADABLE
