"""Locality oracle: does an unrelated function change what the pass does to this one?

A module is a set of functions.  What a pass does to one of them may depend on that function, on what it calls, and, for
passes that change signatures, on who calls it.  It may not depend on a function beside it that has nothing to do with
it, nor on the names of private functions, nor on the order in which functions were added to the module.  The oracle
changes one of these and asks that every function left alone come out, with all that it reaches, as it did before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import tvm
from tvm import relax

from oracles.core.applicability import (
    Inapplicable,
    ill_formed_output,
    modified_input,
    refusal_of,
    tolerated,
    unmet,
    unmet_step,
    when,
)
from oracles.core.blame import first_step, inner_pass
from oracles.core.module_facts import Result, apply, complaint
from oracles.core.subject import Subject
from oracles.core.verdict import Details, Outcome
from oracles.metamorphic.engine import Disagreement, EvidenceTemplate, Relation, Rerun
from oracles.metamorphic.locality_compare import differing
from oracles.metamorphic.locality_variation import Change, ModuleVariation, draw
from relaxkit.passes.contract import EvidenceClass, Locality, OracleName, Trait
from relaxkit.passes.contracts import any_has
from relaxkit.passes.pass_ref import Step

Pair = tuple[tvm.IRModule, tvm.IRModule]


@dataclass(frozen=True, kw_only=True)
class VariedRun(Rerun):
    """Passes on a module, and on one that is varied.

    Attributes:
        chain: Results of the steps on the varied module, up to the first that raises.
        index: Number of the step that raised in one of the two runs.
        entered: What it was applied to in the second run.
    """

    subject: Subject
    variation: ModuleVariation
    chain: tuple[Result, ...]
    index: int
    step: Step
    entered: tvm.IRModule

    @property
    def modules(self) -> Pair:
        """The function as the step at fault leaves it in both modules."""
        return self.differing_step[1]

    def equal(self) -> bool:
        """Return whether the functions that the change left alone come out alike."""
        return self.differing(self.first.module, self.again.module) is None

    def differing(self, before: tvm.IRModule, after: tvm.IRModule) -> Pair | None:
        """Return the first function that was left alone and differs, with what it reaches, in both modules."""
        variation, subject = self.variation, self.subject
        made = _made_again(subject, variation)
        return differing(subject.module, before, after, variation.roots, variation.fixed, made)

    @cached_property
    def differing_step(self) -> tuple[Step, Pair]:
        """The first step that treats a function otherwise, and what it makes of that function in both modules."""
        pairs = zip(self.subject.chain, self.chain, strict=True)
        found = first_step(self.differing(plain.module, varied.module) for plain, varied in pairs)
        assert found is not None
        return self.subject.plan.steps[found[0]], found[1]

    def one_form(self) -> bool:
        """Say whether the two results are alike in the form of the step at fault."""
        step, _ = self.differing_step
        chains = zip(self.subject.chain, self.chain, strict=True)
        before, after = next(each for each in chains if self.differing(each[0].module, each[1].module) is not None)
        return any(self.differing(form(before.module), form(after.module)) is None for form in step.contract.forms)

    def rests_on(self, found: Disagreement) -> EvidenceClass | None:
        """Of a function pass it is documented that other functions do not matter to it.

        ``tvm.relax.transform.FunctionPass``: "A pass that works on each tvm.relax.Function in a module";
        docs/arch/pass_infra.rst: "they are not aware of the global information".
        """
        if found is not Disagreement.UNEQUAL:
            return None
        index = self.subject.plan.steps.index(self.differing_step[0])
        on_functions = isinstance(self.subject.built(index), relax.transform.FunctionPass)
        return EvidenceClass.DOCUMENTED if on_functions else None

    def culprit(self, subject: Subject) -> str:
        """Return the pass that raised in only one run; else the first that treats a function otherwise."""
        if self.first.error is not None:
            return self.step.ref.name
        if self.again.error is None:
            return self.differing_step[0].ref.name
        inner = inner_pass(subject.built(self.index), self.entered) if self.step.contract.composed else None
        return inner or self.step.ref.name


def reach_of(subject: Subject) -> Locality:
    """Return the least that the steps promise."""
    return max((step.contract.locality for step in subject.plan.steps), key=list(Locality).index)


def _reruns(subject: Subject) -> Iterator[VariedRun]:
    """Run the passes on the varied module that the subject's seed decides."""
    variation = draw(subject, reach_of(subject))
    if variation is None:
        raise Inapplicable("nothing to vary")
    Inapplicable.raise_first([_unmet(subject.plan.steps[0], variation.module)])
    subject.stage(OracleName.LOCALITY)
    chain = tuple(result for _, _, result in subject.retrace(variation.module))
    first, again = subject.output, chain[-1]
    if first.error is not None and again.error is not None:
        raise Inapplicable("both raise")
    index = len(subject.chain if again.error is None else chain) - 1
    yield VariedRun(
        first,
        again,
        Details(variation=variation.call),
        subject=subject,
        variation=variation,
        chain=chain,
        index=index,
        step=subject.plan.steps[index],
        entered=chain[index - 1].module if index else variation.module,
    )


