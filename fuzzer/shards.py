"""Shards: the unit of work, a pure function of campaign seed, shard number and configuration.

Runs inside an isolated worker.  A shard that was cut short by a death goes on behind the case that died, in a fresh
process, because the same cases are drawn again there.
"""

from __future__ import annotations

import functools
import hashlib
import random
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fuzzer.cases import Case
from fuzzer.config import NUMERIC_SHARE, Config
from fuzzer.isolation import begin_case, breadcrumb, die_if_out_of_memory
from fuzzer.signatures import signature
from oracles.passref import PassRef
from oracles.verdict import OracleName, Outcome, Verdict

SUBJECTS_PER_MODULE = 10
"""A module is drawn once and tried under several passes: drawing costs as much as judging one subject."""
SHARD_EXAMPLES = 64
"""About a second of work: little is lost when a worker dies, and little is spent on handing out shards."""
SELDOM = {"FoldConstant": 8, "build:zero": 4, "build:cpu": 4}
"""Passes that are tried on every so-many-th module only, because they compile each operator that they fold: the first
took more than half of a campaign's time, the other two, which run it, a quarter of what was left."""
GENERATOR = "the generator"
"""Culprit of verdicts on examples that could not be drawn."""
MOST_DRAWS = 20
"""A draw that is discarded is replaced by the next one, so that a shard has as many examples as it should."""
DRAW_BYTES = 16 << 10
"""Bytes that one module is drawn from; Hypothesis itself stops at 8 KiB of choices."""
PIPELINES_PER_MODULE = 1
"""Of a module's subjects, so many are pipelines of several passes."""


@dataclass(frozen=True, slots=True)
class ShardTask:
    """A shard, or the rest of one.

    Attributes:
        config: The campaign's configuration.
        number: Number of the shard.
        first: Number of the first example to judge; earlier ones are done.
        limit: Examples in the shard.
    """

    config: Config
    number: int
    first: int = 0
    limit: int = SHARD_EXAMPLES


@dataclass(frozen=True, slots=True)
class ModuleDrawn:
    """A module was drawn, after so many draws that were discarded."""

    discarded: int
    features: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing verdict; with its case at the first sighting of the signature in the shard."""

    verdict: Verdict
    signature_id: str
    case: Case | None


@dataclass(frozen=True, slots=True)
class ExampleDone:
    """One example was judged."""

    index: int
    said: tuple[tuple[str, str, str, str], ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class ExampleBegun:
    """One example is about to be judged; should the process die, this is the one."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Subjects:
    """A drawn module, what it is tried under, and how many draws were discarded before it."""

    module: Any
    pipelines: tuple[tuple[PassRef, ...], ...]
    discarded: int


def subjects_per_module(config: Config) -> int:
    """How many subjects each module gives: where passes are few, each once and a pipeline of them."""
    singles = len(config.passes) + len(config.user_passes)
    return min(SUBJECTS_PER_MODULE, singles + (PIPELINES_PER_MODULE if _pipeable(config.passes) else 0))


def _pipeable(names: Sequence[str]) -> bool:
    """Whether a pipeline of these says more than each of them alone."""
    return len({name for name in names if not name.startswith("build:")}) > 1


