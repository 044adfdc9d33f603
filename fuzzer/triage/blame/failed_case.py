"""A failure whose culprit is sought, as the rules see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tvm

from fuzzer.core.case import Case
from fuzzer.minimizer.judge.judge import judge_request
from fuzzer.repro.checks.check import FailingCase
from fuzzer.worker.child import breadcrumb
from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import Step
from relaxkit.passes.plan import preparing


@dataclass(frozen=True)
class FailedCase(FailingCase):
    """A failure whose culprit is sought: a minimized case and its verdict.

    Attributes:
        elementary: The most elementary pass at which the failure shows (``fuzzer.triage.traits``).
    """

    elementary: str = ""

    def __post_init__(self) -> None:
        breadcrumb("traits")

    def alone(self, module: Any, culprit: str, *oracles: OracleName) -> Iterator[tuple[Case, Verdict]]:
        """Yield the case of a pass alone on another module, and how it fails there by some oracles."""
        case = Case(str(tvm.ir.save_json(module)), (preparing(culprit),), self.case.input_seed)
        return ((case, each) for each in judge_request(case, oracles) if each.evidence)

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
