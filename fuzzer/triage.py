"""Triage of a finding in one go: confirm, minimize, render the repro script, run it."""

from __future__ import annotations

import enum
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.confirm import Confirmation, WorkerFactory, confirm
from fuzzer.families import UNKNOWN, Traits
from fuzzer.hangs import KIND, is_hang, search_limits, search_seconds
from fuzzer.minimizer.criteria import NEAR
from fuzzer.minimizer.judging import (
    DEFAULT_MEMORY,
    DEFAULT_SECONDS,
    Judge,
    dies_running,
    judging_oracles,
    values_matter,
)
from fuzzer.minimizer.search import Limits, Minimized, Other, minimize
from fuzzer.repro import check_repro
from fuzzer.repro_search import NEAREST_SECONDS, nearest_passing
from fuzzer.traits import find_traits

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from fuzzer.isolation import IsolatedWorker
    from fuzzer.repro_nearest import Nearest
    from oracles.passref import PassRef
    from oracles.verdict import Verdict

REPRO_DIRECTORY = "repros"
MOST_OTHERS = 3
"""Other failures that a minimization met and that are handed on: more of them are seldom more defects."""
_RENDER_SECONDS = 120.0
_STEPS_BACK = 3
"""Larger cases on the way that are tried when no script shows the smallest one."""
_SAID = 300


class TriageState(str, enum.Enum):
    """What triage found out."""

    CONFIRMED = "confirmed"  # shows in every fresh process, and in its repro script
    UNSCRIPTED = "unscripted"  # shows in every fresh process, but no script shows it
    FLAKY = "flaky"  # shows in some fresh processes
    GONE = "gone"  # shows in no fresh process

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class TriageJob:
    """A finding to look into.

    Attributes:
        id: Id of its signature.
        signature: Its signature in one line, for the script's header.
        verdict: The failing verdict that was recorded.
        case: The case that showed it.
        directory: The campaign's directory; scripts go into ``repros/`` in it.
        runs: Fresh processes that must all show it.
        limits: Of the minimization.
        seconds: Time limit of one case.
        memory: Memory limit of a worker in bytes.
        nearest_seconds: How long the nearest module that passes is looked for; 0 for not at all.
        start: A smaller case, as an earlier session has left it.
        save: Is given each new best case at once.
        stop: Says that the minimization is to end with what it has.
    """

    id: str
    signature: str
    verdict: Verdict
    case: Case
    directory: Path
    runs: int = 3
    limits: Limits = field(default_factory=Limits)
    seconds: float = DEFAULT_SECONDS
    memory: int = DEFAULT_MEMORY
    nearest_seconds: float = NEAREST_SECONDS
    start: Case | None = None
    save: Callable[[Case], None] | None = None
    stop: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class TriageResult:
    """What triage gives back.

    Attributes:
        id: As in the job.
        state: See ``TriageState``.
        minimized: The smallest case whose script shows the finding; ``None`` when nothing was confirmed.
        bindings: Bindings of its module.
        repro: Path of the script relative to the campaign's directory; ``None`` when none shows the finding.
        note: What people should know: the rate of a flaky finding, what was not possible.
        others: Other failures that the search met, under the same passes, each a finding of its own.
        queries: Cases judged while minimizing.
        seconds: Wall time of all of it.
        steps: The accepted reductions.
        traits: Where it shows first, and what the minimized module is made of.
    """

    id: str
    state: TriageState
    minimized: Case | None = None
    bindings: int | None = None
    repro: str | None = None
    note: str = ""
    others: tuple[Other, ...] = ()
    queries: int = 0
    seconds: float = 0.0
    steps: tuple[str, ...] = ()
    traits: Traits = UNKNOWN


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """What :func:`render_request` renders; ``nearest`` is the nearest module that passes."""

    case: Case
    verdict: Verdict
    signature: str
    nearest: Nearest | None = None


