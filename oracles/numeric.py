"""Numeric oracle: same inputs, same outputs, before and after the pass."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tvm_ffi.serialization import from_json_graph_str

from oracles.abi import Convention, NoAdapter, adapters_of
from oracles.contract import NumericPromise, Stage
from oracles.crash import without_output
from oracles.examination import Candidate, Undecidable, examine
from oracles.facts import equal
from oracles.given import Given, NotLiteral, given_of
from oracles.interpretation import Interpreted, compare_interpreted, interpretable
from oracles.meaning import WrongCall, wrong_call
from oracles.numeric_blame import LEGALIZATION, culprit_of
from oracles.numeric_limits import unfair
from oracles.original import Original, original_of
from oracles.plan import Step
from oracles.variations import Variation
from oracles.verdict import UNCHANGED, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed

# One subject in so many is executed in compiled mode, too: what glues its kernels is compiled for it.
COMPILED_SHARE = 8
# Subjects on one module in so many are built and executed even where the interpreter finds that nothing has changed:
# what a pass leaves may be right and yet not build.
EXECUTED_SHARE = 3
# What a call that gives other results each time shows as well, at random.
_PERHAPS_OF_THE_ORIGINAL = frozenset({"wrong-value", "second-call-differs", "later-call-differs", "uninitialized-read"})
REFERENCE = "reference pipeline"
# The passes that say how operators are computed, and pipelines with them in it.
_LEGALIZING = frozenset(
    {LEGALIZATION, "DispatchSortScan", "DispatchSampling", "build:default", "build:cpu", "build:zero"}
)
_SAYS_NOTHING_OF_LEGALIZATION = (UNCHANGED, "no output", "output is ill-formed")
# Floats that kernels compute in float32, as a CPU has no instructions for them: ``Contract.merges_kernels``.
_PROMOTED = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
_WEAKEST_LAST = (
    NumericPromise.BIT_EXACT,
    NumericPromise.REASSOCIATION,
    NumericPromise.APPROXIMATE,
    NumericPromise.LOSSY,
    NumericPromise.NONE,
)


def judge_numeric(subject: Any) -> Verdict:
    """Run the original and the transformed module on the same inputs and compare what they return.

    ``PASS``: every public function that can be called agrees, its inputs are left alone and a second call repeats the
    first; and where the pass legalizes, what the operators compute is as documented (:mod:`oracles.meaning`).
    ``FAIL``: it does not build or raises although the original runs, its results differ by more than the promise
    allows, or an operator computes something else than documented.  ``SKIP``: nothing to judge; every reason is a
    short phrase.
    """
    said = _compared(subject)
    decided = said.evidence is not None and said.evidence.kind not in _PERHAPS_OF_THE_ORIGINAL
    if decided or not _legalizes(subject) or said.reason in _SAYS_NOTHING_OF_LEGALIZATION:
        return said
    found = undocumented(subject)
    return said if found is None else Verdict(OracleName.NUMERIC, Outcome.FAIL, found.culprit, evidence=found.evidence)


def _compared(subject: Any) -> Verdict:
    """The verdict on the module before and after the passes."""
    reason = _unfit(subject)
    if reason:
        return _skip(subject, reason)
    facts = subject.facts
    if not subject.changed and not facts.modified():
        return _skip(subject, UNCHANGED)
    try:
        given = given_of([(step.ref.name, step.ref.expression) for step in subject.plan.steps])
        original = _original(subject, given)
        if reason := unfair(subject.plan.steps, lambda index: _input(subject, original, index)):
            return _skip(subject, reason)
        last = len(subject.plan.steps) - 1
        candidate = candidate_of(subject, original, last)
        if equal(original.module, candidate.module):
            return _skip(subject, UNCHANGED)

        def means_the_same(variation: Variation = Variation.DEFAULT) -> bool:
            if not subject.defined or not interpretable(subject.plan.steps, bool(candidate.adapters)):
                return False
            subject.stage("numeric interpretation")
            said = compare_interpreted(original.module, candidate.module, subject.input_seed, given, variation)
            return said is Interpreted.EQUAL

        if not _executed(subject) and means_the_same():
            return Verdict(OracleName.NUMERIC, Outcome.PASS, subject.judged)
        compiled = _draws_compiled(subject)
        finding = examine(original, candidate, subject, compiled)
        if finding is None:
            return Verdict(OracleName.NUMERIC, Outcome.PASS, subject.judged)
        # Where both mean the same, and are executed with other results, one of them is lowered to something else.
        lowered_otherwise = finding.evidence.kind == "wrong-value" and means_the_same(finding.variation)
        culprit = finding.culprit or (LEGALIZATION if lowered_otherwise else culprit_of(subject, original, finding))
        return Verdict(OracleName.NUMERIC, Outcome.FAIL, culprit, evidence=finding.evidence)
    except (Undecidable, NoAdapter) as undecided:
        return _skip(subject, str(undecided))
    except NotLiteral:
        return _skip(subject, "inputs are bound by something else than literals")


def _legalizes(subject: Any) -> bool:
    """Whether the subject is one on which the lowering of operators is judged; it is the same for all passes."""
    return any(step.ref.name in _LEGALIZING for step in subject.plan.steps)


def undocumented(subject: Any) -> WrongCall | None:
    """A call of the original that TVM lowers to something else than is documented; ``None`` when none is seen."""
    try:
        given = given_of([(step.ref.name, step.ref.expression) for step in subject.plan.steps])
    except NotLiteral:
        return None
    original = _original(subject, given)
    if original.program is None or not subject.defined:
        return None
    return wrong_call(original, lambda text: subject.stage(f"numeric {text}", REFERENCE))


def _original(subject: Any, given: Given) -> Original:
    facts, given_facts = subject.facts, subject.given_facts
    return original_of(
        facts,
        _pristine(facts),
        subject.input_seed,
        given,
        lambda text: subject.stage(f"numeric {text}", REFERENCE),
        lambda: (_pristine(given_facts), given_facts.snapshot),
    )


def _unfit(subject: Any) -> str:
    """Why the subject has no numbers to compare; empty when it has."""
    early = without_output(OracleName.NUMERIC, subject)
    if early is not None:
        return str(early.reason)
    if not output_is_well_formed(subject):
        return "output is ill-formed"
    if promise_of(subject, len(subject.plan.steps) - 1) is NumericPromise.NONE:
        return "results may change"
    return ""


def _pristine(facts: Any) -> Any:
    """The module as it was before any pass, even when a pass has modified the object."""
    if not facts.modified():
        return facts.module
    return from_json_graph_str(facts.snapshot)


def candidate_of(subject: Any, original: Original, last: int, module: Any = None) -> Candidate:
    """The module after step ``last``, or one that it gave in another run."""
    steps = subject.plan.steps[: last + 1]
    conventions = []
    for index, step in enumerate(steps):
        before, after = _input(subject, original, index), subject.chain[index].module
        if not equal(before, after):  # a pass that did nothing left the convention alone
            conventions.append(Convention(step.ref.name, step.contract.abi, step.ref.expression, before, after))
    return Candidate(
        subject.chain[last].module if module is None else module,
        steps[-1].contract.composed and steps[-1].contract.gives is Stage.LOWERED,
        adapters_of(conventions),
        promise_of(subject, last, original.float_dtypes),
    )


def _input(subject: Any, original: Original, index: int) -> Any:
    """What a step was applied to; the first step's input as it was before that step could modify it."""
    return original.module if index == 0 else subject.input_of(index)


