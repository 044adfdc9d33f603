"""A failure whose culprit is sought, as the rules see it, and what of another module or another error is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tvm
from tvm import relax

from fuzzer.core.case import Case
from fuzzer.findings.signature import normalise
from fuzzer.minimizer.judge.judge import judge_request
from fuzzer.repro.checks.check import FailingCase
from fuzzer.worker.child import breadcrumb
from oracles.core.evidence import evidence_of, unbuildable
from oracles.core.function_signatures import mistyped_call
from oracles.core.module_facts import apply, complaint, reloads
from oracles.core.verdict import SYMBOL, Evidence, Notation, Verdict
from relaxkit.ir.call_types import stale_call
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.walk import expressions_in, operator_of, places
from relaxkit.passes.contract import OracleName, Trait
from relaxkit.passes.contracts import the_pass
from relaxkit.passes.pass_ref import Step
from relaxkit.passes.plan import preparing
from relaxkit.runtime.run import session

UNBUILT = frozenset({"does-not-build", "run-error"})
SIGNATURE = "signature"
CONTRADICTION = relax.analysis.BaseCheckResult.FAIL_L0


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


def shows(module: Any, evidence: Evidence) -> bool:
    """Say whether a module has what was observed, or does not build with an error of the same place and words."""
    if evidence.details.notation is Notation.JSON:
        return not reloads(module)
    if (found := complaint(module)) is None:
        try:
            session().build(module)
            return False
        except Exception as error:
            found = unbuildable(evidence_of(error)) if evidence.kind == "does-not-build" else evidence_of(error)
    words = [(normalise(each.message), each.details.subject.startswith(SYMBOL)) for each in (found, evidence)]
    return words[0] == words[1] and (found.kind, found.frames[:1]) == (evidence.kind, evidence.frames[:1])


def same(left: Evidence, right: Evidence) -> bool:
    """Say whether two errors are one; of those of C++ containers no place is known."""
    placed = left.frames and right.frames and left.frames[0].startswith("src/")
    if left.kind != right.kind or placed:
        return left.kind == right.kind and left.frames[0] == right.frames[0]
    return normalise(left.message) == normalise(right.message)


def unsound(module: Any) -> bool:
    """Say whether TVM's checker objects to a module, a call does not fit its function, or a cast cannot succeed."""
    if complaint(module) is not None or mistyped_call(module) is not None or stale_call(module):
        return True
    casts = [place.binding for _, function in relax_functions(module) for place in places(function)]
    return any(
        relax.analysis.type_base_check(cast.ty, cast.value.ty) == CONTRADICTION
        for cast in casts
        if isinstance(cast, relax.MatchCast)
    )


def misread(module: Any) -> set[str]:
    """Return the names of what is read by values of another type than their variables have, casts apart."""
    found = [place for _, function in relax_functions(module) for place in places(function)]
    bound = (each for each in found if not isinstance(each.binding, relax.MatchCast))
    values = (each.value for each in bound if not each.var.ty.is_base_of(each.value.ty))
    return {str(var.name) for value in values for var in relax.analysis.free_vars(value)}


def made_by(trait: Trait, module: Any) -> Any:
    """Return what the pass of a trait makes of a module; ``None`` where it raises."""
    return apply(getattr(relax.transform, the_pass(trait))(), module).module


def calls_in(module: Any) -> list[Any]:
    """Return the calls of operators in a module."""
    return [*filter(operator_of, expressions_in(module))]
