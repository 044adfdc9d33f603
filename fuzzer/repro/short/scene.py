"""The scene of a short script: the module, the passes that are applied to it, and how a failure is shown there."""

from __future__ import annotations

import contextlib
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tvm
from tvm_ffi import structural_equal
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.text import first_line, without_headers
from fuzzer.findings.script_parts import Ending
from fuzzer.repro.checks.check import FailingCase, seen_line
from fuzzer.repro.module.format import WIDTH
from fuzzer.repro.short.passes import WrittenPass, edited, plainer, written
from oracles.core.evidence import evidence_of
from oracles.core.module_facts import Result, apply, equal
from relaxkit.ir.functions import relax_functions
from relaxkit.passes.arguments import parts_of
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import CONTRACTS, contract_for
from relaxkit.passes.pass_ref import PassRef, Substitute, load_factory, namespace
from relaxkit.passes.plan import plan_of, preparing
from relaxkit.runtime.all_reduce import CUSTOM_ALL_REDUCE

BEFORE, AFTER = "Before", "After"
ASSERTION = "AssertionError"
_REGISTERED = f"""\
# The pass does nothing where TVM lacks this function, as without CUDA; nothing here calls it.
tvm.register_global_func("{CUSTOM_ALL_REDUCE}", print, override=True)"""
_IN_MODULES = (OracleName.LOCALITY, OracleName.SEQUENTIAL)
"""Oracles that apply passes to modules of other functions, or together."""


@dataclass(frozen=True, slots=True)
class Showing:
    """The part of a short script behind the module.

    Attributes:
        lines: What is done, and last the assertion.
        ending: How the process ends while the defect is there; its line counts from the first of ``lines``.
        definitions: What must be defined first.
        second: What stands behind the module, such as a second one.
        compared: Two modules whose difference is the evidence; those of the last line, or of the passes, when ``None``.
        module: Stands in the place of the scene's module.
        remark: A line for the script's head, on how it ends.
    """

    lines: tuple[str, ...]
    ending: Ending
    definitions: str = ""
    second: str = ""
    compared: tuple[Any, Any] | None = None
    module: Any = None
    remark: str = ""


