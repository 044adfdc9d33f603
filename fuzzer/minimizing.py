"""What the verbs ``minimize`` and ``repro`` do, apart from reading their arguments and printing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.confirm import Confirmation
from fuzzer.minimizer.criteria import RUNS, Criterion, OracleCriterion
from fuzzer.minimizer.judges import Judges, tries_for
from fuzzer.minimizer.judging import DEFAULT_SECONDS, Judge, judging_oracles
from fuzzer.minimizer.search import Limits, Minimized, minimize
from fuzzer.module_file import ModuleFileError, read_module
from fuzzer.repro import ReproResult, check_repro
from fuzzer.repro_search import nearest_passing
from fuzzer.triage import RenderRequest, render_request, write_atomically

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.passref import PassRef
    from oracles.verdict import OracleName, Verdict


class NotReduced(Exception):
    """A case that cannot be minimized; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to minimize.

    Attributes:
        limits: When to stop.
        workers: Processes that judge at the same time; the result does not depend on it.
        start: A smaller case to start from, as an earlier run has left it.
        save: Is given the case that the search begins with, and each new best one at once.
    """

    limits: Limits = field(default_factory=Limits)
    workers: int = 1
    start: Case | None = None
    save: Callable[[Case], None] | None = None


@dataclass(frozen=True, slots=True)
class Reduced:
    """A case before and after minimization.

    Attributes:
        signature: Id of the signature that both show.
        signature_text: The signature as one line.
        verdict: The failing verdict on the smaller case; ``None`` for the user's own criterion.
        minimized: Outcome of the search.
        bindings_before: Bindings of the given module.
        bindings: Bindings of the smaller one.
        script: The smaller module as TVMScript.
        before: How often the given case showed it in fresh processes.
        after: How often the smaller one did.
        notes: What people should know.
    """

    signature: str
    signature_text: str
    verdict: Verdict | None
    minimized: Minimized
    bindings_before: int
    bindings: int
    script: str
    before: Confirmation
    after: Confirmation
    notes: tuple[str, ...] = ()

    @property
    def culprit(self) -> str:
        """Name of the pass that is to blame; empty for the user's own criterion."""
        return "" if self.verdict is None else self.verdict.culprit

    @property
    def flaky(self) -> bool:
        """Whether the failure does not show every time."""
        return not self.before.confirmed

    def to_object(self) -> dict[str, Any]:
        """What ``relaxfuzz minimize --json`` prints of it."""
        found = self.minimized
        return {
            "signature_id": self.signature, "signature": self.signature_text, "culprit": self.culprit,
            "passes": [ref.expression for ref in found.case.passes],
            "bindings_before": self.bindings_before, "bindings": self.bindings, "queries": found.queries,
            "seconds": round(found.seconds, 3), "complete": found.complete,
            "stopped_by": None if found.stopped is None else found.stopped.value, "flaky": self.flaky,
            "rate": str(self.before), "rate_of_result": str(self.after), "steps": list(found.steps),
            "others": [{"id": other.failing.id, "signature": other.failing.text} for other in found.others],
            "notes": list(self.notes), "module": self.script,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, or why there is none (one line for the user)."""

    value: Any = None
    problem: str = ""


def read_request(path: str) -> Answer:
    """Runs in a worker: the module of a file as JSON."""
    try:
        return Answer(read_module(path))
    except ModuleFileError as error:
        return Answer(problem=str(error))


def script_request(module_json: str) -> str:
    """Runs in a worker: a module as TVMScript."""
    from tvm_ffi.serialization import from_json_graph_str

    return str(from_json_graph_str(module_json).script(show_meta=True))


def case_of_file(path: Path, passes: tuple[PassRef, ...], input_seed: int = 0) -> Case:
    """A case from a file with a module, read in an isolated process.

    Raises:
        ModuleFileError: There is no usable module in it.
    """
    from fuzzer.cases import Case
    from fuzzer.isolation import IsolatedWorker

    with IsolatedWorker() as worker:
        answer = Judge(worker, ()).ask(read_request, str(path.resolve()))
    if not isinstance(answer, Answer):
        raise ModuleFileError(f"reading '{path}' ended the process")
    if answer.problem:
        raise ModuleFileError(answer.problem)
    return Case(answer.value, passes, input_seed)


def failures(case: Case, oracle: OracleName | None = None, seconds: float = DEFAULT_SECONDS) -> list[Verdict]:
    """Failing verdicts on a case, judged in an isolated process, of one oracle or of all.

    A death of the process counts as the crash oracle's, and is listed for any oracle: it hides what that one says.
    Raises ``NotReduced`` where it cannot be judged at all.
    """
    from fuzzer.isolation import IsolatedWorker

    with IsolatedWorker() as worker:
        judge = Judge(worker, () if oracle is None else (oracle,), seconds)
        found = judge.verdicts(case)
    if not found and judge.trouble:
        raise NotReduced(f"the case cannot be judged: {judge.trouble}")
    return found


def reduce_case(
    case: Case, verdict: Verdict, limits: Limits | None = None, seconds: float = DEFAULT_SECONDS
) -> Reduced:
    """Minimize a case that failed with ``verdict``; raises ``NotReduced``."""
    return reduce(case, OracleCriterion(verdict, seconds), Plan(limits or Limits()))


def reduce(case: Case, criterion: Criterion, plan: Plan) -> Reduced:
    """Minimize a case without losing what the criterion says of it.

    First it is judged in three fresh processes. Where it does not fail in each of them, a candidate is judged in so
    many that one which fails as often would not be missed (``fuzzer.minimizer.judges``): what is accepted has shown the
    failure, so that the result is sound, however rarely it shows it.

    Raises:
        NotReduced: It does not fail at all, or its module cannot be taken apart.
    """
    notes: list[str] = []
    begun, before = case, None
    if plan.start is not None:
        before = criterion.confirm(plan.start)
        begun = plan.start if before.hits else case
        if not before.hits:
            notes.append("what was saved does not fail any more: begun anew")
    if before is None or not before.hits:
        before = criterion.confirm(case)
    if not before.hits:
        raise NotReduced(criterion.problem or "the failure does not come back in a fresh process; nothing to minimize")
    if plan.save is not None:
        plan.save(begun)
    patient = criterion.patient(before.seconds)
    if patient is not criterion:
        notes.append(f"one run takes {before.seconds:.0f} s, near the time limit: candidates are given four times that")
    if not before.confirmed:
        notes.append(f"flaky: it came back in {before} in fresh processes; each candidate is given several")
    found = _searched(begun, patient, before, plan)
    kept, after = _confirmed(found, begun, patient, before)
    if kept != found.case:
        notes.append("the smallest case does not fail in a fresh process: the last one that does is kept")
        found = replace(found, case=kept)
    sizes, script = _shown([case, kept])
    return Reduced(
        criterion.id, criterion.text, after.verdict, found, sizes[0], sizes[1], script, before, after, tuple(notes)
    )


def _searched(begun: Case, criterion: Criterion, before: Confirmation, plan: Plan) -> Minimized:
    from fuzzer.isolation import IsolatedWorker

    tries = tries_for(before.rate)
    make = partial(_judge, criterion)
    with Judges(make, plan.workers, signature=criterion.id, tries=tries) as judges:
        with IsolatedWorker() as worker:
            judge = criterion.judge(worker)
            facts = judge.facts(begun)
        if facts is None:
            raise NotReduced(f"the module cannot be taken apart: {judge.trouble or 'the process died'}")
        return minimize(
            begun, criterion.id, judges.failures, judges.propose, facts, numeric=criterion.guarded,
            limits=criterion.limits(plan.limits), tasks=judges.tasks, save=plan.save,
        )  # fmt: skip


def _judge(criterion: Criterion) -> Judge:
    from fuzzer.isolation import IsolatedWorker

    return criterion.judge(IsolatedWorker())


def _confirmed(found: Minimized, begun: Case, criterion: Criterion, before: Confirmation) -> tuple[Case, Confirmation]:
    """The smallest case on the way that shows it in a fresh process, at the full time limit."""
    least = 2 if criterion.numeric else 1  # of numeric findings the last run builds by another path
    runs = least if before.confirmed else max(RUNS, tries_for(before.rate))
    for case in found.steps_back():
        after = criterion.confirm(case, runs)
        if after.hits:
            return case, after
    return begun, before


def _shown(cases: Sequence[Case]) -> tuple[list[int], str]:
    """Bindings of each module, and the last one as TVMScript."""
    from fuzzer.isolation import IsolatedWorker

    with IsolatedWorker() as worker:
        judge = Judge(worker, ())
        facts = [judge.facts(case) for case in cases]
        script = judge.ask(script_request, cases[-1].module_json)
    sizes = [0 if item is None else item.bindings for item in facts]
    return sizes, script if isinstance(script, str) else "# TVM cannot print this module"


def repro_text(case: Case, verdict: Verdict, *, nearest: bool = True) -> str:
    """The repro script of a failing verdict on ``case``; raises ``RuntimeError`` when it cannot be rendered.

    ``nearest=False``: without the search for the nearest module that passes, which takes longer than all the rest.
    """
    from fuzzer.isolation import IsolatedWorker
    from fuzzer.signatures import signature

    name = signature(verdict)
    with IsolatedWorker() as worker:
        judge = Judge(worker, judging_oracles(verdict))
        last = judge.verdict(case, name.id) or verdict  # in the words of this case, where it still fails
        passing = nearest_passing(case, last, judge) if nearest else None
        judge.seconds = 120.0
        text = judge.ask(render_request, RenderRequest(case, last, name.text, passing))
    if not isinstance(text, str):
        raise RuntimeError(f"the script cannot be rendered: {judge.trouble or 'the process died'}")
    return text


def write_repro(text: str, path: Path, *, check: bool = False) -> ReproResult | None:
    """Write a script; with ``check``, run it in a fresh process and give the result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    return check_repro(path) if check else None
