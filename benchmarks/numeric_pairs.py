"""What ``benchmarks/numeric.py`` measures, in the child process that it measures in.

Everything is drawn anew from the seed of a chunk, so that nothing but numbers goes through the pipe.  Before each step
a breadcrumb names the module, the pass and the step; whatever the child died of is left out when it is asked again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tvm
from shared.drawn_examples import examples_of

from fuzzer.worker.child import breadcrumb
from oracles.core.module_facts import ModuleFacts
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from oracles.measure.comparison import compare
from oracles.measure.inputs import materialize
from relaxkit.interpreter import Interpreter
from relaxkit.interpreter.registry import Raised, Undefined, Unsupported
from relaxkit.ir.functions import public_functions
from relaxkit.passes.contract import NumericPromise, OracleName
from relaxkit.runtime import DiskCache, ExecMode, Program, Session, cxx_available, plain_build, private_constants
from relaxkit.runtime.compile.fast_lowering import lower_quickly
from relaxkit.runtime.compile.kernels import KernelCache
from relaxkit.runtime.compile.linking import link_program
from relaxkit.runtime.compile.lowering import target
from strategies import ir_modules, module_and_passes

Build = Callable[[Any], Program]
OPTIMISED = ", by LLVM's optimisations alone"
REGISTERS = "with_codegen"
"""Passes that register functions of the process, which the next such pass overwrites: not to be kept for later."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a child is asked for; picklable.

    Attributes:
        seed: Seed of its modules.
        count: How many comparisons, or modules.
        directory: The cache on disk.
        left_out: What an earlier child died of, by the breadcrumb without its step.
    """

    seed: int
    count: int
    directory: str
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Measured:
    """What a chunk gave; picklable, and plain enough for JSON.

    Attributes:
        count: Comparisons, or modules.
        seconds: Of the processor, by what they were spent on.
        stages: The same, of the steps of building and running, by ``cold lower`` and the like.
        differ: Comparisons of which some result had other bits than that of plain ``relax.build``.
        skipped: Modules and passes that gave no comparison, by reason.
        counts: Other numbers.
    """

    count: int
    seconds: dict[str, float] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    differ: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pair:
    """A module, and what a pass makes of it that is called the same way.

    Attributes:
        original: The module.
        transformed: After the pass.
        number: Seed of the inputs.
        title: The breadcrumb without its step.
    """

    original: Any
    transformed: Any
    number: int
    title: str


def title_of(chunk: Chunk, number: int, pass_name: str) -> str:
    """Names a module of a chunk, and a pass."""
    return f"seed {chunk.seed} module {number} {pass_name}"


def step(title: str, name: str) -> None:
    """Leave word of what is done next."""
    breadcrumb(f"{title}: {name}")


def seconds() -> float:
    """Processor time of this process and of the linkers that it has started."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system  # its own by the finer clock


class Stages:
    """Where the time of a session goes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.spent: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Within it, time goes to a stage."""
        started = time.process_time()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - started

    def build(self, module: Any) -> Program:
        """What the session builds, stage by stage."""
        with self.stage("own constants"):
            module = private_constants(module)
        with self.stage("lower"):
            lowered = lower_quickly(module, self.session.legalizer)
        with self.stage("kernels, bytecode, link"):
            return Program(link_program(lowered, ExecMode.BYTECODE, self.session.kernels))


def outputs(pair: Pair, build: Build, name: str, stages: Stages | None = None) -> tuple[Any, Any]:
    """What every public function of both modules returns."""
    stage = stages.stage if stages is not None else lambda _name: contextlib.nullcontext()
    step(pair.title, name)
    original, transformed = build(pair.original), build(pair.transformed)
    results: tuple[list[Any], list[Any]] = ([], [])
    for function in sorted(public_functions(pair.original)):
        with stage("inputs"):
            arguments = materialize(pair.original, function, pair.number)
        with stage("run"):
            results[0].append(original.call(function, arguments))
            results[1].append(transformed.call(function, arguments))
    with stage("compare"):
        compare(tuple(results[0]), tuple(results[1]))
    return tuple(results[0]), tuple(results[1])


def compared(pairs: list[Pair], build: Build, name: str, stages: Stages | None = None) -> tuple[float, list[Any]]:
    """Seconds for all comparisons, and the results."""
    started = seconds()
    found = [outputs(pair, build, name, stages) for pair in pairs]
    return seconds() - started, found


