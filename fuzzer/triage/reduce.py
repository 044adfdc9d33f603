"""Reduce a failing case: confirm it, make it smaller, and step back to the smallest case that holds.

``relaxfuzz minimize``, the pytest plugin and the triage of a campaign's findings all go this way;
:class:`ReductionPlan` says what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzzer.core.case import Case
from fuzzer.core.module_file import ModuleFileError, read_module
from fuzzer.core.verb import UsageError
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.criterion import RUNS, Confirmation, Criterion, OracleCriterion, isolated_worker
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.judge.pool import JudgePool, tries_for
from fuzzer.minimizer.search.outcome import Minimized, SearchLimits
from fuzzer.minimizer.search.search import Search
from fuzzer.worker.worker import DEFAULT_TIME_LIMIT
from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

_STEPS_BACK = 3
"""Larger cases on the way that are tried when the smallest one is not accepted."""


class NotReduced(UsageError):
    """A case that cannot be minimized; the message is one line for the user.

    Attributes:
        confirmation: How often it showed in fresh processes; ``None`` where it could not be judged.
    """

    def __init__(self, message: str, confirmation: Confirmation | None = None) -> None:
        super().__init__(message)
        self.confirmation = confirmation


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """The way to minimize.

    Attributes:
        limits: When to stop.
        workers: Processes that judge at the same time; the result does not depend on it.
        start: A smaller case to start from, as an earlier run has left it.
        save: Is given the case that the search begins with, and each new best one at once.
        stop: Says that the search is to end with what it has.
        runs: Fresh processes that confirm a case.
        accept: Says whether a case is to be reported, the smallest one first.  With it, as in a campaign, every run
            must show the failure; without it, a case will do that shows it now and then.
    """

    limits: SearchLimits = field(default_factory=SearchLimits)
    workers: int = 1
    start: Case | None = None
    save: Callable[[Case], None] | None = None
    stop: Callable[[], bool] | None = None
    runs: int = RUNS
    accept: Callable[[str, Case, Confirmation], bool] | None = None


@dataclass(frozen=True, slots=True)
class Reduced:
    """A case before and after minimization.

    Attributes:
        criterion: What both show.
        minimized: Outcome of the search.
        bindings_before: Bindings of the given module.
        bindings: Bindings of the smaller one; ``None`` when they cannot be counted.
        script: The smaller module as TVMScript.
        before: How often the given case showed it in fresh processes.
        after: How often the smaller one did.
        notes: What people should know.
    """

    criterion: Criterion
    minimized: Minimized
    bindings_before: int | None
    bindings: int | None
    script: str
    before: Confirmation
    after: Confirmation
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The failing verdict on the smaller case; ``None`` for the user's own criterion."""
        return self.after.verdict

    @property
    def flaky(self) -> bool:
        """Say whether the failure does not show every time."""
        return not self.before.confirmed

    def to_object(self) -> dict[str, Any]:
        """Return what ``relaxfuzz minimize --json`` prints of it."""
        found = self.minimized
        return {
            "signature_id": self.criterion.id, "signature": self.criterion.text,
            "culprit": self.verdict.culprit if self.verdict else "",
            "passes": [ref.expression for ref in found.case.passes],
            "bindings_before": self.bindings_before or 0, "bindings": self.bindings or 0, "queries": found.queries,
            "seconds": round(found.seconds, 3), "complete": found.complete,
            "stopped_by": None if found.stopped is None else found.stopped.value, "flaky": self.flaky,
            "rate": str(self.before), "rate_of_result": str(self.after), "steps": list(found.steps),
            "others": [{"id": other.failing.id, "signature": other.failing.text} for other in found.others],
            "notes": list(self.notes), "module": self.script,
        }  # fmt: skip


def reduce(case: Case, criterion: Criterion, plan: ReductionPlan) -> Reduced:
    """Minimize a case without losing what the criterion says of it.

    First it is judged in fresh processes.  Where it does not fail in each of them, a candidate is judged in so many
    that one which fails as often would not be missed (``fuzzer.minimizer.judge.pool``): what is accepted has shown the
    failure, so that the result is sound, however rarely it shows it.

    Raises:
        NotReduced: It does not fail (with ``accept``: not every time), or its module cannot be taken apart.
    """
    notes: list[str] = []
    begun, before = _first(case, criterion, plan, notes)
    if plan.save is not None:
        plan.save(begun)
    patient = criterion
    if plan.accept is None:
        patient = criterion.patient(before.seconds)
        if patient is not criterion:
            spent = f"{before.seconds:.0f} s"
            notes.append(f"one run takes {spent}, close to the time limit: candidates may take four times as long")
        if not before.confirmed:
            notes.append(f"flaky: it was reproduced in {before} in fresh processes; each candidate is run in several")
    elif criterion.is_near(before.seconds):
        notes.append(f"a run takes {before.seconds:.0f} s, near the limit of {criterion.seconds:g} s")
    found = _search(case, begun, patient, before, plan, notes)
    if found.complete and found.queries and not found.steps:
        notes.append(f"no {'' if begun is case else 'further '}reduction was accepted: {found.unreduced}")
    kept, after = _step_back(case, begun, found, patient, before, plan)
    if kept != found.case:
        if plan.accept is None:
            notes.append("the smallest case does not fail in a fresh process: the last one that does is kept")
        found = replace(found, case=kept)
    with criterion.workers() as worker:
        judge = Judge(worker, ())
        sizes = [None if facts is None else facts.bindings for facts in map(judge.facts, (case, kept))]
        text = judge.ask(script_request, kept.module_json)
    script = text if isinstance(text, str) else "# TVM cannot print this module"
    return Reduced(criterion, found, sizes[0], sizes[1], script, before, after, tuple(notes))