def promise_of(subject: Any, last: int, dtypes: Sequence[str] = ()) -> NumericPromise:
    """The weakest numeric promise among the steps up to ``last``, for a module that has floats of these dtypes."""
    steps: Sequence[Step] = subject.plan.steps[: last + 1]
    promises = [step.contract.numeric for step in steps]
    if any(step.contract.merges_kernels for step in steps) and not _PROMOTED.isdisjoint(dtypes):
        promises.append(NumericPromise.REASSOCIATION)
    return max(promises, key=_WEAKEST_LAST.index)


def _draws_compiled(subject: Any) -> bool:
    """Whether the subject is executed in compiled mode, too; decided by what a minimizer leaves as it is."""
    return hashlib.sha256(f"{subject.input_seed}:{subject.name}".encode()).digest()[0] % COMPILED_SHARE == 0


def _executed(subject: Any) -> bool:
    """Whether this subject is executed, whatever its interpretation says: outside of a campaign, every one is.

    Decided by module and not by subject: most of what an execution costs is the original's, which all subjects share.
    """
    if not subject.sampled or any(step.ref.is_user for step in subject.plan.steps):
        return True
    return hashlib.sha256(f"execute:{subject.input_seed}".encode()).digest()[0] % EXECUTED_SHARE == 0


def _skip(subject: Any, reason: str) -> Verdict:
    return Verdict(OracleName.NUMERIC, Outcome.SKIP, subject.judged, reason)
