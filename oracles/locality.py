"""Locality oracle: does an unrelated function change what the pass does to this one?

A module is a set of functions.  What a pass does to one of them may depend on that function, on what it calls, and, for
passes that change signatures, on who calls it.  It may not depend on a function beside it that has nothing to do with
it, nor on the names of private functions, nor on the order in which functions were added to the module.  The oracle
changes one of these and asks that every function left alone come out, with all that it reaches, as it did before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm

from oracles.blame import inner_culprit
from oracles.contract import Locality
from oracles.crash import refusal_of, unfit_step
from oracles.difference import describe, text_difference
from oracles.facts import Result, apply, complaint
from oracles.locality_compare import differing
from oracles.locality_draw import Change, Variation, draw
from oracles.preconditions import holds_empty_constant
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed, tolerated

_OTHER_MODULE = "a pass before the one that raises makes another module"


def judge(subject: Subject) -> Verdict:
    """Run the passes on a varied module and compare what they make of the functions that were left alone.

    Where the contract says that the whole module decides, only errors are judged: a pass that works on a module must
    not fail on one that has an unrelated function more.
    """
    reach = reach_of(subject)
    if reach is Locality.UNKNOWN:
        return _skip(subject, "locality is not promised")
    if reason := unfit_step(subject):
        return _skip(subject, reason)
    error, last = subject.output.error, subject.last_step
    if error is not None and refusal_of(error, last.contract.refusals) is not None:
        return _skip(subject, "no output")
    if error is None and not output_is_well_formed(subject):
        return _skip(subject, "output is ill-formed")
    assert subject.facts is not None
    if subject.facts.modified():
        return _skip(subject, "input was modified")
    variation = draw(subject, reach)
    if variation is None:
        return _skip(subject, "nothing to vary")
    for precondition in subject.contract.preconditions:
        if (unmet := precondition(variation.module)) is not None:
            return _skip(subject, f"varied module: {unmet}")
    subject.stage("locality")
    varied = _chain(subject, variation.module)
    try:
        if error is not None:
            return _healed(subject, variation, varied, error)
        if varied[-1].error is not None:
            return _broken(subject, variation, varied, varied[-1].error)
        return _compare(subject, variation, varied)
    except tvm.error.InternalError:
        # Functions are renamed in a module's JSON, which TVM does not read back then (case json-empty-constant).
        if any(holds_empty_constant(each.module) for each in (*subject.chain, *varied) if each.module is not None):
            return _skip(subject, "has a constant without elements, which JSON does not carry")
        raise


def _made(subject: Subject, variation: Variation) -> bool:
    """Whether public functions that the passes make must be made again.

    Not behind AttachGlobalSymbol: it makes private functions public, whose names were free to shift.
    """
    return variation.made and all(step.ref.name != "AttachGlobalSymbol" for step in subject.plan.steps)


def reach_of(subject: Subject) -> Locality:
    """The least that the steps promise."""
    order = list(Locality)
    return max((step.contract.locality for step in subject.plan.steps), key=order.index)


def _chain(subject: Subject, module: Any) -> list[Result]:
    """Results of the steps on a varied module, up to the first that raises."""
    results: list[Result] = []
    for index in range(len(subject.plan.steps)):
        results.append(apply(subject.built(index), module))
        if results[-1].error is not None:
            break
        module = results[-1].module
    return results


def _healed(subject: Subject, variation: Variation, varied: Sequence[Result], error: Evidence) -> Verdict:
    """The passes raise on the module: do they also raise on the varied one?"""
    if varied[-1].error is not None:
        return _skip(subject, "both raise")
    if variation.change is Change.REMOVED:
        return _skip(subject, "no output")  # the error may be that of what was removed
    if subject.run(subject.module).error is None or complaint(variation.module) is not None:
        return _skip(subject, "the error does not come back")
    if _enters_otherwise(subject, variation, varied, len(subject.chain) - 1):
        return _skip(subject, _OTHER_MODULE)
    said = f"no error {variation.change.words}: {error.message}"
    evidence = Evidence("healed", said, error.frames, "the same error", f"no error on {variation.call}")
    return Verdict(OracleName.LOCALITY, Outcome.FAIL, subject.last_step.ref.name, evidence=evidence)


def _broken(subject: Subject, variation: Variation, varied: Sequence[Result], error: Evidence) -> Verdict:
    """The passes work on the module, and raise on the varied one."""
    index = len(varied) - 1
    step = subject.plan.steps[index]
    refusal = refusal_of(error, step.contract.refusals)
    if refusal is not None:
        return Verdict(OracleName.LOCALITY, Outcome.REJECT, step.ref.name, f"varied module: {refusal.reason}")
    entered = variation.module if index == 0 else varied[index - 1].module
    if step.inserted or not tolerated(complaint(entered), subject.plan.steps[:index]):
        return _skip(subject, "varied module is ill-formed before the step that raises")
    for precondition in step.contract.preconditions:
        if (unmet := precondition(entered)) is not None:
            return _skip(subject, f"varied module: {unmet}")
    if _enters_otherwise(subject, variation, varied, index):
        return _skip(subject, _OTHER_MODULE)
    if _raises_alone(subject, variation, index, error):
        return _skip(subject, "the pass raises on the added function alone")
    if subject.random:
        return _skip(subject, "pass is not deterministic")
    culprit = step.ref.name
    if step.contract.composed:
        culprit = inner_culprit(subject.built(index), entered) or culprit
    evidence = Evidence(
        error.kind, error.message, error.frames, "a module, as without the change", f"an error on {variation.call}"
    )
    return Verdict(OracleName.LOCALITY, Outcome.FAIL, culprit, evidence=evidence)


def _enters_otherwise(subject: Subject, variation: Variation, varied: Sequence[Result], index: int) -> bool:
    """Whether the steps before one make another module of the functions left alone, so that it may well raise on one.

    InlinePrivateFunctions drops dead code where there is a private function, and with it what FuseOps dies of; what it
    promises itself is judged where it comes last.
    """
    if index == 0:
        return False
    before, after = subject.chain[index - 1].module, varied[index - 1].module
    return _differing(subject, subject.module, before, after, variation) is not None


def _raises_alone(subject: Subject, variation: Variation, index: int, error: Evidence) -> bool:
    """Whether a step raises the same on what was added, behind the steps before it or by itself.

    Those before it may raise there, and are then left out: ``BindParams("main")`` where there is no such function.
    """
    if variation.unrelated is None:
        return False
    module = variation.unrelated
    for earlier in range(index):
        module = apply(subject.built(earlier), module).module or module  # one that raises there leaves it as it is
    return any(
        alone is not None and alone.kind == error.kind and alone.frames[:1] == error.frames[:1]
        for alone in (apply(subject.built(index), each).error for each in (module, variation.unrelated))
    )


def _compare(subject: Subject, variation: Variation, varied: Sequence[Result]) -> Verdict:
    """Compare the functions that the change left alone; the blame goes to the first step that treats them otherwise."""
    steps = subject.plan.steps
    if _differing(subject, subject.module, subject.output.module, varied[-1].module, variation) is None:
        return Verdict(OracleName.LOCALITY, Outcome.PASS, subject.judged)
    if subject.ordered:
        return _skip(subject, "order follows addresses")
    found, step = None, steps[-1]
    for index, result in enumerate(subject.chain):
        found = _differing(subject, subject.module, result.module, varied[index].module, variation)
        if found is not None:
            step = steps[index]
            break
    assert found is not None
    if step.contract.locality is Locality.MODULE:
        return _skip(subject, "the whole module decides")
    if step.inserted:
        return _skip(subject, "prepared module is ill-formed")
    if complaint(variation.module) is not None:
        return _skip(subject, "varied module is ill-formed")
    if subject.incomparable:  # asked last: it costs several runs
        return _skip(subject, subject.incomparable)
    before, after = found
    evidence = Evidence(
        "not-local",
        f"another result {variation.change.words}",
        expected="what the pass makes of the function without the change",
        observed=f"{describe(before, after)} on {variation.call}\n{text_difference(before, after)}",
    )
    return Verdict(OracleName.LOCALITY, Outcome.FAIL, step.ref.name, evidence=evidence)


def _differing(subject: Subject, given: Any, before: Any, after: Any, variation: Variation) -> tuple[Any, Any] | None:
    return differing(given, before, after, variation.roots, variation.fixed, _made(subject, variation))


def _skip(subject: Subject, reason: str) -> Verdict:
    return Verdict(OracleName.LOCALITY, Outcome.SKIP, subject.judged, reason)
