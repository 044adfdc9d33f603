"""Well-formedness oracle: TVM's checker, and the types that it does not compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from oracles.blame import inner_culprit
from oracles.facts import complaint
from oracles.plan import Step
from oracles.signature import changed_signature, contradicted_type, mistyped_call
from oracles.strange_devices import has_strange_device
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from releases.messages import newest

# It puts symbolic dims into a heap that type inference knows nothing of: a pass after it that infers types afresh finds
# ranks where shapes were (measured on DeadCodeElimination, LowerRuntimeBuiltin and LowerGPUIPCAllocStorage, which keep
# signatures at any other stage). At run time types of public functions no longer matter then.
_FORGETS_SHAPES = "VMShapeLower"


def judge(subject: Subject) -> Verdict:
    """Judge the output's form, its functions' declared types, its public signatures and calls between its functions.

    Only inputs that passed the same checks are judged (ill-formed inputs never come here). In a pipeline the
    blame goes to the first step whose output fails.
    """
    from oracles.crash import without_output

    if (skip := without_output(OracleName.WELL_FORMED, subject)) is not None:
        return skip
    if (found := _defect_of(subject.output.module, subject.plan.steps, subject)) is None:
        return Verdict(OracleName.WELL_FORMED, Outcome.PASS, subject.judged)
    step, entered = subject.plan.steps[-1], subject.input_of(len(subject.plan.steps) - 1)
    hidden = complained = False
    for index, module, result in subject.retrace() if subject.is_pipeline else ():
        if result.error is not None:
            break
        if (first := _defect_of(result.module, subject.plan.steps[: index + 1], subject)) is not None:
            step, entered, found, hidden = subject.plan.steps[index], module, first, complained
            break
        complained = complaint(result.module) is not None  # asked before the next step, which may write into it
    if step.inserted:
        return Verdict(OracleName.WELL_FORMED, Outcome.SKIP, subject.judged, "prepared module is ill-formed")
    if found.kind == "ill-formed" and hidden:
        # The checker stops at its first complaint.  That one is tolerated; what it says now may have been there, too.
        return Verdict(OracleName.WELL_FORMED, Outcome.SKIP, subject.judged, "tolerated complaint hides others")
    if found.kind == "ill-formed" and step is not subject.plan.steps[0] and has_strange_device(entered):
        # UpdateVDevice leaves the old device in some types; the next pass that infers types afresh only shows that.
        return Verdict(OracleName.WELL_FORMED, Outcome.SKIP, subject.judged, "a device is not in the module's table")
    culprit = step.ref.name
    if step.contract.composed and found.kind == "ill-formed":
        culprit = inner_culprit(step.ref.build(), entered, ill_formed=True) or culprit
    return Verdict(OracleName.WELL_FORMED, Outcome.FAIL, culprit, evidence=found)


def output_is_well_formed(subject: Subject) -> bool:
    """Whether the checker accepts the output, or objects only to what the contracts tolerate."""
    return tolerated(subject.output_complaint, subject.plan.steps)


def tolerated(found: Evidence | None, steps: Sequence[Step]) -> bool:
    """Whether there is no complaint, or one that a step's contract says the pass causes by design."""
    if found is None:
        return True
    patterns = [pattern for step in steps for pattern in step.contract.tolerated_ill_formedness]
    return any(re.search(pattern, newest(found.message)) for pattern in patterns)


def _defect_of(module: Any, steps: Sequence[Step], subject: Subject) -> Evidence | None:
    """What is wrong with the module that ``steps`` made of the subject's."""
    found = subject.output_complaint if module is subject.output.module else complaint(module)
    if not tolerated(found, steps):
        return found
    if (contradiction := contradicted_type(subject.module, module)) is not None:
        return contradiction
    if any(step.ref.name == _FORGETS_SHAPES for step in steps[:-1]):
        return None
    if all(step.contract.keeps_public_signatures for step in steps):
        changed = changed_signature(subject.module, module)
        if changed is not None:
            return changed
    return mistyped_call(module) if all(step.contract.keeps_calls_fitting for step in steps) else None
