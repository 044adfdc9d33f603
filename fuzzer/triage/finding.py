"""Triage of a campaign's finding in one go: confirm, minimize, render the repro script, run it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzzer.core.case import Case
from fuzzer.core.text import cut, enumerated
from fuzzer.findings.assessment import Assessment
from fuzzer.findings.family import UNKNOWN, Traits, placed
from fuzzer.findings.script_parts import ScriptParts
from fuzzer.minimizer.judge.criterion import Confirmation, OracleCriterion, WorkerFactory, isolated_worker
from fuzzer.minimizer.judge.judge import HANG, Judge, dies_running, values_matter
from fuzzer.minimizer.search.outcome import Minimized, Other
from fuzzer.repro.nearest.search import NEAREST_SECONDS
from fuzzer.store.door import SCRIPTS
from fuzzer.store.records import STOPPED, FindingRecord, FindingState
from fuzzer.triage.reduce import NotReduced, ReductionPlan, reduce
from fuzzer.triage.script import NoScript, write_checked
from fuzzer.triage.traits import find_traits, shown_by
from fuzzer.triage.weigh import accused, weigh
from fuzzer.worker.child import Elsewhere
from fuzzer.worker.worker import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT
from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.text_enum import TextEnum

MOST_OTHERS = 3
"""Other failures that a minimization met and that are handed on: more of them are seldom more defects."""
_SAID = 160


class TriageState(TextEnum):
    """The outcome of triage."""

    CONFIRMED = "confirmed"  # shows in every fresh process, and in its repro script
    UNSCRIPTED = "unscripted"  # shows in every fresh process, but a standalone script could not reproduce it
    FLAKY = "flaky"  # shows in some fresh processes
    GONE = "gone"  # shows in no fresh process


@dataclass(frozen=True, slots=True)
class TriageJob:
    """A finding to look into.

    Attributes:
        id: Id of its signature.
        signature: Its signature in one line, for the script's header.
        verdict: The failing verdict that was recorded.
        case: The case that showed it.
        directory: The campaign's directory; scripts go into ``repros/`` in it.
        plan: The way to minimize it; ``accept`` is for triage to say.
        seconds: Time limit of one case.
        memory: Memory limit of a worker in bytes.
        nearest_seconds: How long the nearest module that passes is looked for; 0 for not at all.
        place: Where the directories are made that scripts are run in; that of temporary files without it.
    """

    id: str
    signature: str
    verdict: Verdict
    case: Case
    directory: Path
    plan: ReductionPlan = field(default_factory=ReductionPlan)
    seconds: float = DEFAULT_TIME_LIMIT
    memory: int = DEFAULT_MEMORY_LIMIT
    nearest_seconds: float = NEAREST_SECONDS
    place: Path | None = None


@dataclass(frozen=True, slots=True)
class TriageResult:
    """The result of triage.

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
        parts: What the script is made of.
        assessment: How much it weighs; ``None`` where nothing was confirmed.
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
    parts: ScriptParts | None = None
    assessment: Assessment | None = None

    def of(self, finding: FindingRecord) -> FindingRecord:
        """Return the finding with what triage found, as far as it tells what is known of it."""
        state = FindingState.CONFIRMED if self.state is TriageState.CONFIRMED else finding.state
        return replace(
            finding, state=state, minimized=self.minimized, traits=self.traits, parts=self.parts,
            assessed=self.assessment,
        )  # fmt: skip


def triage_finding(job: TriageJob, worker_factory: WorkerFactory = isolated_worker) -> TriageResult:
    """Confirm, minimize, render and check one finding; never raises for what TVM does."""
    criterion = OracleCriterion(job.verdict, seconds=job.seconds, memory=job.memory, workers=worker_factory)
    with worker_factory() as worker:
        # One worker renders all scripts and answers all questions: a new one costs more than most of these.
        return _Triage(job, criterion, Judge(worker, criterion.oracles, job.seconds, job.memory)).run()