def _first(case: Case, criterion: Criterion, plan: ReductionPlan, notes: list[str]) -> tuple[Case, Confirmation]:
    """Return the case that the search begins with, and how often it shows the failure.

    With ``accept`` one run says whether there is something to minimize: what is reported is confirmed in all of them.
    """
    until = plan.runs if plan.accept is None else min(1, plan.runs)
    if plan.start is not None:
        before = criterion.confirm(plan.start, plan.runs, until=until)
        if before.hits:
            return plan.start, before
        if plan.accept is None:
            notes.append("the saved case no longer fails: starting again")
    before = criterion.confirm(case, plan.runs, until=until)
    if not before.hits:
        before = criterion.confirm(case, plan.runs, begun=before)
        why = before.problem or "the failure does not recur in a fresh process; nothing to minimize"
        raise NotReduced(why, before)
    return case, before


def _search(
    case: Case, begun: Case, criterion: Criterion, before: Confirmation, plan: ReductionPlan, notes: list[str]
) -> Minimized:
    tries = 1 if plan.accept is not None else tries_for(before.rate)
    with JudgePool(criterion.new_judge, plan.workers, signature=criterion.id, tries=tries) as pool:
        with pool.judge() as judge:
            facts, started = judge.facts(case), judge.facts(begun)
        if facts is None or started is None:
            if plan.accept is None:
                raise NotReduced(f"the module cannot be taken apart: {judge.trouble or 'the process died'}")
            notes.append("not minimized: the module cannot be taken apart")
            return Minimized(begun, reproduced=True)
        return Search(
            begun, criterion.id, pool.failures, pool.propose,
            replace(facts, digest=started.digest, hazards=facts.hazards | started.hazards),
            enter=None if before.verdict is None else pool.enter, numeric=criterion.guarded,
            limits=criterion.limits(plan.limits), tasks=pool.tasks, save=plan.save, stop=plan.stop,
        ).run()  # fmt: skip


def _step_back(
    case: Case, begun: Case, found: Minimized, criterion: Criterion, before: Confirmation, plan: ReductionPlan
) -> tuple[Case, Confirmation]:
    """Return the smallest accepted case on the way, at the full time limit; else the one that was begun with."""
    if plan.accept is None:
        runs = criterion.least_runs if before.confirmed else max(RUNS, tries_for(before.rate))
        for smaller in found.steps_back():
            after = criterion.confirm(smaller, runs)
            if after.hits:
                return smaller, after
        return begun, before
    for name, smaller in zip(("minimized", *("larger",) * _STEPS_BACK), found.steps_back(), strict=False):
        if smaller is case:
            break
        after = criterion.confirm(smaller, plan.runs)
        if plan.accept(name, smaller, after):
            return smaller, after
    after = criterion.confirm(case, plan.runs, begun=before if begun is case else None)
    if after.confirmed:
        plan.accept("original", case, after)
    return case, after


def reduce_case(
    case: Case,
    verdict: Verdict,
    limits: SearchLimits | None = None,
    seconds: float = DEFAULT_TIME_LIMIT,
    smaller: Iterable[Case] = (),
) -> Reduced:
    """Minimize a case that failed with ``verdict``, from the first of some smaller ones that fails in the same way.

    Raises:
        NotReduced: It does not fail again.
    """
    criterion = OracleCriterion(verdict, seconds=seconds)

    def alike(other: Case) -> bool:
        try:
            return any(signature(each).id == criterion.id for each in failures(other, verdict.oracle, seconds))
        except NotReduced:
            return False

    start = next(filter(alike, smaller), None)
    return reduce(case, criterion, ReductionPlan(limits or SearchLimits(), start=start))


def read_request(path: str) -> str | ModuleFileError:
    """Read the module of a file as JSON, or say why there is none; runs in a worker."""
    try:
        return read_module(path)
    except ModuleFileError as error:
        return error


def script_request(module_json: str) -> str:
    """Print a module as TVMScript; runs in a worker."""
    from tvm_ffi.serialization import from_json_graph_str

    from fuzzer.repro.module.tvmscript import readable  # loads TVM

    return readable(from_json_graph_str(module_json))


def case_of_file(path: Path, passes: tuple[PassRef, ...], input_seed: int = 0) -> Case:
    """Return a case from a file with a module, read in an isolated process.

    Raises:
        ModuleFileError: There is no usable module in it.
    """
    with isolated_worker() as worker:
        answer = Judge(worker, ()).ask(read_request, str(path.resolve()))
    if isinstance(answer, ModuleFileError):
        raise answer
    if not isinstance(answer, str):
        raise ModuleFileError(f"reading '{path}' ended the process")
    return Case(answer, passes, input_seed)


def failures(case: Case, oracle: OracleName | None = None, seconds: float = DEFAULT_TIME_LIMIT) -> list[Verdict]:
    """Return the failing verdicts on a case, judged in an isolated process, of one oracle or of all.

    A death of the process counts as the crash oracle's, and is listed for any oracle: it hides what that one says.
    Raises ``NotReduced`` where it cannot be judged at all.
    """
    with isolated_worker() as worker:
        judge = Judge(worker, () if oracle is None else (oracle,), seconds)
        found = judge.verdicts(case)
    if not found and judge.trouble:
        raise NotReduced(f"the case cannot be judged: {judge.trouble}")
    return found
