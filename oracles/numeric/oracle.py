"""Numeric oracle: same inputs, same outputs, before and after the pass."""

from __future__ import annotations

import functools
import hashlib
import weakref
from typing import Any

from tvm_ffi.serialization import from_json_graph_str

from oracles.calling import NoAdapter
from oracles.core.applicability import ill_formed_output, no_output
from oracles.core.module_facts import equal
from oracles.core.subject import Subject
from oracles.core.verdict import UNCHANGED, Agreement, Outcome, Phase, Verdict
from oracles.measure.input_variations import Variation
from oracles.measure.interpret import Interpreted, compare_interpreted, interpretable
from oracles.measure.original import Original, Reporter, original_of
from oracles.numeric.blame import LEGALIZATION, culprit_of
from oracles.numeric.compare_call import candidate_of, input_of, promise_of
from oracles.numeric.compare_programs import Candidate, Undecidable, examine
from oracles.numeric.symbolic_calls import AdaptedCall
from oracles.semantics import WrongCall, wrong_call
from relaxkit.passes.arguments import NotLiteral, given_of
from relaxkit.passes.contract import NumericCheck, NumericPromise, OracleName, Trait
from relaxkit.passes.contracts import any_has
from relaxkit.passes.limits import Situation, reason_against
from relaxkit.proof import Proof, Result, prove

# One subject in so many is executed in compiled mode, too: what glues its kernels is compiled for it.
COMPILED_SHARE = 8
# Subjects on one module in so many are built and executed even where the interpreter finds that nothing has changed:
# what a pass leaves may be right and yet not build.
EXECUTED_SHARE = 3
# The same where the results are proved equal: the proof takes kernels and operators for what they are called.
PROVED_SHARE = 3 * EXECUTED_SHARE  # modules whose original is executed anyway
# What a call that gives other results each time shows as well, at random.
_PERHAPS_OF_THE_ORIGINAL = frozenset({"wrong-value", "second-call-differs", "later-call-differs", "uninitialized-read"})
REFERENCE = "reference pipeline"
_SAYS_NOTHING_OF_LEGALIZATION = (UNCHANGED, "no output", "output is ill-formed")


def judge_numeric(subject: Subject) -> Verdict:
    """Run the original and the transformed module on the same inputs and compare what they return.

    ``PASS``: every public function that can be called agrees, its inputs are left alone and a second call repeats the
    first; and where the pass legalizes, what the operators compute is as documented (:mod:`oracles.semantics`).
    ``FAIL``: it does not build or raises although the original runs, its results differ by more than the promise
    allows, or an operator computes something else than documented.  ``SKIP``: nothing to judge; every reason is a
    short phrase.
    """
    said = _compared(subject)
    decided = said.evidence is not None and said.evidence.kind not in _PERHAPS_OF_THE_ORIGINAL
    # Where operators are lowered, their lowering is judged, which is the same for all passes.
    lowers = any_has((step.contract for step in subject.plan.steps), Trait.LOWERS_OPERATORS)
    if decided or not lowers or said.reason in _SAYS_NOTHING_OF_LEGALIZATION:
        return said
    found = undocumented(subject)
    return said if found is None else Verdict(OracleName.NUMERIC, Outcome.FAIL, found.culprit, evidence=found.evidence)


def _compared(subject: Subject) -> Verdict:
    """Return the verdict on the module before and after the passes."""
    reason = _unfit(subject)
    if reason:
        return _skip(subject, reason)
    facts = subject.prepared
    if not subject.changed and not facts.modified():
        return _skip(subject, UNCHANGED)
    try:
        original = _original(subject)
        if reason := _may_change(subject, original):
            return _skip(subject, reason)
        last = len(subject.plan.steps) - 1
        candidate = candidate_of(subject, original, last)
        if equal(original.module, candidate.module):
            return _skip(subject, UNCHANGED)

        def means_the_same(variation: Variation = Variation.DEFAULT) -> bool:
            if not subject.defined or not interpretable(subject.plan.steps, bool(candidate.adapters)):
                return False
            subject.stage(OracleName.NUMERIC, stage=Phase.INTERPRETATION)
            said = compare_interpreted(original.module, candidate.module, subject.input_seed, original.given, variation)
            return said is Interpreted.EQUAL

        proof = _proof(original, candidate, subject)
        # Up to reassociation only: roundings, and what overflows in another order, is for numbers to say.
        certain = proof.result is Result.PROVED and proof.exact
        proved = certain or (proof.result is Result.PROVED and candidate.promise is not NumericPromise.BIT_EXACT)
        # No term says where a value lies, and a module whose devices do not fit does not build.
        share = PROVED_SHARE if certain and not original.module.global_infos.get("vdevice") else EXECUTED_SHARE
        if not _executed(subject, share) and (certain or means_the_same()):
            return _agreed(subject, Agreement.PROVED if proved else Agreement.INTERPRETED)
        # Decided by what a minimizer leaves as it is.
        compiled = hashlib.sha256(f"{subject.input_seed}:{subject.name}".encode()).digest()[0] % COMPILED_SHARE == 0
        try:
            finding = examine(original, candidate, subject, compiled)
        except Undecidable:  # what no build takes, such as operands of unknown shape, can be compared all the same
            if original.built is not None or candidate.lowered or not (certain or means_the_same()):
                raise
            return _agreed(subject, Agreement.PROVED if proved else Agreement.INTERPRETED)
        if finding is None:
            return _agreed(subject, Agreement.PROVED if proved else Agreement.EXECUTED)
        # Where both mean the same, and are executed with other results, one of them is lowered to something else.
        lowered_otherwise = finding.evidence.kind == "wrong-value" and means_the_same(finding.variation)
        culprit = finding.culprit or (LEGALIZATION if lowered_otherwise else culprit_of(subject, original, finding))
        return Verdict(OracleName.NUMERIC, Outcome.FAIL, culprit, evidence=finding.evidence)
    except (Undecidable, NoAdapter) as undecided:
        return _skip(subject, str(undecided))
    except NotLiteral:
        return _skip(subject, "inputs are bound by something other than literals")