@dataclass(frozen=True)
class Scene:
    """A failure, and where a script shows it.

    Attributes:
        failure: The failure.
        text: The module as JSON.
        prepare: Passes that bring it to the stage of the judged ones, where what they make is not the module itself.
        judged: The passes that are applied.
        index: Number of the pass at fault among the steps of the case's plan; ``None`` where no step is.
    """

    failure: FailingCase
    text: str
    prepare: tuple[PassRef, ...]
    judged: tuple[PassRef, ...]
    index: int | None = None

    @property
    def kind(self) -> str:
        """The class of the failure."""
        return self.failure.evidence.kind

    @property
    def seen(self) -> str:
        """What was seen."""
        return seen_line(self.failure.evidence)

    @property
    def subject(self) -> str:
        """The name that the module under judgement has in the script."""
        return AFTER if self.judged else BEFORE

    def fresh(self) -> Any:
        """Return the module: a copy that nothing has written into."""
        return from_json_graph_str(self.text)

    def run(self, module: Any = None, targeted: bool = True) -> Result:
        """Apply the passes to a module, by default a fresh one of the scene's."""
        result = Result(self.fresh() if module is None else module)
        for ref in (*self.prepare, *self.judged):
            if result.module is not None:
                result = apply(ref.build(), result.module) if targeted else _bare(ref.build(), result.module)
        return result

    @cached_property
    def after(self) -> Any:
        """What the passes make of the module; raises ``ValueError`` where they raise."""
        result = self.run()
        if result.module is None:
            raise ValueError(f"the passes raise {result.outcome}")
        return result.module

    @cached_property
    def needs_target(self) -> bool:
        """Say whether the passes do something else outside of a target, which nobody can ask of passes that die."""
        if self.failure.died:
            return True
        inside, outside = self.run(), self.run(targeted=False)
        if inside.module is None or outside.module is None:
            return inside.error is None or outside.error is None or inside.error.message != outside.error.message
        return not structural_equal(inside.module, outside.module, map_free_vars=True)  # a pass may leave some

    def compared(self, showing: Showing) -> tuple[Any, ...] | None:
        """Return the two modules that the last line asserts to be equal, as the lines make them; if it does so."""
        found = re.match(r" *tvm\.ir\.assert_structural_equal\((\w+), (\w+)\)", "".join(showing.lines[-1:]))
        if showing.compared is not None or found is None or self.failure.verdict.oracle is OracleName.POSTCONDITION:
            return showing.compared
        known = {**namespace(), BEFORE: self.fresh() if showing.module is None else showing.module}
        known |= {ref.factory[1]: load_factory(ref.target) for ref in (*self.prepare, *self.judged) if ref.is_user}
        with contextlib.suppress(Exception):  # what the assertion raises
            exec("\n".join([self.definitions, showing.definitions, *self.prepared(), *showing.lines]), known)
        return known.get(found[2]), known.get(found[1])

    def prepared(self) -> list[str]:
        """Write the lines that prepare the module."""
        return self._applications(self.prepare, BEFORE, BEFORE)

    def applied(self, name: str = AFTER, module: str = BEFORE, *contexts: str) -> list[str]:
        """Write the lines that apply the passes to a module in a variable, and bind what they give to ``name``.

        Args:
            name: The variable for the result; empty for none.
            module: The variable of the module.
            contexts: What the calls stand in besides.
        """
        return self._applications(self.judged, name, module, contexts)

    @cached_property
    def definitions(self) -> str:
        """What the passes need: patterns, functions that rewrite, functions of ours."""
        refs = (*self.prepare, *self.judged)
        written = [_REGISTERED for ref in refs if ref.substitute is Substitute.ALL_REDUCE]
        written += [each for ref in refs for each in self._written(ref).definitions]
        parts = [f"\n\n{each}\n\n" if "\n" in each else f"{each}\n" for each in dict.fromkeys(written)]
        return "".join(parts).replace("\n\n\n", "\n\n").strip("\n")

    def direct(self) -> Iterator[tuple[Any, str]]:
        """Yield calls of TVM that raise by themselves what a function of ours raises, each with its module."""
        calls = self._written(self.judged[0]).direct(self.fresh()) if len(self.judged) == 1 else ()
        for module, line in calls:
            try:
                exec(line, {**namespace(), BEFORE: module})
            except Exception as error:
                if evidence_of(error).message == self.failure.evidence.message:
                    yield module, line

    @cached_property
    def _alone(self) -> str:
        """Name of the one Relax function that a function pass is applied to, or changes; empty where there are more."""
        ref, *more = (*self.prepare, *self.judged)
        names = [name for name, _ in relax_functions(self.fresh())]
        if (
            len(names) > 1
            and not (more or ref.is_user or self.failure.died)
            and written(ref.expression, True).of_function
        ):
            after = self.run().module  # what it does to the others need not be shown
            names = [name for name in names if self._acts_on(ref, name, after)]
        return names[0] if len(names) == 1 and self.failure.verdict.oracle not in _IN_MODULES else ""

    def _acts_on(self, ref: PassRef, name: str, after: Any) -> bool:
        """Say whether the function of a pass changes one function of the module, or raises the error on it."""
        module = self.fresh()
        if after is not None:
            return not equal(module[name], after[name])
        form = written(ref.expression, True, module[name], module)
        try:
            exec(
                "\n".join((*form.definitions, form.applied(f'{BEFORE}["{name}"]', BEFORE))),
                namespace() | {BEFORE: module},
            )
        except Exception as error:
            return evidence_of(error).message == self.failure.evidence.message
        return False

    def _written(self, ref: PassRef, variable: str = BEFORE) -> WrittenPass:
        if ref.is_user:
            built = isinstance(load_factory(ref.target), tvm.ir.transform.Pass)
            return WrittenPass((), f"{ref.factory[1]}{'' if built else f'({ref.arguments})'}")
        first, module = ref is (*self.prepare, *self.judged)[0], self.fresh()
        form = written(ref.expression, bool(self._alone))
        if first and form.given:
            if variable != BEFORE and not (form.definitions or self.failure.died):
                module = self.run().module or module
            to = module[self._alone] if form.of_function else module
            form = written(ref.expression, bool(self._alone), to, module)
        return form

    def _applications(
        self, refs: Sequence[PassRef], name: str, module: str, contexts: tuple[str, ...] = ()
    ) -> list[str]:
        lines: list[str] = []
        for number, ref in enumerate(refs):
            last = number == len(refs) - 1
            bound = name if last or name else "Made"
            form = self._written(ref, module)
            made = bound
            acts = []
            if form.of_function and bound:
                acts = [f"{bound} = {module}.clone()"]
                made = f'{bound}["{self._alone}"]'
            call = form.applied(f'{module}["{self._alone}"]' if form.of_function else module, module)
            acts.append(f"{made} = {call}" if made else call)
            around = [*contexts, *([f"tvm.transform.PassContext(config={form.options})"] if form.options else [])]
            if self.needs_target and not any("target" in each for each in contexts):
                around.append('tvm.target.Target("llvm")')
            lines += [f"with {', '.join(around)}:", *(f"    {act}" for act in acts)] if around else acts
            module = bound
        return lines

    @property
    def imports(self) -> list[str]:
        """The lines that import the user's passes."""
        lines = []
        for ref in (*self.prepare, *self.judged):
            if ref.is_user:
                place = Path(ref.factory[0])
                if roots := [each for each in (place.parent, *ref.roots) if each.name]:
                    # First from where they are; if they are not there, as in another checkout, from where it is run.
                    below = [each for each in map(os.path.relpath, roots) if not each.startswith(os.curdir)]
                    lines.append(f"sys.path[1:1] = {[*map(str, roots), *below, os.curdir]}")
                lines.append(f"from {place.name.removesuffix('.py')} import {ref.factory[1]}")
        return list(dict.fromkeys(lines))


