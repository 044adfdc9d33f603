"""Triage of a finding in one go: confirm, minimize, render the repro script, run it."""

from __future__ import annotations

import enum
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.confirm import Confirmation, WorkerFactory, confirm
from fuzzer.hangs import search_limits, search_seconds
from fuzzer.minimizer.judging import DEFAULT_MEMORY, DEFAULT_SECONDS, Judge, judging_oracles
from fuzzer.minimizer.search import Limits, Minimized, minimize
from fuzzer.repro import check_repro

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import Verdict

REPRO_DIRECTORY = "repros"
_RENDER_SECONDS = 120.0
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
        others: Signature ids of other failures that the search met.
        queries: Cases judged while minimizing.
        seconds: Wall time of all of it.
        steps: The accepted reductions.
    """

    id: str
    state: TriageState
    minimized: Case | None = None
    bindings: int | None = None
    repro: str | None = None
    note: str = ""
    others: frozenset[str] = frozenset()
    queries: int = 0
    seconds: float = 0.0
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """What :func:`render_request` renders."""

    case: Case
    verdict: Verdict
    signature: str


def render_request(request: RenderRequest) -> str:
    """Runs in a worker: the text of a repro script."""
    from fuzzer.repro import render_repro

    return render_repro(request.case, request.verdict, request.signature)


def default_workers() -> Any:
    """A worker with the defaults of ``fuzzer.isolation``."""
    from fuzzer.isolation import IsolatedWorker

    return IsolatedWorker()


def triage_finding(job: TriageJob, worker_factory: WorkerFactory = default_workers) -> TriageResult:
    """Confirm, minimize, render and check one finding; never raises for what TVM does."""
    return _Triage(job, worker_factory).run()


class _Triage:
    def __init__(self, job: TriageJob, worker_factory: WorkerFactory) -> None:
        self.job = job
        self.workers = worker_factory
        self.oracles = judging_oracles(job.verdict)
        self.started = time.monotonic()
        self.notes: list[str] = []

    def run(self) -> TriageResult:
        confirmation = self._confirm(self.job.case)
        if not confirmation.confirmed:
            state = TriageState.FLAKY if confirmation.hits else TriageState.GONE
            return self._result(state, note=f"came back in {confirmation} in fresh processes")
        found = self._minimize()
        if found.case is not self.job.case:
            path = self._script(found.case, "minimized", self._confirm(found.case))
            if path is not None:
                return self._result(TriageState.CONFIRMED, found.case, path, found)
        path = self._script(self.job.case, "original", confirmation)
        if path is not None:
            return self._result(TriageState.CONFIRMED, self.job.case, path, found)
        return self._result(TriageState.UNSCRIPTED, found=found, note="no script shows it")

    def _confirm(self, case: Case) -> Confirmation:
        job = self.job
        return confirm(
            case, job.id, self.workers, job.runs, oracles=self.oracles, seconds=job.seconds, memory=job.memory,
            recorded=job.verdict,
        )  # fmt: skip

    def _minimize(self) -> Minimized:
        job = self.job
        limits = search_limits(job.verdict, job.limits)
        with self.workers() as worker:
            judge = Judge(worker, self.oracles, search_seconds(job.verdict, job.seconds), job.memory)
            facts = judge.facts(job.case)
            if facts is None:
                self.notes.append("not minimized: the module cannot be taken apart")
                return Minimized(job.case, reproduced=True)
            numeric = str(job.verdict.oracle) == "numeric"
            found = minimize(job.case, job.id, judge.signatures, judge.propose, facts, numeric=numeric, limits=limits)
        if not found.complete:
            self.notes.append(f"minimization stopped at its limit after {found.queries} queries")
        return found

    def _script(self, case: Case, what: str, confirmation: Confirmation) -> Path | None:
        """Write the script of ``case`` and run it; ``None`` unless both fresh processes and it show the finding."""
        if not confirmation.confirmed or confirmation.verdict is None:
            self.notes.append(f"{what} case: came back in {confirmation}")
            return None
        with self.workers() as worker:
            judge = Judge(worker, self.oracles, _RENDER_SECONDS, self.job.memory)
            text = judge.ask(render_request, RenderRequest(case, confirmation.verdict, self.job.signature))
        if not isinstance(text, str):
            self.notes.append(f"{what} case: rendering the script failed: {judge.trouble or text}")
            return None
        path = self.job.directory / REPRO_DIRECTORY / f"{self.job.id}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        result = check_repro(path)
        if result.confirmed:
            return path
        if result.exit_code == 2 and "C++ compiler" in result.output:
            self.notes.append("the script was not run: plain relax.build needs a C++ compiler")
            return path
        said = (result.output.strip().splitlines() or ["nothing"])[-1][:_SAID]
        self.notes.append(f"{what} case: the script ended with {result.exit_code}, saying: {said}")
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
        bindings = None
        if case is not None:
            with self.workers() as worker:
                facts = Judge(worker, self.oracles, self.job.seconds, self.job.memory).facts(case)
            bindings = facts.bindings if facts is not None else None
        return TriageResult(
            self.job.id,
            state,
            case,
            bindings,
            None if path is None else path.relative_to(self.job.directory).as_posix(),
            "; ".join([*([note] if note else []), *self.notes]),
            found.others if found is not None else frozenset(),
            found.queries if found is not None else 0,
            time.monotonic() - self.started,
            found.steps if found is not None else (),
        )


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader never sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