def undocumented(subject: Subject) -> WrongCall | None:
    """Find a call of the original that TVM lowers to something else than is documented; ``None`` for none."""
    try:
        original = _original(subject)
    except NotLiteral:
        return None
    if original.built is None or not subject.defined:
        return None
    if original not in _wrong_calls:
        _wrong_calls[original] = wrong_call(original, _reporter(subject))
    return _wrong_calls[original]


def is_documented(subject: Subject) -> bool:
    """Say whether the original's results, on the arguments that it is called with, are documented."""
    original = _original(subject)
    return all(map(original.is_documented, (entry for entry in original.entries if not entry.problem)))


_wrong_calls: weakref.WeakKeyDictionary[Original, WrongCall | None] = weakref.WeakKeyDictionary()
"""What was found in a module, which is the same for all passes that are tried on it."""


def _reporter(subject: Subject) -> Reporter:
    return functools.partial(subject.stage, OracleName.NUMERIC, REFERENCE)


def _original(subject: Subject) -> Original:
    """Return the original; raises ``NotLiteral`` where nothing tells what of its inputs a pass fixes."""
    given = given_of([(step.ref.name, step.ref.expression) for step in subject.plan.steps])
    facts, original_facts = subject.prepared, subject.original_facts
    return original_of(
        facts,
        _pristine(facts),
        subject.input_seed,
        given,
        _reporter(subject),
        lambda: (_pristine(original_facts), original_facts.snapshot),
    )


def _unfit(subject: Subject) -> str:
    """Why the subject has no numbers to compare; empty when it has."""
    if reason := no_output(subject) or ill_formed_output(subject):
        return reason
    if promise_of(subject, len(subject.plan.steps) - 1) is NumericPromise.NONE:
        return "results may change"
    return ""


def _may_change(subject: Subject, original: Original) -> str:
    """Say why the passes may change the results of this module, by their documentation; empty when they may not."""
    inputs = functools.partial(input_of, subject, original)
    return reason_against(NumericCheck.RESULTS, Situation(subject.plan.steps, inputs, given=subject.original))


def _pristine(facts: Any) -> Any:
    """Return the module as it was before any pass, even when a pass has modified the object."""
    return from_json_graph_str(facts.snapshot) if facts.modified() else facts.module


def _proof(original: Original, candidate: Candidate, subject: Subject) -> Proof:
    caller = AdaptedCall(candidate.adapters, original.module, candidate.module) if candidate.adapters else None
    laws = tuple(dict.fromkeys(law for step in subject.plan.steps for law in step.contract.laws))
    return prove(original.module, candidate.module, caller, original.given, laws, original.evaluated)


def _agreed(subject: Subject, reached: Agreement) -> Verdict:
    return Verdict(OracleName.NUMERIC, Outcome.PASS, subject.judged, reached.value)


def _executed(subject: Subject, share: int) -> bool:
    """Say whether this subject, one in ``share``, is executed, whatever else is known of its results.

    Outside of a campaign, every one is.

    Decided by module and not by subject: most of what an execution costs is the original's, which all subjects share.
    """
    if not subject.sampled or any(step.ref.is_user for step in subject.plan.steps):
        return True
    return hashlib.sha256(f"execute:{subject.input_seed}".encode()).digest()[0] % share == 0


def _skip(subject: Subject, reason: str) -> Verdict:
    return Verdict(OracleName.NUMERIC, Outcome.SKIP, subject.judged, reason)
