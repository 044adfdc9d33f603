"""Determinism oracle: does the same input give the same output?"""

from __future__ import annotations

from oracles.crash import without_output
from oracles.difference import describe, text_difference
from oracles.facts import Result, equal
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed

# True cases are random (order of hashed pointers), so that one repeat misses many.
REPEATS = 2


def judge(subject: Subject) -> Verdict:
    """Run the passes again on the same object, and on a copy that shares no object with it.

    Ill-formed outputs are not judged: dangling variables compare by identity, and were behind 198 of 204
    differences on the modules of TVM's own tests.
    """
    if (skip := without_output(OracleName.DETERMINISM, subject)) is not None:
        return skip
    if not output_is_well_formed(subject):
        return Verdict(OracleName.DETERMINISM, Outcome.SKIP, subject.judged, "output is ill-formed")
    if subject.modified:
        return Verdict(OracleName.DETERMINISM, Outcome.SKIP, subject.judged, "input was modified")
    if subject.agrees:
        return Verdict(OracleName.DETERMINISM, Outcome.PASS, subject.judged)
    if subject.ordered and (subject.is_pipeline or subject.contract.composed):
        return Verdict(OracleName.DETERMINISM, Outcome.SKIP, subject.judged, "order follows addresses")
    facts = subject.facts
    assert facts is not None
    reload = None if subject.ordered else facts.reload
    if reload is not None:
        subject.stage("determinism")
        if (failed := _compare(subject, subject.run(reload), "a reloaded copy of the input")) is not None:
            return failed
    # Each pass of a pipeline is repeated where it is judged alone; where the reload was compared, costly ones, too.
    spared = subject.is_pipeline or subject.costly
    for _ in range(int(reload is None) if spared else REPEATS):
        subject.stage("determinism")
        if (failed := _compare(subject, subject.run(facts.module), "the same input object")) is not None:
            return failed
    return Verdict(OracleName.DETERMINISM, Outcome.PASS, subject.judged)


def _compare(subject: Subject, again: Result, what: str) -> Verdict | None:
    first = subject.output.module
    if again.error is not None:
        error = again.error
        evidence = Evidence(
            error.kind, error.message, error.frames, "a module, as in the first run", f"an error on {what}"
        )
    elif equal(first, again.module):
        return None
    elif not subject.reloadable:
        return Verdict(
            OracleName.DETERMINISM, Outcome.SKIP, subject.judged, "output holds objects compared by identity"
        )
    else:
        evidence = Evidence(
            "not-equal",
            describe(first, again.module),
            expected="the module of the first run",
            observed=f"another module on {what}\n{text_difference(first, again.module)}",
        )
    return Verdict(OracleName.DETERMINISM, Outcome.FAIL, subject.judged, evidence=evidence)
