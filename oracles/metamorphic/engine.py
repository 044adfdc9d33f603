"""The engine under the metamorphic oracles: run passes again, compare, leave out what is incomparable, blame a step.

What the relations are is in the table ``oracles.metamorphic.relations``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import tvm

from oracles.core.applicability import Failure, Inapplicable, oracle
from oracles.core.module_facts import Result, equal
from oracles.core.subject import Subject
from oracles.core.verdict import Details, Evidence, Phase, Verdict
from relaxkit.ir.equality import describe, text_difference
from relaxkit.passes.contract import EvidenceClass, OracleName
from relaxkit.passes.contracts import is_users

_NO_DETAILS = Details()


class Disagreement(enum.Enum):
    """The ways in which a second run disagrees with the first."""

    RAISED = "raised"  # it raised, and the first did not, or raised something else
    HEALED = "healed"  # only the first raised
    ILL_FORMED = "ill-formed"  # it gave an ill-formed module
    UNEQUAL = "not-equal"  # it gave another module


@dataclass(frozen=True, slots=True)
class Rerun:
    """Two runs of passes that must agree.

    Attributes:
        again: Result of the second; a complaint of the checker's may stand beside an ill-formed module.
        details: What the second run differs in.
        compared: Whether the modules must be equal.
        blame: Finds the pass at fault; by default it is the one under judgement.
    """

    first: Result
    again: Result
    details: Details = _NO_DETAILS
    compared: bool = True
    blame: Callable[[], str] | None = None

    @property
    def modules(self) -> tuple[tvm.IRModule, tvm.IRModule]:
        """The two modules whose difference is shown."""
        return self.first.module, self.again.module

    @property
    def how(self) -> str:
        """The difference of the second run, in words."""
        return self.details.variation or self.details.circumstance

    @property
    def parts(self) -> str:
        """The kinds of parts in which the two modules differ."""
        return describe(*self.modules)

    @property
    def diff(self) -> str:
        """The difference of their texts."""
        return text_difference(*self.modules)

    def rests_on(self, found: Disagreement) -> EvidenceClass | None:
        """Return what a disagreement rests on, where its kind does not tell."""
        return None

    def culprit(self, subject: Subject) -> str:
        """Return the pass to blame for a disagreement."""
        return self.blame() if self.blame is not None else subject.judged

    def equal(self) -> bool:
        """Compare what the two runs gave."""
        return equal(*self.modules)

    def disagreement(self) -> Disagreement | None:
        """Return how the second run disagrees, if it does."""
        if self.again.error is not None:
            return Disagreement.RAISED if self.again.module is None else Disagreement.ILL_FORMED
        if self.first.error is not None:
            return Disagreement.HEALED
        return Disagreement.UNEQUAL if self.compared and not self.equal() else None


class EvidenceTemplate(NamedTuple):
    """The evidence of one disagreement.

    Attributes:
        message: Template of the message: ``str.format`` over ``run`` and the ``error`` of one of the two runs.
        expected: Template of what was expected.
        observed: Template of what was seen.
        unless: What makes it say nothing: functions of subject and run that return the reason, asked in order.
        kind: The kind of the evidence, where it is not that of the error or the disagreement.
    """

    message: str
    expected: str
    observed: str
    unless: tuple[Callable[[Subject, Any], str], ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """One row of the table: two runs of passes that must agree.

    Attributes:
        oracle: The oracle under whose name the verdicts are counted.
        unless: What makes a subject unsuitable: functions that return the reason, asked in order.
        reruns: Makes the second runs, one after the other; raises ``Inapplicable`` where there is none to make.
        evidence: The evidence of each disagreement; that of ``RAISED`` serves for ``HEALED`` where that is not listed.
    """

    oracle: OracleName
    unless: tuple[Callable[[Subject], str], ...]
    reruns: Callable[[Subject], Iterator[Rerun]]
    evidence: Mapping[Disagreement, EvidenceTemplate]

    def judge(self, subject: Subject) -> Verdict:
        """Return the verdict on a subject: the first disagreement that nothing excludes fails it."""
        return oracle(self.oracle)(self._examine)(subject)

    def _examine(self, subject: Subject) -> Failure | None:
        Inapplicable.raise_first(reason(subject) for reason in self.unless)
        for run in self.reruns(subject):
            if (found := run.disagreement()) is not None:
                template = self.evidence.get(found) or self.evidence[Disagreement.RAISED]
                Inapplicable.raise_first(reason(subject, run) for reason in template.unless)
                culprit = run.culprit(subject)
                evidence = _evidence(template, run, found)
                if any(step.ref.name == culprit and is_users(step.ref) for step in subject.plan.steps):
                    # What no contract speaks of is a note, so the user's contract promises this.
                    promised = replace(evidence.details, rests_on=EvidenceClass.DOCUMENTED)
                    evidence = replace(evidence, details=promised)
                return culprit, evidence
        return None


def _evidence(template: EvidenceTemplate, run: Rerun, found: Disagreement) -> Evidence:
    error = run.again.error or run.first.error or Evidence(found.value, "")
    message, expected, observed = (each.format(run=run, error=error.message) for each in template[:3])
    stage = Phase.FIRST_RUN if found is Disagreement.HEALED else Phase.SECOND_RUN
    details = replace(
        run.details, stage=stage, error=error.message, subject=error.details.subject,
        raised_at=error.details.raised_at, lines=error.details.lines, functions=error.details.functions,
        rests_on=run.rests_on(found),
    )  # fmt: skip
    return Evidence(template.kind or error.kind, message, error.frames, expected, observed, details)