def render_request(request: RenderRequest) -> str:
    """Runs in a worker: the text of a repro script."""
    from fuzzer.repro import render_repro

    return render_repro(request.case, request.verdict, request.signature, request.nearest)


def default_workers() -> Any:
    """A worker with the defaults of ``fuzzer.isolation``."""
    from fuzzer.isolation import IsolatedWorker

    return IsolatedWorker()


def triage_finding(job: TriageJob, worker_factory: WorkerFactory = default_workers) -> TriageResult:
    """Confirm, minimize, render and check one finding; never raises for what TVM does."""
    with worker_factory() as worker:
        return _Triage(job, worker_factory, worker).run()


class _Triage:
    """Fresh processes, one a run, confirm; all else is done in one worker: a new one costs more than most questions."""

    def __init__(self, job: TriageJob, worker_factory: WorkerFactory, worker: IsolatedWorker) -> None:
        self.job = job
        self.workers = worker_factory
        self.worker = worker
        self.oracles = judging_oracles(job.verdict)
        self.started = time.monotonic()
        self.notes: list[str] = []

    def run(self) -> TriageResult:
        # One run says whether there is something to minimize.  What is reported is confirmed in all of them: the
        # smallest case, or this one where no smaller one is.
        first = self._confirm(self.job.case, until=min(1, self.job.runs))
        if not first.confirmed:
            return self._unreliable(self._confirm(self.job.case, begun=first))
        if first.seconds > NEAR * self.job.seconds and not is_hang(self.job.verdict):
            self.notes.append(f"a run takes {first.seconds:.0f} s, near the limit of {self.job.seconds:g} s")
        found = self._minimize()
        for what, case in zip(("minimized", *("larger",) * _STEPS_BACK), found.steps_back(), strict=False):
            if case is self.job.case:
                break
            path = self._script(case, what, self._confirm(case))
            if path is not None:
                return self._result(TriageState.CONFIRMED, case, path, found)
        confirmation = self._confirm(self.job.case, begun=first)
        if not confirmation.confirmed:
            return self._unreliable(confirmation)
        path = self._script(self.job.case, "original", confirmation)
        if path is not None:
            return self._result(TriageState.CONFIRMED, self.job.case, path, found)
        return self._result(TriageState.UNSCRIPTED, found=found, note="no script shows it")

    def _unreliable(self, confirmation: Confirmation) -> TriageResult:
        state = TriageState.FLAKY if confirmation.hits else TriageState.GONE
        return self._result(state, note=f"came back in {confirmation} in fresh processes")

    def _confirm(self, case: Case, begun: Confirmation | None = None, until: int | None = None) -> Confirmation:
        job = self.job
        return confirm(
            case, job.id, self.workers, job.runs, oracles=self.oracles, seconds=job.seconds, memory=job.memory,
            recorded=job.verdict, begun=begun, until=until,
        )  # fmt: skip

    def _judge(self, seconds: float) -> Judge:
        return Judge(self.worker, self.oracles, seconds, self.job.memory)

    def _minimize(self) -> Minimized:
        job = self.job
        limits = search_limits(job.verdict, job.limits)
        judge = self._judge(search_seconds(job.verdict, job.seconds))
        facts = judge.facts(job.case)
        if facts is None:
            self.notes.append("not minimized: the module cannot be taken apart")
            return Minimized(job.case, reproduced=True)
        numeric = values_matter(job.verdict)
        begun = job.case
        if job.start is not None and self._still_fails(judge, job.start):
            smaller = judge.facts(job.start)
            begun, facts = job.start, replace(facts, digest="" if smaller is None else smaller.digest)
        found = minimize(
            begun, job.id, judge.failures, judge.propose, facts,
            numeric=numeric, limits=limits, save=job.save, stop=job.stop,
        )  # fmt: skip
        if not found.complete:
            self.notes.append(f"minimization stopped at its limit after {found.queries} queries")
        return replace(found, others=self._worth(judge, facts.hazards, found.others))

    def _still_fails(self, judge: Judge, case: Case) -> bool:
        return any(failing.id == self.job.id for failing in judge.failures(case))

    def _worth(self, judge: Judge, hazards: frozenset[str], others: tuple[Other, ...]) -> tuple[Other, ...]:
        """The other failures that may be findings.

        Not those of shorter pipelines, which nobody would run so, and no hangs: the search's limit is a short one. Nor
        where arguments were drawn for the module as it was: they may ask for a function that a candidate has dropped.
        Nor wrong values where an edit may have led an operator out of its domain, and no death of a program that runs:
        a recursion may have lost its end.
        """
        if not all(_fits_any_module(ref) for ref in self.job.case.passes):
            return ()
        kept = [
            other
            for other in others
            if other.case.passes == self.job.case.passes
            and other.failing.verdict is not None
            and other.failing.verdict.evidence is not None
            and other.failing.verdict.evidence.kind not in (KIND, "memory")
            and not dies_running(other.failing.verdict)
            and (not values_matter(other.failing.verdict) or self._is_safe(judge, hazards, other.case))
        ]
        return tuple(kept[:MOST_OTHERS])

    def _is_safe(self, judge: Judge, hazards: frozenset[str], case: Case) -> bool:
        facts = judge.facts(case)
        return facts is not None and facts.hazards <= hazards

    def _script(self, case: Case, what: str, confirmation: Confirmation) -> Path | None:
        """Write the script of ``case`` and run it; ``None`` unless both fresh processes and it show the finding."""
        if not confirmation.confirmed or confirmation.verdict is None:
            self.notes.append(f"{what} case: came back in {confirmation}")
            return None
        judge = self._judge(self.job.seconds)
        nearest = nearest_passing(case, confirmation.verdict, judge, self.job.nearest_seconds)
        judge.seconds = _RENDER_SECONDS
        request = RenderRequest(case, confirmation.verdict, self.job.signature, nearest)
        text = judge.ask(render_request, request)
        if not isinstance(text, str):
            self.notes.append(f"{what} case: rendering the script failed: {judge.trouble or text}")
            return None
        path = self.job.directory / REPRO_DIRECTORY / f"{self.job.id}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        result = check_repro(path)
        if result.refutes_nearest:
            plain = judge.ask(render_request, replace(request, nearest=None))
            if isinstance(plain, str):
                write_atomically(path, plain)
                result = check_repro(path)
        if result.confirmed:
            return path
        if result.exit_code == 2 and "C++ compiler" in result.output:
            self.notes.append("the script was not run: plain relax.build needs a C++ compiler")
            return path
        self.notes.append(f"{what} case: the script ended with {result.exit_code}, saying: {result.said[:_SAID]}")
        path.unlink(missing_ok=True)
        return None

    def _result(
        self,
        state: TriageState,
        case: Case | None = None,
        path: Path | None = None,
        found: Minimized | None = None,
        note: str = "",
    ) -> TriageResult:
        bindings, traits = None, UNKNOWN
        if case is not None:
            judge = self._judge(self.job.seconds)
            facts = judge.facts(case)
            traits = find_traits(judge, case, self.job.verdict)
            bindings = facts.bindings if facts is not None else None
        return TriageResult(
            self.job.id,
            state,
            case,
            bindings,
            None if path is None else path.relative_to(self.job.directory).as_posix(),
            "; ".join([*([note] if note else []), *self.notes]),
            found.others if found is not None else (),
            found.queries if found is not None else 0,
            time.monotonic() - self.started,
            found.steps if found is not None else (),
            traits,
        )


def _fits_any_module(ref: PassRef) -> bool:
    """Whether the text of a pass has no arguments but options, or is that of a stock pipeline or of the user's pass."""
    return (
        ref.is_user
        or ref.name.startswith("build:")
        or re.search(r"^(configured\()?[\w.]+\(\)", ref.expression) is not None
    )


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader never sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
