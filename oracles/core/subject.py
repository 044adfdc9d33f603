"""A subject: one module under one pass or pipeline, with everything the oracles need computed at most once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property

import tvm
import tvm_ffi

from oracles.core import module_facts
from oracles.core.blame import BegunPasses
from oracles.core.module_facts import ModuleFacts, Result, apply, complaint, equal, load, reloads
from oracles.core.verdict import Breadcrumb, Details, Evidence, Phase
from relaxkit.passes.contract import Contract, OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef, Step
from relaxkit.passes.plan import Plan, plan_of, unfit

PIPELINE = "pipeline"
PIPELINE_STEP = " > "

REPEATS = 12
"""Runs that must agree before a difference is held against anything but chance.

A pass that tosses one coin comes through once in 4,096 times; after four it came through in CI.
"""
COSTLY_REPEATS = 4
"""The same where passes compile kernels.

On some modules each run of such a pass takes a second, and twelve with what follows them looked like a hang. They are
TVM's own, of which none has tossed a coin yet; what orders by addresses says so in its contract.
"""


class Subject:
    """One module under one pass (or a pipeline of several), lazily run.

    Attributes:
        contract: Contract of the only, or the first, pass.
        name: Names of the passes under judgement, in order.
        is_pipeline: Whether more than one pass is judged.
        judged: Name under which verdicts are counted: the pass, or ``pipeline`` for several.
        sampled: Whether the subject is one of a campaign's many, of which costly parts may be left to a share.
        defined: Whether running the module has a defined result; where not, it is only built.
        original_facts: Facts of the original module, which may be shared with other subjects on the same module.
        unmet: Once the passes were run: why one of them was not meant for what it got; empty when all were.
        agrees: Once it was asked (``oracles.metamorphic.environment``): whether another run gives what the first gave.
    """

    def __init__(
        self,
        module: tvm.IRModule,
        passes: Sequence[PassRef],
        contracts: Sequence[Contract] | None = None,
        input_seed: int = 0,
        stage: Callable[[str], None] | None = None,
        facts: ModuleFacts | None = None,
        sampled: bool = False,
        defined: bool = True,
    ) -> None:
        if not passes:
            raise ValueError("a subject needs at least one pass")
        self.original = module
        self.passes = tuple(passes)
        self.contracts = tuple(contract_for(ref) for ref in passes) if contracts is None else tuple(contracts)
        if len(self.contracts) != len(self.passes):
            raise ValueError("a subject needs one contract per pass")
        self.contract = self.contracts[0]
        self.name = PIPELINE_STEP.join(ref.name for ref in self.passes)
        self.is_pipeline = len(self.passes) > 1
        self.judged = PIPELINE if self.is_pipeline else self.passes[0].name
        self.input_seed = input_seed
        self.sampled = sampled
        self.defined = defined
        self._stage = stage
        self.original_facts = facts if facts is not None else ModuleFacts(module)
        self._built: dict[int, tvm.ir.transform.Pass] = {}
        self.unprepared: str = ""
        self.unmet: str = ""
        self.agrees: bool | None = None

    def stage(
        self, oracle: OracleName | None, culprit: str = "", stage: Phase | None = None, entry: str = "", mode: str = ""
    ) -> None:
        """Leave a breadcrumb before a step that may kill the process.

        Args:
            culprit: The pass to blame if it does; by default those under judgement.
            entry: The public function that it calls, or the operator.
            mode: How that is executed.
        """
        if self._stage is not None:
            details = Details(oracle, stage, str(entry), mode=mode)  # TVM's strings are none that can be written
            self._stage(Breadcrumb.of(details, culprit or self.name).text)

    @cached_property
    def plan(self) -> Plan:
        """The passes that prepare the module, and the steps that are judged."""
        return plan_of(self.passes, self.contracts, self.original)

    @cached_property
    def facts(self) -> ModuleFacts | None:
        """Facts of the prepared module; ``None``, with :attr:`unprepared` set, when a preparing pass failed."""
        facts = self.original_facts
        for ref in self.plan.prepare:
            self.stage(None, ref.name, Phase.PREPARE)
            ready = facts.prepared(ref)
            if isinstance(ready, Evidence):
                self.unprepared = f"prepare failed: {ref.name}"
                return None
            facts = ready
        return facts

    @cached_property
    def preparing(self) -> tuple[PassRef, ...]:
        """The preparing passes that change what they are given: none where the module stands as the passes need it."""
        if self.facts is None:
            return self.plan.prepare
        facts, changing = self.original_facts, []
        for ref in self.plan.prepare:
            ready = facts.prepared(ref)
            assert not isinstance(ready, Evidence)
            if ready.fingerprint != facts.fingerprint:
                changing.append(ref)
            facts = ready
        return tuple(changing)

    @property
    def module(self) -> tvm.IRModule:
        """The module that the passes are applied to, after preparation; ``None`` when that failed."""
        return None if self.facts is None else self.facts.module

    @property
    def prepared(self) -> ModuleFacts:
        """The facts, where no preparing pass failed."""
        assert self.facts is not None
        return self.facts

    @property
    def before(self) -> str:
        """The prepared module as JSON, as it was before any pass under judgement ran."""
        return self.prepared.snapshot

    def built(self, index: int) -> tvm.ir.transform.Pass:
        """Return the pass of one step of the plan, built once so that its own state is under judgement, too."""
        if index not in self._built:
            with module_facts.watched:
                self._built[index] = self.plan.steps[index].ref.build()
        return self._built[index]

    def run(self, module: tvm.IRModule) -> Result:
        """Apply the passes to a module, one after the other, by direct calls."""
        result = Result(module)
        for index in range(len(self.plan.steps)):
            result = apply(self.built(index), result.module)
            if result.error is not None:
                break
        return result

    @cached_property
    def chain(self) -> tuple[Result, ...]:
        """Results after each step by direct calls; shorter than the plan when a step raised, or was not run.

        A step behind the first is not run on a module that it is not meant for (:attr:`unmet`).
        """
        results: list[Result] = []
        self.prepared.observe()
        module = self.module
        for index, step in enumerate(self.plan.steps):
            self.unmet = unfit(step, module, first=index == 0) or self.unmet
            if self.unmet and index:
                break
            self.stage(OracleName.CRASH, step.ref.name)
            with self._noting(step):
                results.append(apply(self.built(index), module))
            if results[-1].error is not None:
                break
            module = results[-1].module
        return tuple(results)

    def _noting(self, step: Step) -> AbstractContextManager[object]:
        """Leave breadcrumbs around each pass inside of a composed one, so that a death is not put down to another."""
        if self._stage is None or not step.contract.composed:
            return contextlib.nullcontext()
        begun = BegunPasses(lambda name: self.stage(OracleName.CRASH, name or step.ref.name))
        return tvm.transform.PassContext(instruments=[begun])  # type: ignore[no-any-return]  # TVM ships no types

    @property
    def ran(self) -> bool:
        """``True`` once the passes were run: no oracle runs them on a module that they are not meant for."""
        return "chain" in self.__dict__

    @property
    def output(self) -> Result:
        """Result of the passes, one after the other."""
        return self.chain[-1]

    @property
    def output_module(self) -> tvm.IRModule:
        """The transformed module, or ``None`` when there is none."""
        return None if self.facts is None else self.output.module

    @cached_property
    def changed(self) -> bool | None:
        """``True`` when the passes gave another module than the prepared one; ``None`` when one of them raised.

        Functions with their names, attributes and global infos count; names of variables, spans and the order of
        functions do not. Judged by the structural hash that the input had before the passes ran, so that a pass that
        writes into its input counts as well.
        """
        if self.facts is None or self.output.error is not None:
            return None
        return int(tvm_ffi.structural_hash(self.output.module)) != self.facts.fingerprint

    @property
    def last_step(self) -> Step:
        """The step that raised, or the last one."""
        return self.plan.steps[len(self.chain) - 1]

    def input_of(self, index: int) -> tvm.IRModule:
        """Return the module that a step was applied to."""
        return self.module if index == 0 else self.chain[index - 1].module

    def given_again(self, index: int) -> tvm.IRModule:
        """Return the module that a step is applied to, made once more: the first run may have written into its own."""
        module = load(self.before)
        for number in range(index):
            module = None if module is None else apply(self.built(number), module).module
        return self.input_of(index) if module is None else module

    def grouped(self, count: int) -> Result:
        """Apply ``Sequential`` of the first ``count`` steps to the module.

        ``Sequential`` leaves out a pass above the context's level (2 by default), a direct call does not: the
        level is raised where a user's pass asks for more, so that both run it.
        """
        built = [self.built(index) for index in range(count)]
        level = max([2, *(int(each.info.opt_level) for each in built)])
        with tvm.transform.PassContext(opt_level=level) if level > 2 else contextlib.nullcontext():
            return apply(tvm.transform.Sequential(built), self.module)

    @property
    def costly(self) -> bool:
        """``True`` when a step takes milliseconds."""
        return any(step.contract.costly for step in self.plan.steps)

    @property
    def ordered(self) -> bool:
        """``True`` when a step orders its output by addresses."""
        return any(step.contract.address_ordered for step in self.plan.steps)

    @property
    def repeats(self) -> int:
        """The number of runs that must agree before a difference is held against a pass."""
        return COSTLY_REPEATS if self.costly else REPEATS

    def retrace(self, module: tvm.IRModule | None = None) -> Iterator[tuple[int, tvm.IRModule, Result]]:
        """Run the steps once more, by default on a copy of the input; yield number, input and result of each.

        For finding the culprit: the results of the first run may have been modified by later steps.
        """
        module = load(self.before) if module is None else module
        if module is None:
            return
        for index in range(len(self.plan.steps)):
            result = apply(self.built(index), module)
            yield index, module, result
            if result.error is not None:
                return
            module = result.module

    @cached_property
    def incomparable(self) -> str:
        """Why a structural difference from the output says nothing; empty when it does say something.

        An output that does not equal its own reload holds objects that compare by identity (a dangling buffer
        in an annotation, for instance). Of a pass whose repeated runs differ, the determinism oracle reports.
        Asked only when two modules differ that should not, since it costs several runs.
        """
        if not reloads(self.output.module):
            return "output holds objects compared by identity"
        return "pass is not deterministic" if self.random else ""

    @cached_property
    def random(self) -> bool:
        """``True`` when repeated runs on the same, unmodified input object differ; costs several runs."""
        if self.prepared.modified():
            return False  # then the input differs, and not the pass
        first = self.output.module
        for _ in range(self.repeats):
            again = self.run(self.module)
            if again.error is not None or not equal(first, again.module):
                return not self.prepared.modified()
        return False

    @cached_property
    def output_complaint(self) -> Evidence | None:
        """The checker's objection to the output, whether or not the contract tolerates it."""
        self.stage(OracleName.WELL_FORMED)
        return complaint(self.output.module)