class _Triage:
    def __init__(self, job: TriageJob, criterion: OracleCriterion, judge: Judge) -> None:
        self.job = job
        self.criterion = criterion
        self.judge = judge
        self.path: Path | None = None  # of the script, once one shows the finding
        self.parts: ScriptParts | None = None
        self.traits = UNKNOWN
        self.assessment: Assessment | None = None
        self.notes: list[str] = []
        self.refused: dict[str, list[str]] = {}  # which cases no script was accepted of, by the reason

    def run(self) -> TriageResult:
        began, job = time.monotonic(), self.job
        try:
            reduced = reduce(job.case, self.criterion, replace(job.plan, save=self._save, accept=self._accept))
        except NotReduced as error:
            return self._unreliable(began, error.confirmation or Confirmation())
        found = reduced.minimized
        refused = [f"{enumerated([*dict.fromkeys(names)])} case: {why}" for why, names in self.refused.items()]
        limits = [] if found.complete or not found.queries else [f"{STOPPED} after {found.queries} queries"]
        self.notes = [*reduced.notes, *limits, *refused, *self.notes]
        if not reduced.after.confirmed:
            return self._unreliable(began, reduced.after)
        told = TriageResult(
            job.id, TriageState.UNSCRIPTED, others=self._findings(found), queries=found.queries, steps=found.steps,
            seconds=time.monotonic() - began, parts=self.parts,
            note="; ".join(["a standalone script could not reproduce it", *self.notes]),
        )  # fmt: skip
        if self.path is None:
            return told
        sized = self.judge.facts(self.parts.other[0]) if self.parts and self.parts.other else reduced
        return replace(
            told, state=TriageState.CONFIRMED, minimized=found.case, bindings=sized.bindings if sized else None,
            repro=self.path.relative_to(job.directory).as_posix(), note="; ".join(self.notes), traits=self.traits,
            assessment=self.assessment,
        )  # fmt: skip

    def _unreliable(self, began: float, confirmation: Confirmation) -> TriageResult:
        state = TriageState.FLAKY if confirmation.hits else TriageState.GONE
        note = "; ".join([f"reproduced in {confirmation} in fresh processes", *self.notes])
        return TriageResult(self.job.id, state, note=note, seconds=time.monotonic() - began)

    def _save(self, case: Case) -> None:
        if self.job.plan.save is not None and case is not self.job.case:
            self.job.plan.save(case)

    def _accept(self, name: str, case: Case, confirmation: Confirmation) -> bool:
        """Write the script of ``case`` and run it: both fresh processes and it must show the finding."""
        if not confirmation.confirmed or confirmation.verdict is None:
            return self._refuse(name, f"reproduced in {confirmation}")
        job = self.job
        self.traits = find_traits(self.judge, case, job.verdict)
        last = (case, confirmation.verdict)
        told = self._of_a_first_run(*last)
        at_fault = accused(self.judge, *told, self.traits)
        inside = at_fault.name == self.traits.culprit != told[1].culprit
        alone = shown_by(self.judge, case, confirmation.verdict, at_fault.name) if inside else []
        if not inside and at_fault.name != told[1].culprit and told[1].oracle is OracleName.WELL_FORMED:
            alone = [self.judge.ask(Elsewhere("fuzzer.triage.blame.inside", "inside_alone"), *told, at_fault.name)]
        inner = [small for each in alone for small in self._smaller(each)]
        if at_fault.name != told[1].culprit and confirmation.verdict.oracle is OracleName.NUMERIC:
            asked = Elsewhere("fuzzer.triage.blame.behind", "behind")
            inner += self._smaller(self.judge.ask(asked, case, confirmation.verdict, at_fault.name))
        # It may need less by itself than inside the pass that runs it, or behind another one.
        weighed = inner[0] if inner else told
        self.assessment, harm = weigh(self.judge, weighed[0], (job.case, job.verdict), weighed[1], at_fault)
        path = job.directory / SCRIPTS / f"{job.id}.py"
        self.traits = placed(self.traits, job.verdict, at_fault.name)
        try:
            for shown in (*harm, *inner, *([] if told == last else [told]), last):
                result, parts, why = write_checked(
                    self.judge, *shown, self.assessment, job.signature, path, job.nearest_seconds, job.place
                )
                if result.confirmed and not (why and shown != last):
                    break
        except NoScript as error:
            path.unlink(missing_ok=True)
            return self._refuse(name, f"rendering the script failed: {error.reason}")
        if result.exit_code == 2 and "C++ compiler" in result.output:
            self.notes.append("the script was not run: plain relax.build needs a C++ compiler")
        elif not result.confirmed:
            path.unlink(missing_ok=True)
            return self._refuse(name, f"the script exited with {result.exit_code} and printed: {result.said}")
        if why:
            self.notes.append(f"there is no short script: {cut(why, _SAID)}")
        self.path, self.parts = path, replace(parts, other=None if shown == last else shown)
        return True

    def _refuse(self, name: str, why: str) -> bool:
        self.refused.setdefault(cut(why, _SAID), []).append(name)
        return False

    def _of_a_first_run(self, case: Case, verdict: Verdict) -> tuple[Case, Verdict]:
        """Return the smallest case whose first run fails as a second one of ``case`` does; ``case`` without one."""
        asked = verdict.oracle is OracleName.IDEMPOTENCE
        found = self.judge.ask(Elsewhere("fuzzer.triage.questions", "first_run"), case, verdict) if asked else None
        return next(iter(self._smaller(found)), (case, verdict))

    def _smaller(self, found: Any) -> list[tuple[Case, Verdict]]:
        """Return a case that a worker has found to fail, as small as it gets; nothing where there is none."""
        if not isinstance(found, tuple):
            return []
        own, plan = self.criterion, replace(self.job.plan, start=None, save=None, runs=1)
        try:
            criterion = OracleCriterion(found[1], seconds=own.seconds, memory=own.memory, workers=own.workers)
            reduced = reduce(found[0], criterion, plan)
        except NotReduced:
            return []
        return [(reduced.minimized.case, reduced.verdict or found[1])]

    def _findings(self, found: Minimized) -> tuple[Other, ...]:
        """Return the other failures that may be findings.

        Not those of shorter pipelines, which nobody would run so, and no hangs: the search's limit is a short one. Nor
        where arguments were drawn for the module as it was: they may ask for a function that a candidate has dropped.
        Nor wrong values where an edit may have led an operator out of its domain, and no death of a program that runs:
        a recursion may have lost its end.
        """
        if not all(_fits_any_module(ref) for ref in self.job.case.passes):
            return ()
        kept = [
            other
            for other in found.others
            if other.case.passes == self.job.case.passes
            and other.failing.verdict is not None
            and other.failing.verdict.evidence is not None
            and other.failing.verdict.evidence.kind not in (HANG, "memory")
            and not dies_running(other.failing.verdict)
            and (not values_matter(other.failing.verdict) or self._is_safe(other.case))
        ]
        return tuple(kept[:MOST_OTHERS])

    def _is_safe(self, case: Case) -> bool:
        before, after = self.judge.facts(self.job.case), self.judge.facts(case)
        return before is not None and after is not None and after.hazards <= before.hazards


def _fits_any_module(ref: PassRef) -> bool:
    """Say whether the text of a pass has no arguments but options, or is a stock pipeline's or the user's pass."""
    from relaxkit.passes.arguments import has_options_alone  # loads TVM

    return ref.is_user or ref.name.startswith("build:") or has_options_alone(ref.expression)