def compared_by_module(groups: list[list[Pair]], build: Build) -> tuple[float, list[Any]]:
    """As :func:`compared`, of pairs that share their original, which is built and run once."""
    started = seconds()
    found: list[Any] = []
    for pairs in groups:
        first = pairs[0]
        step(first.title, "shared")
        names = sorted(public_functions(first.original))
        arguments = {name: materialize(first.original, name, first.number) for name in names}
        original = build(first.original)
        expected = tuple([original.call(name, arguments[name]) for name in names])
        for pair in pairs:
            step(pair.title, "shared")
            transformed = build(pair.transformed)
            observed = tuple([transformed.call(name, arguments[name]) for name in names])
            compare(expected, observed)
            found.append((expected, observed))
    return seconds() - started, found


def measure_pairs(chunk: Chunk) -> Measured:
    """Comparisons, each of a module of its own, by all means in turn."""
    skipped: Counter[str] = Counter()
    pairs: list[Pair] = []
    screen = Session()
    for number, (module, passes) in enumerate(examples_of(module_and_passes(), chunk.count, chunk.seed)):
        made = (_pair(chunk, module, drawn, number, screen, skipped) for drawn in passes)
        pair = next(filter(None, made), None)
        if pair is not None:
            pairs.append(pair)
    disk = DiskCache(Path(chunk.directory))
    fresh, steady = Stages(Session(disk)), Stages(Session(disk))
    spent: dict[str, float] = {}
    everything: dict[str, list[Any]] = {}
    spent["cold"], everything["cold"] = compared(pairs, fresh.build, "cold", fresh)
    spent["disk"], everything["disk"] = compared(pairs, steady.build, "disk")
    steady.spent.clear()
    spent["warm"], everything["warm"] = compared(pairs, steady.build, "warm", steady)
    compared(pairs, lambda module: steady.session.build(module, ExecMode.COMPILED), "compiled")
    spent["compiled"], everything["compiled"] = compared(
        pairs, lambda module: steady.session.build(module, ExecMode.COMPILED), "compiled"
    )
    if cxx_available():
        spent["plain"], everything["plain"] = compared(pairs, plain_build, "plain")
    reference = everything.get("plain", everything["cold"])
    differ: list[str] = []
    for number, (pair, expected) in enumerate(zip(pairs, reference, strict=True)):
        means = [name for name, results in everything.items() if compare(expected, results[number]) is not None]
        if means:
            differ.append(f"{pair.title}: {', '.join(means)}{_because(pair, expected)}")
    stages = {f"{means} {name}": value for means, each in (("cold", fresh), ("warm", steady))
              for name, value in each.spent.items()}  # fmt: skip
    counts = {"kernels": fresh.session.kernels.loaded, "kernels_compiled": fresh.session.kernels.compiled}
    return Measured(len(pairs), spent, stages, differ, dict(skipped), counts)


def _because(pair: Pair, expected: Any) -> str:
    """Whether results differ from those of plain ``relax.build`` by LLVM's optimisations alone.

    They do where everything else is done as here, and kernels are optimised as there.
    """
    optimised = Session()
    optimised.kernels = KernelCache(None, target=target())
    return OPTIMISED if compare(expected, outputs(pair, optimised.build, "optimised")) is None else ""


