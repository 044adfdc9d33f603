"""Shards: the unit of work, a pure function of campaign seed, shard number and configuration.

Runs inside an isolated worker.  A shard that was cut short by a death goes on behind the case that died, in a fresh
process, because the same cases are drawn again there.
"""

from __future__ import annotations

import functools
import sys
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.core.coverage import UNREADABLE, Coverage, rewrite
from fuzzer.findings.signature import signature
from fuzzer.shard.draw import SHARD_EXAMPLES, DrawnModule, Subjects, randomness, subjects_per_module
from fuzzer.shard.guidance import BLINDLY, Guidance, draw_guided
from fuzzer.shard.reached import first_run, new_blocks, new_functions, watch_blocks
from fuzzer.worker.child import begin_case, breadcrumb, die_if_out_of_memory, end_case
from oracles.core.verdict import NOT_ASKED, NOTE, Outcome, Verdict, reason_of
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plugins import require

if TYPE_CHECKING:
    from fuzzer.shard.own_lines import OwnLines
    from oracles.core.subject import Subject


# Where a worker's time goes: wall time by step, of which the breadcrumbs tell when each begins.

DRAW, PREPARE, TRIAGE, OTHER = "draw", "prepare", "triage", "other"
"""Steps beside the oracles: drawing modules, passes that must run before the one under test, looking into findings,
and what is left (deaths and fresh processes, hangs until they are ended, transfer of results)."""

_STEPS = frozenset({str(name) for name in OracleName} | {DRAW, PREPARE})


class Stopwatch:
    """Takes the time from one step to the next.

    Args:
        tell: Is told of each step as well, for instance ``fuzzer.worker.child.breadcrumb``.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        self._tell = tell
        self._seconds: dict[str, float] = {}
        self._step = ""
        self._since = 0.0

    def begin(self, stage: str) -> None:
        """The step that ``stage`` names begins, as ``oracle: pass``; the one before ends."""
        self._lap(step_of(stage))
        self._tell(stage)

    def take(self) -> tuple[tuple[str, float], ...]:
        """Seconds by step since the last call; the step at hand ends."""
        self._lap("")
        taken = tuple(sorted(self._seconds.items()))
        self._seconds.clear()
        return taken

    def _lap(self, step: str) -> None:
        now = time.monotonic()
        if self._step:
            self._seconds[self._step] = self._seconds.get(self._step, 0.0) + now - self._since
        self._step, self._since = step, now


def step_of(stage: str) -> str:
    """The step of a stage's text.

    What is done to the original module (``run original``, ``interpret``) is done for the numeric oracle.
    """
    word = stage.partition(":")[0].partition(" ")[0]
    return word if word in _STEPS else OracleName.NUMERIC.value


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
        known: Ids of known findings: an example that shows one is judged no further.
        guidance: What earlier shards have told.
    """

    config: Config
    number: int
    first: int = 0
    limit: int = SHARD_EXAMPLES
    known: frozenset[str] = frozenset()
    guidance: Guidance = BLINDLY


@dataclass(frozen=True, slots=True)
class ModuleDrawn:
    """A module was drawn.

    Attributes:
        number: Its number in the shard.
        discarded: Draws before it that gave no module.
        coverage: Counts of what is in it.
    """

    number: int
    discarded: int
    coverage: Coverage


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
        tallies: Oracle, culprit, outcome and reason of each verdict.
        failures: The verdicts that failed.
        judged: The pass, or ``pipeline``; empty when there was nothing to judge.
        rewrite: What it did to the module (``fuzzer.core.coverage.rewrite``); empty when it changed nothing.
        spent: Seconds by step, drawing its module included; no part of what makes two results equal.
        taken: Seconds from its beginning to its end; as ``spent``.
        reached: Addresses, of four bytes each, of blocks that its process had not reached before; as ``spent``.
        entered: Addresses of functions that guide later shards (``fuzzer.shard.guidance``), which none of the shard's
            examples had entered before in its process; as ``spent``.
        lines: Place and line of statements of the user's passes, and whether they ran, which its process had not told
            before (``fuzzer.shard.own_lines``); as ``spent``.
    """

    index: int
    tallies: tuple[tuple[str, str, str, str], ...]
    failures: tuple[Failure, ...]
    judged: str = ""
    rewrite: str = ""
    spent: tuple[tuple[str, float], ...] = field(default=(), compare=False)
    taken: float = field(default=0.0, compare=False)
    reached: bytes = field(default=b"", compare=False)
    entered: bytes = field(default=b"", compare=False)
    lines: frozenset[tuple[str, int, bool]] = field(default=frozenset(), compare=False)


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
    from oracles.core.module_facts import ModuleFacts
    from oracles.core.subject import PIPELINE

    if task.config.plugins:
        require(task.config.plugins)  # a process on another machine has not inherited them
    if task.config.coverage:
        end_case()  # a cache that was swept meanwhile is filled again, which takes longer than a case may
        watch_blocks(task.config.coverage, task.number, functions=task.config.guide)
    own = _own_lines(task.config.user_passes) if task.config.user_passes else None
    per_module = subjects_per_module(task.config)
    seen: set[str] = set()
    watch = Stopwatch(_begin_step)
    for begin in range(0, task.limit, per_module):
        numbers = range(begin, min(begin + per_module, task.limit))
        if numbers.stop <= task.first:
            continue
        begin_case()
        watch.begin(f"{DRAW}: the generator")
        try:
            drawn = draw_guided(task.config, task.number, begin // per_module, task.guidance)
            fault = "" if drawn is not None else "the generator discarded every draw"
        except Exception as error:
            traceback.print_exc()  # into the workers' log
            drawn, fault = None, reason_of(f"the generator raised {type(error).__name__}: {error}")
        if drawn is None:
            yield from (generator_fault(index, fault) for index in numbers if index >= task.first)
            continue
        if task.first <= begin:
            yield _module_drawn(drawn, begin // per_module)
        facts = ModuleFacts(drawn.module)
        for index in numbers:
            if index < task.first:
                continue
            passes = drawn.pipelines[index - begin]
            judged = PIPELINE if len(passes) > 1 else passes[0].name
            begun = ExampleBegun(index, " > ".join(ref.name for ref in passes), judged)
            yield begun
            begin_case(counts=True)
            done = _judged(task, index, facts, passes, seen, drawn.drawn, watch)
            taken = time.monotonic() - begun.at
            done = replace(done, taken=taken, entered=new_functions(), reached=new_blocks())
            yield done if own is None else replace(done, lines=own.new())


def _begin_step(stage: str) -> None:
    breadcrumb(stage)
    first_run(step_of(stage) == OracleName.CRASH)


@functools.cache
def _own_lines(refs: tuple[PassRef, ...]) -> OwnLines:
    """Watch the user's passes from now on, once in a process."""
    from fuzzer.shard.own_lines import OwnLines

    return OwnLines(refs)


