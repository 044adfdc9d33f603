"""A failure whose culprit is sought, as the rules see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuzzer.core.case import Case, load_module
from fuzzer.worker.child import breadcrumb
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence, Verdict
from relaxkit.passes.pass_ref import Step


@dataclass(frozen=True)
class FailedCase:
    """A failure whose culprit is sought.

    Attributes:
        subject: The minimized case, to be run.
        verdict: Its verdict.
        elementary: The most elementary pass at which the failure shows (``fuzzer.triage.traits``).
    """

    subject: Subject
    verdict: Verdict
    elementary: str = ""

    @classmethod
    def of(cls, case: Case, verdict: Verdict, elementary: str = "") -> FailedCase:
        """Load the case of a verdict."""
        breadcrumb("traits")
        return cls(Subject(load_module(case), case.passes, input_seed=case.input_seed), verdict, elementary)

    @property
    def evidence(self) -> Evidence:
        """What was observed."""
        return self.verdict.shown

    @cached_property
    def index(self) -> int | None:
        """The number of the step that is the judged pass, or runs it; ``None`` where none does."""
        steps = list(enumerate(self.subject.plan.steps))
        named = [index for index, step in steps if step.ref.name == self.verdict.culprit]
        return next(iter([*named, *(index for index, step in steps if step.contract.composed)]), None)

    @property
    def step(self) -> Step:
        """That step; only where there is one, like what is below."""
        return self.subject.plan.steps[self.number]

    @property
    def is_own(self) -> bool:
        """Whether no more elementary pass shows it."""
        return self.elementary in ("", self.step.ref.name)

    @property
    def number(self) -> int:
        """Its number."""
        assert self.index is not None
        return self.index

    @property
    def built(self) -> Any:
        """The pass of that step."""
        return self.subject.built(self.number)

    @property
    def given(self) -> Any:
        """What that step is given."""
        return self.subject.input_of(self.number)

    @property
    def made(self) -> Any:
        """What that step makes, or the module of a case that has none; ``None`` where the pass raises."""
        return self.subject.module if self.index is None else self.subject.chain[self.index].module
