"""Postcondition oracle: did the pass do what it says?"""

from __future__ import annotations

from oracles.contract import Ran
from oracles.crash import without_output
from oracles.facts import load
from oracles.given import NotLiteral, arguments_of
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed


def judge(subject: Subject) -> Verdict:
    """Ask every postcondition of every step; the first step that breaks one is to blame."""
    if (skip := without_output(OracleName.POSTCONDITION, subject)) is not None:
        return skip
    if not output_is_well_formed(subject):
        return _skip(subject, "output is ill-formed")
    steps = subject.plan.steps
    if not any(step.contract.postconditions for step in steps):
        return _skip(subject, "no postcondition")
    for index, step in enumerate(steps):
        if not step.contract.postconditions:
            continue
        before = load(subject.before) if index == 0 else subject.input_of(index)
        if before is None:
            return _skip(subject, "input cannot be reloaded")
        try:
            arguments = arguments_of(step.ref.expression)
        except NotLiteral:
            arguments = {}
        ran = Ran(before, subject.chain[index].module, arguments)
        for postcondition in step.contract.postconditions:
            if said := postcondition.violation(ran):
                evidence = Evidence(
                    "not-done", f"{postcondition.claim}: {said}", expected=postcondition.claim, observed=said
                )
                return Verdict(OracleName.POSTCONDITION, Outcome.FAIL, step.ref.name, evidence=evidence)
    return Verdict(OracleName.POSTCONDITION, Outcome.PASS, subject.judged)


def _skip(subject: Subject, reason: str) -> Verdict:
    return Verdict(OracleName.POSTCONDITION, Outcome.SKIP, subject.judged, reason)