def _module_drawn(subjects: Subjects, number: int) -> ModuleDrawn:
    drawn, profile = subjects.drawn, subjects.drawn.profile
    coverage = Coverage(
        profile.bindings, Counter(drawn.features), Counter(drawn.idioms), Counter(sorted(profile.operators)),
        Counter(sorted(profile.operands)), Counter(sorted(profile.pairs)),
    )  # fmt: skip
    return ModuleDrawn(number, subjects.discarded, coverage)


def generator_fault(index: int, reason: str) -> ExampleDone:
    """An example that could not be judged because our own generator failed: counted, never a finding."""
    return ExampleDone(index, ((OracleName.CRASH.value, GENERATOR, Outcome.INVALID.value, reason),), ())


def example_case(task: ShardTask, index: int) -> Case | None:
    """The case of one example, drawn again without judging anything."""
    import tvm

    per_module = subjects_per_module(task.config)
    drawn = draw_guided(task.config, task.number, index // per_module, task.guidance)
    if drawn is None:
        return None
    return Case(str(tvm.ir.save_json(drawn.module)), drawn.pipelines[index % per_module], input_seed(task, index))


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
    drawn: DrawnModule,
    watch: Stopwatch,
) -> ExampleDone:
    from fuzzer.shard.shares import not_asked
    from oracles.core.subject import Subject
    from oracles.judge import judge

    seed = input_seed(task, index)
    subject = Subject(
        facts.module, passes, input_seed=seed, stage=watch.begin, facts=facts, sampled=True, defined=drawn.executable
    )
    oracles, left = task.config.oracles, dict[OracleName, str]()
    if task.config.shares:
        left = dict.fromkeys(not_asked((task.config.seed, task.number, index), passes, seed, oracles), NOT_ASKED)
    if drawn.structural and OracleName.NUMERIC in oracles:
        left[OracleName.NUMERIC] = f"structure alone: {drawn.structural}"
    verdicts = judge(
        subject,
        [name for name in oracles if name not in left],
        lambda verdict: not task.known.isdisjoint(signature(verdict).ids),
    )
    die_if_out_of_memory(verdicts)
    tallies = [(name.value, subject.judged, Outcome.SKIP.value, left[name]) for name in oracles if name in left]
    failures = []
    for verdict in verdicts:
        said = f"{NOTE}{verdict.note}" if verdict.note else verdict.reason
        tallies.append((verdict.oracle.value, verdict.culprit, verdict.outcome.value, said))
        if verdict.outcome is Outcome.INVALID:
            _log(verdict, task, index, passes)
        if verdict.outcome is not Outcome.FAIL:
            continue
        identity = signature(verdict).id
        case = None if identity in seen else Case(facts.snapshot, passes, seed)
        seen.add(identity)
        failures.append(Failure(verdict, identity, case))
    return ExampleDone(index, tuple(tallies), tuple(failures), subject.judged, _rewrite(subject, drawn), watch.take())


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


def _rewrite(subject: Subject, drawn: DrawnModule) -> str:
    """Describe what the passes of a judged subject did to its module; empty when they changed nothing or never ran."""
    from oracles.users_pass import rewritten
    from strategies.detect.profile import profile_of

    if not rewritten(subject):
        return ""
    facts = subject.facts
    try:
        if not subject.plan.prepare:
            before = drawn.profile.counts
        elif facts not in _PREPARED:
            before = _PREPARED[facts] = profile_of(subject.module, operands=False).counts
        else:
            before = _PREPARED[facts]
        return rewrite(before, profile_of(subject.output_module, operands=False).counts)
    except Exception:  # a pass may give anything; what is wrong with it is for the oracles to say
        return UNREADABLE
