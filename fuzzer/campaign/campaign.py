"""A campaign: shards and triage handed to the workers, results recorded by one writer, until the budget is spent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any

from fuzzer.campaign.known_filter import KnownFilter
from fuzzer.campaign.progress import Clock, Progress
from fuzzer.campaign.write_buffer import WriteBuffer
from fuzzer.cluster.executor import CampaignStopped, Executor, ExecutorError, ExecutorFactory, LocalExecutor
from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.findings.file import Decisions, KnownFindings
from fuzzer.findings.signature import signature
from fuzzer.shard.draw import SHARD_EXAMPLES
from fuzzer.shard.guidance import BLINDLY, Guide
from fuzzer.shard.shard import TRIAGE, ShardTask
from fuzzer.store.known import as_reviewed, recognize
from fuzzer.store.records import CampaignState, FindingState, ShardResult, SignatureHits
from fuzzer.store.writer import Store, StoreError
from fuzzer.triage.finding import TriageJob, TriageResult, TriageState
from fuzzer.triage.reduce import ReductionPlan

GRACE_SHARE = 0.1
GRACE_SECONDS = 15.0
"""After the time is spent, triage may still take so much, to end what it has begun; a resume looks into the rest."""
MOST_TRIAGE = 0.5
"""Share of the workers that triage may take while there are shards to run."""
STOP_SECONDS = 3.0
"""How long Ctrl-C waits for the cases at hand, before they are killed and left for a resume."""
LOG_NAME = "workers.log"
_STATES = {
    TriageState.CONFIRMED: FindingState.CONFIRMED,
    TriageState.UNSCRIPTED: FindingState.UNSCRIPTED,
    TriageState.FLAKY: FindingState.FLAKY,
    TriageState.GONE: FindingState.FLAKY,
}


def grace(config: Config) -> float:
    """Return the seconds that triage may take after modules have been generated for the time asked for."""
    return max(GRACE_SECONDS, GRACE_SHARE * (config.seconds or 0.0))


class Campaign:
    """One session of a campaign.

    Args:
        store: Opened for writing.
        config: What to do.
        progress: Is told what happens.
        known: Findings that are listed as known.
        decisions: Which families findings are in, where people know better than the rule.
        executor: Makes what runs shards and triage; the isolated workers of this machine where nothing is said.
        guide: Has seen all that is recorded; ``None``: everything is drawn blindly.
        triage: Seconds for triage alone: no shard is run, and what the campaign says of its state stays.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        progress: Progress,
        known: KnownFindings | None = None,
        decisions: Decisions | None = None,
        executor: ExecutorFactory | None = None,
        guide: Guide | None = None,
        triage: float | None = None,
    ) -> None:
        self.store = store
        self.config = config
        self.progress = progress
        self.clock = Clock(store.info().elapsed_seconds)
        self._stop = threading.Event()
        self._cut = threading.Event()  # shards under way end where they are
        self._done = store.shards()
        self._settled = 0  # all shards below this number are recorded to their end
        self._rest: list[ShardTask] = []  # what deaths left of shards
        self._guide = guide
        self._held = False  # the next shard waits for others to be recorded
        self._deadline = None if config.seconds is None else max(config.seconds, self.clock.elapsed())
        self._grace = grace(config)
        self._generates = triage is None
        if triage is not None:
            self._deadline, self._grace = self.clock.elapsed(), triage
        progress.until = self._deadline
        progress.latest = None if self._deadline is None else self._deadline + self._grace
        self._recognizer = KnownFilter(store, known, decisions)
        self._buffer = WriteBuffer(store)
        self._weights: dict[str, tuple[bool, int, str]] = {}  # of findings that wait
        shelve = self._recognizer.shelve
        self._waiting = [self._turn(*each) for each in store.untriaged() if not shelve(each[1])]
        self._running: dict[Future[Any], str] = {}  # of ShardResult or TriageResult
        self._looked_into: set[str] = set()  # handed to triage in this session
        self._best: dict[str, Case] = {}  # of findings in triage, not yet recorded; filled by its threads
        log = store.directory / LOG_NAME
        begin = LocalExecutor if executor is None else executor
        self._executor: Executor = begin(config, store.directory, log, self._stop, self._cut)

    def stop(self) -> None:
        """End soon: what shards under way have judged is recorded, the rest of them is left for a resume."""
        self._stop.set()
        self._cut.set()

    def run(self) -> CampaignState:
        """Work until the budget is spent (``FINISHED``) or :meth:`stop` (``INTERRUPTED``).

        Raises:
            StoreError: when nothing can be recorded any more; what was recorded is kept.
            fuzzer.worker.worker.ChildError: an error of this program.
        """
        if self._generates:
            workers = str(self._executor.workers)
            self.store.set_meta(state=CampaignState.RUNNING, workers=workers, budget=self.config.budget_text)
        shards = self._shards()
        state = CampaignState.INTERRUPTED
        try:
            while not self._stop.is_set():
                if self._time_is_up(0.0):
                    self._cut.set()
                self._fill(shards)
                # What triage has begun when the grace is over is left for a resume: the finding stays new.
                if set(self._running.values()) <= {"triage"} and (not self._running or self._time_is_up(self._grace)):
                    state = CampaignState.FINISHED
                    break
                self._collect()
            if state is CampaignState.INTERRUPTED:
                self._record_rest()
        finally:
            self.stop()
            self._executor.kill()
            self._executor.close()
            self.progress.end()
            self._finish(state)
        return state

    def _record_rest(self) -> None:
        """Record what the shards under way have judged; they end with the case at hand, or are killed in it."""
        shards = [future for future, what in self._running.items() if what == "shard"]
        wait(shards, timeout=STOP_SECONDS)
        self._executor.kill()
        for future in wait(shards, timeout=STOP_SECONDS).done:
            try:
                result = future.result()
            except (CampaignStopped, ExecutorError):
                continue
            if isinstance(result, ShardResult):
                self._record_shard(result)
        self._write()

    def _finish(self, state: CampaignState) -> None:
        try:
            self._write()  # of an error that ended the loop
            self._save_best()
            if self._generates:
                self.store.set_meta(state=state, elapsed=f"{self.clock.elapsed():.3f}")
        except StoreError:
            if state is CampaignState.FINISHED:  # else the error that ended the loop is the one to tell
                raise

    # -- handing out --------------------------------------------------------------------------------------------

    def _shards(self) -> Iterator[ShardTask | None]:
        """Yield the shards still to be run, in order; ``None`` where those that guide the next one are not recorded."""
        number = 0
        most = self.config.max_examples
        while most is None or number * SHARD_EXAMPLES < most:
            if (first := self._done.get(number, 0)) < (limit := self._limit(number)):
                while self._guide is not None and not self._guide.ready(number, self._settle()):
                    yield None
                yield self._task(number, first, limit)
            number += 1

    def _task(self, number: int, first: int, limit: int) -> ShardTask:
        guidance = BLINDLY if self._guide is None else self._guide.before(number)
        return ShardTask(self.config, number, first, limit, self._recognizer.ids, guidance)

    def _fill(self, shards: Iterator[ShardTask | None]) -> None:
        while len(self._running) < self._executor.slots and not self._stop.is_set():
            shards_left = not self._cut.is_set()
            if (finding := self._next_triage(shards_left)) is not None:
                self._running[self._executor.triage(self._job(finding))] = "triage"
                continue
            task = (self._rest.pop() if self._rest else next(shards, None)) if shards_left else None
            self._held = task is None and shards_left
            if task is not None:
                self._running[self._executor.shard(task)] = "shard"
                continue
            # No shard is to be had: whatever still waits may take every worker.
            if (finding := self._next_triage(False)) is None:
                return
            self._running[self._executor.triage(self._job(finding))] = "triage"

    def _turn(self, shard: int, finding_id: str) -> tuple[bool, bool, int, str, int, str]:
        """When a finding is looked into: of a user's pass, new, perhaps known, known; of each the gravest first."""
        if finding_id not in self._weights:
            finding = self.store.finding(finding_id)
            known = recognize([finding], KnownFindings()).get(finding_id)
            told = 0 if known is None else 1 + known.certain
            theirs = all(finding.culprit != ref.name for ref in self.config.user_passes)
            self._weights[finding_id] = theirs, told, finding.assessment.severity.value
        return finding_id in self._recognizer.likely, *self._weights[finding_id], shard, finding_id

    def _next_triage(self, shards_left: bool) -> str | None:
        """The finding to look into now: of those whose case no longer changes, as all shards before them are done."""
        busy = sum(what == "triage" for what in self._running.values())
        if shards_left and busy >= max(1, int(self._executor.workers * MOST_TRIAGE)):
            return None
        # Of the first shard that is not complete all pieces so far are recorded, in order.
        final = not shards_left and busy == len(self._running)
        settled = self._settle()
        ready = [each for each in self._waiting if final or (not each[0] and each[-2] <= settled)]
        if not ready or self._time_is_up(self._grace):
            return None
        self._waiting.remove(first := min(ready))
        self._looked_into.add(first[-1])
        return first[-1]

    def _settle(self) -> int:
        while self._done.get(self._settled, 0) >= self._limit(self._settled):
            self._settled += 1
        return self._settled

    def _limit(self, number: int) -> int:
        """Examples of a shard; the last one of a campaign of so many examples may have fewer."""
        most = self.config.max_examples
        return SHARD_EXAMPLES if most is None else max(1, min(SHARD_EXAMPLES, most - number * SHARD_EXAMPLES))

    def _time_is_up(self, grace: float) -> bool:
        return self._deadline is not None and self.clock.elapsed() >= self._deadline + grace

    # -- recording ----------------------------------------------------------------------------------------------

    def _job(self, finding_id: str) -> TriageJob:
        finding = self.store.finding(finding_id)
        config = self.config
        save = partial(self._best.__setitem__, finding.id)
        plan = ReductionPlan(start=finding.minimized, save=save, stop=self._stop.is_set)
        return TriageJob(
            finding.id, finding.signature, finding.verdict, finding.case, self.store.directory.resolve(), plan,
            config.case_timeout, config.memory_limit,
        )  # fmt: skip

    def _collect(self) -> None:
        done, _ = wait(self._running, timeout=self.progress.interval, return_when=FIRST_COMPLETED)
        for future in done:
            del self._running[future]
            try:
                result = future.result()
            except CampaignStopped:
                continue
            if isinstance(result, ShardResult):
                self._record_shard(result)
            else:
                self._record_triage(result)
        if self._buffer.due or self._held or "shard" not in self._running.values():
            self._write()
        self._save_best()
        triage = sum(what == "triage" for what in self._running.values())
        self.progress.show(self.clock.elapsed(), waiting=len(self._waiting) + triage, judged=self._executor.judged)

    def _save_best(self) -> None:
        """Record how far the minimizations under way have come."""
        for finding_id in list(self._best):
            self.store.save_best(finding_id, self._best.pop(finding_id))

    def _record_shard(self, result: ShardResult) -> None:
        if result.stop == result.first:
            return  # ended before anything was judged
        self._buffer.add(result)
        if result.stop < (limit := self._limit(result.number)):
            self._rest.append(self._task(result.number, result.stop, limit))
        if self._buffer.due:
            self._write()

    def _write(self) -> bool:
        """Record the results that wait, and say whether there were any; only what triage can read there is done."""
        entry = self._buffer.write(self.clock.elapsed())
        if entry is None:
            return False
        for result in entry.results:
            self._done[result.number] = result.stop
            if self._guide is not None:
                self._guide.note(result.number, result.entered)
        for finding_id in entry.fresh:
            self._recognizer.shelve(finding_id)
        # An earlier shard may have taken a finding over: the waiting list follows what the store says.
        if entry.total.hits:
            untriaged = self.store.untriaged()
            self._waiting = [self._turn(*each) for each in untriaged if each[1] not in self._looked_into]
        self.progress.shard(entry.total, list(entry.fresh))
        return True

    def _record_triage(self, result: TriageResult) -> None:
        state, note = _STATES[result.state], result.note
        finding = self.store.finding(result.id)
        listed = "" if state is FindingState.FLAKY else self._recognizer.listed(finding, result.traits)
        if listed:
            state, note = FindingState.KNOWN, "; ".join([listed, *([note] if note else [])])
        if finding.count == 0:
            note = "; ".join(["found while another finding was minimized", *([note] if note else [])])
        self.store.save_triage(
            result.id, state, result.minimized, result.bindings, result.repro, note, result.traits, result.seconds,
            result.parts, as_reviewed(result.of(finding)),
        )  # fmt: skip
        self._record_met(result)
        self.store.spend({(TRIAGE, ""): result.seconds})
        self.progress.triaged(result.id, state)

    def _record_met(self, result: TriageResult) -> None:
        """Other failures that a minimization met become findings, looked into when all that were drawn are."""
        verdicts = [other.failing.verdict for other in result.others]
        hits = [
            SignatureHits.of(signature(verdict), verdict, other.case, 0, 0)
            for other, verdict in zip(result.others, verdicts, strict=True)
            if verdict is not None
        ]
        fresh = self.store.record_met(result.id, hits, self.clock.elapsed())
        self._waiting += [self._turn(*each) for each in fresh if not self._recognizer.shelve(each[1])]
        self.progress.met([hit for hit in hits if hit.signature.id in {finding_id for _, finding_id in fresh}])