def run_shard(task: ShardTask) -> Iterator[ModuleDrawn | ExampleBegun | ExampleDone]:
    """Judge the examples of a shard, from ``task.first`` on."""
    from oracles.facts import ModuleFacts
    from strategies import features_of, operators_of

    per_module = subjects_per_module(task.config)
    seen: set[str] = set()
    for begin in range(0, task.limit, per_module):
        numbers = range(begin, min(begin + per_module, task.limit))
        if numbers.stop <= task.first:
            continue
        begin_case()
        breadcrumb("draw: the generator")
        try:
            drawn = draw_subjects(task.config, task.number, begin // per_module)
            module = None if drawn is None else drawn.module
            features = () if module is None else tuple(sorted(str(each.value) for each in features_of(module)))
            operators = () if module is None else tuple(sorted(operators_of(module)))
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
            yield ModuleDrawn(drawn.discarded, features, operators)
        facts = ModuleFacts(drawn.module)
        for index in numbers:
            if index < task.first:
                continue
            passes = drawn.pipelines[index - begin]
            yield ExampleBegun(index, " > ".join(ref.name for ref in passes))
            begin_case()
            yield _judged(task, index, facts, passes, seen)


def generator_fault(index: int, reason: str) -> ExampleDone:
    """An example that could not be judged because our own generator failed: counted, never a finding."""
    said = (OracleName.CRASH.value, GENERATOR, Outcome.INVALID.value, reason)
    return ExampleDone(index, (said,), ())


def example_case(task: ShardTask, index: int) -> Case | None:
    """The case of one example, drawn again without judging anything."""
    import tvm

    per_module = subjects_per_module(task.config)
    drawn = draw_subjects(task.config, task.number, index // per_module)
    if drawn is None:
        return None
    text = str(tvm.ir.save_json(drawn.module))
    return Case(text, drawn.pipelines[index % per_module], input_seed(task, index))


def draw_subjects(config: Config, shard: int, number: int) -> Subjects | None:
    """Draw one module of a shard and the passes to try it under; ``None`` when too many draws were discarded."""
    from strategies.drive import draw_from_bytes

    own = _user_passes(config, shard, number)
    names = config.passes
    if len(names) > SUBJECTS_PER_MODULE:
        chance = _random(config.seed, shard, number, "seldom")
        left_out = {name for name, every in SELDOM.items() if chance.randrange(every)}
        names = tuple(name for name in names if name not in left_out)
    singles = _one_stage(names, _random(config.seed, shard, number, "stage"))
    strategy = _strategy(singles, names, subjects_per_module(config) - len(own))
    source = _random(config.seed, shard, number, "module")
    for discarded in range(MOST_DRAWS):
        value = draw_from_bytes(strategy, source.randbytes(DRAW_BYTES))
        if value is not None:
            module, drawn = value
            pipelines = tuple(tuple(PassRef(each.name, each.expression) for each in row) for row in drawn)
            return Subjects(module, tuple((ref,) for ref in own) + pipelines, discarded)
    return None


def _user_passes(config: Config, shard: int, number: int) -> tuple[PassRef, ...]:
    """The user's passes for one module: all, or where they are many, those whose turn it is."""
    own = config.user_passes
    room = subjects_per_module(config) if not config.passes else subjects_per_module(config) // 2
    if len(own) <= room:
        return own
    first = (shard * SHARD_EXAMPLES + number) * room
    return tuple(own[(first + step) % len(own)] for step in range(room))


def _one_stage(names: tuple[str, ...], chance: random.Random) -> tuple[str, ...]:
    """The passes that one module is tried under singly: those on the high-level graph, or those that need it lowered.

    Lowering a module costs more than all structural oracles on a high-level pass together: a module that is lowered
    is lowered for all of its subjects. Over the modules each pass keeps the share that it would have without.
    """
    late = tuple(name for name in names if name in _lowered_passes())
    early = tuple(name for name in names if name not in _lowered_passes())
    if min(len(late), len(early)) < SUBJECTS_PER_MODULE:
        return names
    return late if chance.randrange(len(names)) < len(late) else early


@functools.cache
def _lowered_passes() -> frozenset[str]:
    """Passes whose preparation, or own work, is to legalize the whole module."""
    from oracles.contracts import CONTRACTS

    prepared = {name for name, row in CONTRACTS.items() if "LegalizeOps" in row.prepare}
    return frozenset(prepared | {name for name in CONTRACTS if name.startswith("build:")} | {"LegalizeOps"})


@functools.cache
def _strategy(singles: tuple[str, ...], names: tuple[str, ...], count: int) -> Any:
    """A strategy of a module and ``count`` rows of passes: one of ``singles`` each, and pipelines of ``names``."""
    from hypothesis import strategies as st

    from strategies import ir_modules, module_and_passes, passes_for, pipelines

    if not names:
        return st.tuples(ir_modules(), st.just(()))
    pipeable = _pipeable(names)
    piped = PIPELINES_PER_MODULE if pipeable and count > 1 else 0

    @st.composite
    def subjects(draw: Any) -> Any:
        module, alone = draw(module_and_passes(singles, count - piped))
        rows = [(each,) for each in alone]
        # Not every pass can act on every module: pipelines, or the same passes with other arguments, fill up.
        more = pipelines(names, module=module) if pipeable else st.tuples(passes_for(module, names))
        rows += [draw(more) for _ in range(count - len(rows))]
        return module, tuple(rows)

    return subjects()


def input_seed(task: ShardTask, index: int) -> int:
    """Seed of the inputs of one example."""
    return _random(task.config.seed, task.number, index, "inputs").getrandbits(31)


def oracles_of(task: ShardTask, index: int, passes: tuple[PassRef, ...]) -> tuple[OracleName, ...]:
    """The oracles that judge one example: all that the campaign asks for, the numeric one only on a share."""
    chosen = task.config.oracles
    if OracleName.NUMERIC not in chosen or len(chosen) == 1:
        return chosen
    always = any(ref.is_user or ref.name.startswith("build:") for ref in passes)
    if always or _random(task.config.seed, task.number, index, "numeric").randrange(NUMERIC_SHARE) == 0:
        return chosen
    return tuple(name for name in chosen if name is not OracleName.NUMERIC)


def _judged(task: ShardTask, index: int, facts: Any, passes: tuple[PassRef, ...], seen: set[str]) -> ExampleDone:
    from oracles.judge import judge
    from oracles.subject import Subject

    seed = input_seed(task, index)
    subject = Subject(facts.module, passes, input_seed=seed, stage=breadcrumb, facts=facts)
    verdicts = judge(subject, oracles_of(task, index, passes))
    die_if_out_of_memory(verdicts)
    said, failures = [], []
    for verdict in verdicts:
        said.append((verdict.oracle.value, verdict.culprit, verdict.outcome.value, verdict.reason))
        if verdict.outcome is not Outcome.FAIL:
            continue
        identity = signature(verdict).id
        case = None if identity in seen else Case(facts.snapshot, passes, seed)
        seen.add(identity)
        failures.append(Failure(verdict, identity, case))
    return ExampleDone(index, tuple(said), tuple(failures))


def _random(*parts: object) -> random.Random:
    """A generator that the parts decide, the same in every process and Python release."""
    text = "\0".join(str(part) for part in parts)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))