def measure_shared(chunk: Chunk) -> Measured:
    """As campaigns make them: passes of a module that want it prepared alike share the original."""
    skipped: Counter[str] = Counter()
    groups: list[list[Pair]] = []
    screen = Session()
    for number, (module, passes) in enumerate(examples_of(module_and_passes(), max(1, chunk.count // 3), chunk.seed)):
        facts = ModuleFacts(module)
        made = [_pair(chunk, module, drawn, number, screen, skipped, facts) for drawn in passes]
        if facts.modified():  # by the last pass, perhaps, and the outputs of those before share parts of it
            skipped["a pass writes into its input"] += 1
            continue
        alike: dict[int, list[Pair]] = {}
        for pair in filter(None, made):
            alike.setdefault(id(pair.original), []).append(pair)
        groups += alike.values()
    alone = [pair for pairs in groups for pair in pairs]
    session = Session(DiskCache(Path(chunk.directory)))
    compared_by_module(groups, session.build)
    spent: dict[str, float] = {}
    spent["shared"], results = compared_by_module(groups, session.build)
    differ: list[str] = []
    if cxx_available():
        spent["shared plain"], reference = compared(alone, plain_build, "shared plain")
        differ = [
            f"{pair.title}: shared{_because(pair, expected)}"
            for pair, expected, result in zip(alone, reference, results, strict=True)
            if compare(expected, result) is not None
        ]
    return Measured(len(alone), spent, {}, differ, dict(skipped), {"groups": len(groups)})


def measure_interpreter(chunk: Chunk) -> Measured:
    """Modules of about ten bindings, interpreted."""
    modules = examples_of(ir_modules(executable=True, max_bindings=4, max_functions=1), chunk.count, chunk.seed)
    calls = []
    for number, module in enumerate(modules):
        title = title_of(chunk, number, "interpreter")
        if title not in chunk.left_out:
            names = {str(function.attrs["global_symbol"]): gv.name_hint for gv, function in _public(module)}
            calls.append((title, module, [(name, materialize(module, name, number)) for name in names.values()]))
    _interpret_all(calls)  # kernels that a module brings are compiled when they are met first
    done, spent = _interpret_all(calls)
    return Measured(len(calls), {"interpreter": spent}, counts={"interpreted": done})


def _interpret_all(calls: list[tuple[str, Any, list[tuple[str, Any]]]]) -> tuple[int, float]:
    done, spent = 0, 0.0
    for title, module, each in calls:
        step(title, "interpret")
        started = time.process_time()
        try:
            interpreter = Interpreter(module)
            for name, arguments in each:
                interpreter.call(name, arguments)
        except (Raised, Undefined, Unsupported):
            continue
        done += 1
        spent += time.process_time() - started
    return done, spent


def _public(module: Any) -> list[tuple[Any, Any]]:
    functions = [(gv, f) for gv, f in module.functions_items() if isinstance(f, tvm.relax.Function)]
    return [(gv, f) for gv, f in functions if f.attrs is not None and "global_symbol" in f.attrs]


def measure_judged(chunk: Chunk) -> Measured:
    """Whole judgements by the numeric oracle, generation included; once before, for the caches of the process."""
    _judge_all(chunk)
    started = time.process_time()
    decided, subjects = _judge_all(chunk)
    return Measured(subjects, {"judged": time.process_time() - started}, counts={"decided": decided})


def _judge_all(chunk: Chunk) -> tuple[int, int]:
    decided, subjects = 0, 0
    for number, (module, passes) in enumerate(examples_of(module_and_passes(), chunk.count, chunk.seed)):
        facts = ModuleFacts(module)
        for drawn in passes:
            title = title_of(chunk, number, drawn.name)
            if title in chunk.left_out:
                continue
            step(title, "judge")
            subject = Subject(module, [drawn], input_seed=number, facts=facts)
            (verdict,) = judge(subject, [OracleName.NUMERIC])
            decided += verdict.outcome in (Outcome.PASS, Outcome.FAIL)
            subjects += 1
    return decided, subjects


def _pair(
    chunk: Chunk,
    module: Any,
    drawn: Any,
    number: int,
    session: Session,
    skipped: Counter[str],
    facts: ModuleFacts | None = None,
) -> Pair | None:
    """The comparison of a module and what a pass makes of it; ``None``, counted, when they cannot be compared."""
    title = title_of(chunk, number, drawn.name)
    pair = reason = None
    if title in chunk.left_out:
        return None  # a death, counted as such
    if REGISTERS in drawn.expression:
        reason = "registers functions of the process"
    else:
        step(title, "pass")
        subject = Subject(module, [drawn], input_seed=number, facts=facts)
        try:
            if not subject.changed:
                reason = "changes nothing"
            elif subject.contracts[0].numeric is NumericPromise.NONE:
                reason = "promises no numbers"
            elif subject.output_complaint is not None:
                reason = "output is ill formed"
            elif set(public_functions(subject.module)) != set(public_functions(subject.output_module)):
                reason = "other functions"
            else:
                pair = Pair(subject.module, subject.output_module, number, title)
                outputs(pair, session.build, "screen")
        except Exception:  # weights lifted out, lowered by half, a defect of TVM: not what is measured here
            pair, reason = None, "does not build, or is called otherwise"
    if reason is not None:
        skipped[reason] += 1
    return pair