def _bare(built: Any, module: Any) -> Result:
    try:
        return Result(built(module))
    except Exception as error:
        return Result(None, evidence_of(error))


def scenes(failure: FailingCase) -> Iterator[Scene]:
    """Yield the places where a failure may be shown, the best first.

    The pass at fault alone on what it was applied to; all judged passes on the prepared module; the whole case.
    """
    case, culprit = failure.case, failure.verdict.culprit
    plan = plan_of(case.passes, tuple(map(contract_for, case.passes)), failure.module)
    parts = [  # nobody knows which part of a step the process dies in, and none of them may be run here
        (number, part)
        for number, step in enumerate(plan.steps)
        for part in ([step.ref] if failure.died else parts_of(step.ref))
    ]
    names = [ref.name for _, ref in parts]
    index = names.index(culprit) if culprit in names else None
    whole = tuple(ref for number, ref in parts if index is None or number <= parts[index][0])
    stages = _stages(case.module_json, (*plan.prepare, *whole[:-1]))
    if len(stages) > len(plan.prepare):  # what stands behind a pass that raises is not run
        whole = whole[: len(stages) - len(plan.prepare)]
    place = len(plan.prepare) + (index or 0)
    if index is not None and len(stages) > place:
        if failure.evidence.kind != "does-not-build" and (first := edited(whole[index])):  # what builds is not edited
            given, edit, alone = first
            changed = eval(edit, {**namespace(), given: from_json_graph_str(stages[place])})
            yield Scene(failure, str(tvm.ir.save_json(changed)), (), (alone,), index)
        if (plain := plainer(whole[index])) is not None:
            yield Scene(failure, stages[place], (), (plain,), index)
        yield Scene(failure, stages[place], (), (whole[index],), index)
        if len(later := tuple(ref for _, ref in parts)[len(whole) :]) > 0:  # the message may be of what they make
            yield Scene(failure, stages[place], (), (*whole[index:], *later), index)
        if len(rest := _acting(whole[index:], stages[place:])) > 1:
            yield Scene(failure, stages[place], (), rest, index)
    prepare, rest = _acting(plan.prepare, stages), _acting(whole, stages[len(plan.prepare) :])
    if index and len(stages) > len(plan.prepare):
        yield Scene(failure, stages[len(plan.prepare)], (), rest, index)
    if prepare or index is None:
        yield Scene(failure, case.module_json, prepare, rest, index)
    if index is None and culprit in CONTRACTS and len(stages) > len(plan.prepare):
        yield Scene(failure, stages[len(plan.prepare)], (), (preparing(culprit),))


def _acting(passes: tuple[PassRef, ...], stages: list[str]) -> tuple[PassRef, ...]:
    """Return the passes that change the module; what became of it stands in ``stages``."""
    changes = [True] * len(passes)
    for number in range(min(len(passes), len(stages) - 1)):
        changes[number] = not equal(*map(from_json_graph_str, stages[number : number + 2]))
    return tuple(ref for ref, acts in zip(passes, changes, strict=True) if acts)


def _stages(text: str, passes: tuple[PassRef, ...]) -> list[str]:
    """Return the module and what each of the passes makes of it, as JSON, up to the first that raises."""
    found, module = [text], from_json_graph_str(text)
    for ref in passes:
        module = apply(ref.build(), module).module
        if module is None:
            break
        found.append(str(tvm.ir.save_json(module)))
    return found


def failing(
    lines: Sequence[str], last: str, said: str = "", error: str = ASSERTION, words: Iterable[str] = (), **more: Any
) -> Showing:
    """Return the showing of lines and of one behind them that fails, with what is said of it."""
    shown = commented(last, said) if said else [last]
    return Showing((*lines, *shown), Ending(error, tuple(words), len(lines)), **more)


def commented(line: str, comment: str) -> list[str]:
    """Write a line with a comment behind it, or before it where both together are too long."""
    text = f"# {first_line(without_headers(comment)).rstrip(' :')}"
    if len(line) + 2 + len(text) <= WIDTH:
        return [f"{line}  {text}"]
    indent = line[: len(line) - len(line.lstrip())]
    return [indent + textwrap.shorten(text, WIDTH - len(indent), placeholder=" ..."), line]
