"""Well-formedness oracle: TVM's checker, and the types that it does not compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import tvm

from oracles.core.applicability import Failure, Inapplicable, no_output, oracle, tolerated
from oracles.core.blame import first_step, inner_pass
from oracles.core.function_signatures import changed_signature, contradicted_type, mistyped_call
from oracles.core.module_facts import UNLISTED, complaint, has_unlisted_device
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence
from relaxkit.passes.contract import NumericCheck, OracleName, Trait
from relaxkit.passes.contracts import any_has
from relaxkit.passes.limits import Situation, reason_against
from relaxkit.passes.pass_ref import Step


@oracle(OracleName.WELL_FORMED)
def judge(subject: Subject) -> Failure | None:
    """Judge the output's form, its functions' declared types, its public signatures and calls between its functions.

    Only inputs that passed the same checks are judged (ill-formed inputs never come here). In a pipeline the
    blame goes to the first step whose output fails.
    """
    Inapplicable.raise_first([no_output(subject)])
    steps = subject.plan.steps
    if (found := _defect_of(subject.output.module, steps, subject)) is None:
        return None
    step, entered, hidden = steps[-1], subject.input_of(len(steps) - 1), False
    if subject.is_pipeline and (first := first_step(_defects(subject))) is not None:
        step, (entered, found, hidden) = steps[first[0]], first[1]
    if step.inserted:
        raise Inapplicable("prepared module is ill-formed")
    if found.kind != "ill-formed":
        return step.ref.name, found
    if hidden:
        # The checker stops at its first complaint.  That one is tolerated; what it says now may have been there, too.
        raise Inapplicable("tolerated complaint hides others")
    if step is not steps[0] and has_unlisted_device(entered):
        # UpdateVDevice leaves the old device in some types; the next pass that infers types afresh only shows that.
        raise Inapplicable(UNLISTED)
    given = subject.given_again(steps.index(step))
    inner = step.contract.composed and inner_pass(step.ref.build(), given, complaint)
    return inner or step.ref.name, found


def _defects(subject: Subject) -> Iterator[tuple[tvm.IRModule, Evidence, bool] | None]:
    """Yield for each step its input, what is wrong with its output, and whether a tolerated complaint stood before."""
    complained = False
    for index, entered, result in subject.retrace():
        if result.error is not None:
            return
        found = _defect_of(result.module, subject.plan.steps[: index + 1], subject)
        yield None if found is None else (entered, found, complained)
        complained = complaint(result.module) is not None  # asked before the next step, which may write into it


def _defect_of(module: tvm.IRModule, steps: Sequence[Step], subject: Subject) -> Evidence | None:
    """Return what is wrong with the module that ``steps`` made of the subject's."""
    found = subject.output_complaint if module is subject.output.module else complaint(module)
    if not tolerated(found, steps):
        if reason := reason_against(NumericCheck.FORM, Situation(steps, subject.input_of, found, module)):
            raise Inapplicable(reason)
        return found
    if (contradiction := contradicted_type(subject.module, module)) is not None:
        return contradiction
    if any_has((step.contract for step in steps[:-1]), Trait.FORGETS_SHAPES):
        return None
    if all(step.contract.keeps_public_signatures for step in steps):
        changed = changed_signature(subject.module, module)
        if changed is not None and steps[-1].ref.is_user:
            # Passes of TVM may have types inferred afresh; what a user's pass keeps is in its contract.
            return replace(changed, details=replace(changed.details, rests_on=None))
        if changed is not None:
            return changed
    return mistyped_call(module) if all(step.contract.keeps_calls_fitting for step in steps) else None