def _made_again(subject: Subject, variation: ModuleVariation) -> bool:
    """Return whether public functions that the passes make must be made again.

    Not behind AttachGlobalSymbol: it makes private functions public, whose names were free to shift.
    """
    return variation.made and not any_has((step.contract for step in subject.plan.steps), Trait.PUBLISHES)


def _unmet(step: Step, module: tvm.IRModule) -> str:
    reason = unmet(step.contract, module)
    return reason and f"varied module: {reason}"


def _refused_varied(subject: Subject, run: VariedRun) -> str:
    if (refusal := refusal_of(run.again.error, run.step.contract.refusals)) is not None:
        raise Inapplicable(f"varied module: {refusal.reason}", Outcome.REJECT, run.step.ref.name)
    return ""


def _enters_otherwise(_: Subject, run: VariedRun) -> bool:
    """Return whether the steps before one make another module of the functions left alone.

    It may well raise on one of them: InlinePrivateFunctions drops dead code where there is a private function, and with
    it what FuseOps dies of; what it promises itself is judged where it comes last.
    """
    return bool(run.index) and run.differing(run.subject.chain[run.index - 1].module, run.entered) is not None


def _raises_alone(_: Subject, run: VariedRun) -> bool:
    """Return whether a step raises the same on what was added, behind the steps before it or by itself.

    Those before it may raise there, and are then left out: ``BindParams("main")`` where there is no such function.
    """
    error, added = run.again.error, run.variation.unrelated
    if added is None or error is None:
        return False
    module = added
    for earlier in range(run.index):
        module = apply(run.subject.built(earlier), module).module or module  # one that raises there leaves it as it is
    return any(
        alone is not None and alone.kind == error.kind and alone.frames[:1] == error.frames[:1]
        for alone in (apply(run.subject.built(run.index), each).error for each in (module, added))
    )


_OTHER_MODULE = when("a pass before the one that raises makes another module", _enters_otherwise)
_ILL_FORMED_BEFORE = "varied module is ill-formed before the step that raises"
_CHANGE = "{run.variation.change.words}"

# Errors are judged also where the contract says that the whole module decides: a pass that works on a module must not
# fail on one that has an unrelated function more.
RELATION = Relation(
    OracleName.LOCALITY,
    (
        when("locality is not promised", lambda subject: reach_of(subject) is Locality.UNKNOWN),
        unmet_step,
        when("no output", lambda subject: refusal_of(subject.output.error, subject.last_step.contract.refusals)),
        ill_formed_output,
        modified_input,
    ),
    _reruns,
    {
        Disagreement.HEALED: EvidenceTemplate(
            f"no error {_CHANGE}: {{error}}",
            "the same error",
            "no error on {run.how}",
            (
                when("no output", lambda _, run: run.variation.change is Change.REMOVED),  # it may be what was removed
                when("the error does not recur", lambda _, run: run.subject.run(run.subject.module).error is None),
                when("the error does not recur", lambda _, run: complaint(run.variation.module)),
                _OTHER_MODULE,
            ),
            kind="healed",
        ),
        Disagreement.RAISED: EvidenceTemplate(
            "{error}",
            "the pass succeeds, as it does {run.variation.change.undone}",
            "an error on {run.how}",
            (
                _refused_varied,
                when(_ILL_FORMED_BEFORE, lambda _, run: run.step.inserted),
                when(
                    _ILL_FORMED_BEFORE,
                    lambda _, run: not tolerated(complaint(run.entered), run.subject.plan.steps[: run.index]),
                ),
                lambda _, run: _unmet(run.step, run.entered),
                _OTHER_MODULE,
                when("the pass raises on the added function alone", _raises_alone),
                when("pass is not deterministic", lambda _, run: run.subject.random),
            ),
        ),
        Disagreement.UNEQUAL: EvidenceTemplate(
            f"another result {_CHANGE}",
            "what the pass makes of the function without the change",
            "{run.parts} on {run.how}\n{run.diff}",
            (
                when("order follows addresses", lambda _, run: run.subject.ordered),
                when(
                    "the whole module decides",
                    lambda _, run: run.differing_step[0].contract.locality is Locality.MODULE,
                ),
                when("one meaning in two forms", lambda _, run: run.one_form()),
                when("prepared module is ill-formed", lambda _, run: run.differing_step[0].inserted),
                when("varied module is ill-formed", lambda _, run: complaint(run.variation.module)),
                lambda subject, run: subject.incomparable,  # asked last: it costs several runs
            ),
            kind="not-local",
        ),
    },
)
