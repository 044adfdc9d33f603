"""Well-formedness oracle: TVM's checker, and the types that it does not compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from oracles.blame import inner_culprit
from oracles.facts import complaint
from oracles.plan import Step
from oracles.signature import changed_signature, contradicted_type
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict


def judge(subject: Subject) -> Verdict:
    """Judge the output's form, its functions' declared types and its public signatures.

    Only inputs that passed the same checks are judged (ill-formed inputs never come here). In a pipeline the
    blame goes to the first step whose output fails.
    """
    from oracles.crash import without_output

    if (skip := without_output(OracleName.WELL_FORMED, subject)) is not None:
        return skip
    if (found := _defect(subject, len(subject.plan.steps))) is None:
        return Verdict(OracleName.WELL_FORMED, Outcome.PASS, subject.judged)
    count = next(
        (count for count in range(1, len(subject.plan.steps)) if _defect(subject, count) is not None),
        len(subject.plan.steps),
    )
    found = _defect(subject, count) or found
    step = subject.plan.steps[count - 1]
    culprit = step.ref.name
    if step.contract.composed and found.kind == "ill-formed":
        culprit = inner_culprit(subject.built(count - 1), subject.input_of(count - 1), ill_formed=True) or culprit
    return Verdict(OracleName.WELL_FORMED, Outcome.FAIL, culprit, evidence=found)


def output_is_well_formed(subject: Subject) -> bool:
    """Whether the checker accepts the output, or objects only to what the contracts tolerate."""
    return tolerated(subject.output_complaint, subject.plan.steps)


def tolerated(found: Evidence | None, steps: Sequence[Step]) -> bool:
    """Whether there is no complaint, or one that a step's contract says the pass causes by design."""
    if found is None:
        return True
    patterns = [pattern for step in steps for pattern in step.contract.tolerated_ill_formedness]
    return any(re.search(pattern, found.message) for pattern in patterns)


def _defect(subject: Subject, count: int) -> Evidence | None:
    """What is wrong with the module after ``count`` steps."""
    steps = subject.plan.steps[:count]
    module: Any = subject.chain[count - 1].module
    last = count == len(subject.plan.steps)
    found = subject.output_complaint if last else complaint(module)
    if not tolerated(found, steps):
        return found
    if (contradiction := contradicted_type(subject.module, module)) is not None:
        return contradiction
    if all(step.contract.keeps_public_signatures for step in steps):
        return changed_signature(subject.module, module)
    return None
