"""Live progress: what a person at the terminal, or the log of a nightly job, sees of a running campaign."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TextIO

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar

from fuzzer.core.config import Config
from fuzzer.core.terminal import console_of, prose, table
from fuzzer.core.text import counted
from fuzzer.store.records import SUSPECTS, FindingState, ShardResult, SignatureHits
from oracles.core.verdict import Outcome

LOG_INTERVAL = 30.0
"""Seconds between two lines where no terminal is attached."""
_SHOWN = (Outcome.PASS, Outcome.FAIL, Outcome.SKIP, Outcome.REJECT)


class Progress:
    """Tells how far the campaign is.

    On a terminal a picture is redrawn in place; elsewhere one line is printed now and then.

    Attributes:
        interval: Seconds between two looks at the workers.
        until: Campaign time at which modules are no longer generated; ``None`` where no time is set.
        latest: Campaign time at which triage ends; ``None`` where no time is set.
    """

    interval = 0.5

    def __init__(
        self,
        config: Config,
        stream: TextIO | None = None,
        before: int = 0,
        found: Mapping[str, FindingState] | None = None,
    ) -> None:
        """Begin after ``before`` cases of earlier sessions, which have ``found`` signatures, by id."""
        self._config = config
        self._before = before
        self._stream = sys.stderr if stream is None else stream
        console = console_of(self._stream)
        self._live = (
            Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
            if self._stream.isatty() and console.is_interactive
            else None
        )
        self._by_oracle: dict[str, Counter[str]] = {}
        self._silent: Counter[str] = Counter()
        self._examples = 0
        self._findings = {name for name, state in (found or {}).items() if state not in SUSPECTS}
        self._settled = Counter((found or {}).values())
        self.until = config.seconds
        self.latest: float | None = None
        self._began = time.monotonic()
        self._next = self._began + LOG_INTERVAL if self._live is None else 0.0

    def shard(self, result: ShardResult, fresh: list[str]) -> None:
        """A shard, or the total of several, was recorded; ``fresh`` are the ids of new findings."""
        self._examples += result.examples
        self._findings.update(fresh)
        for (oracle, _, outcome, reason), count in result.tallies.items():
            self._by_oracle.setdefault(oracle, Counter())[outcome] += count
            if reason:
                self._silent[f"{oracle}: {reason}"] += count
        self._tell([result.hits[finding_id] for finding_id in fresh])

    def met(self, hits: list[SignatureHits]) -> None:
        """New findings that a minimization met were recorded."""
        self._findings.update(hit.signature.id for hit in hits)
        self._tell(hits)

    def _tell(self, hits: list[SignatureHits]) -> None:
        for found in (hit.signature for hit in hits):
            self._say(f"finding {found.id}: {found.oracle}: {found.culprit}: {found.kind}")

    def triaged(self, finding_id: str, state: FindingState) -> None:
        """A finding was looked into."""
        self._settled[state] += 1
        if state in SUSPECTS:
            self._findings.discard(finding_id)

    def show(self, elapsed: float, waiting: int, judged: int = 0) -> None:
        """Show where the campaign stands after ``elapsed`` s.

        ``waiting`` findings are in triage or before it, and ``judged`` cases of shards under way are not recorded yet.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (LOG_INTERVAL if self._live is None else self.interval)
        suspects = sum(self._settled[state] for state in SUSPECTS)
        unproven = f"{suspects} suspect, " if suspects else ""
        cases = self._before + self._examples + judged
        share = cases / (self._config.max_examples or 1) if self.until is None else elapsed / max(self.until, 1e-9)
        pace = f"{(cases - self._before) / max(now - self._began, 1e-9):.0f}/s"
        if share >= 1.0:  # nothing but triage is left
            done = self._settled.total() - self._settled[FindingState.NEW]
            pace = f"{done} of {done + waiting} triaged"
        head = (
            f"{self._when(elapsed)}  {cases} cases, {pace}  {counted(len(self._findings), 'finding')} "
            f"({self._settled[FindingState.CONFIRMED]} confirmed, {unproven}{waiting} in triage)"
        )
        if self._live is None:
            self._say(head)
            return
        rows = [(oracle, *(counts[each.value] for each in _SHOWN)) for oracle, counts in self._by_oracle.items()]
        silent = [(count, reason) for reason, count in self._silent.most_common(3)]
        bar = ProgressBar(1.0, min(share, 1.0), width=60)
        tables = ((("oracle", *(each.value for each in _SHOWN)), rows), (("count", "not judged"), silent))
        parts = [table(heads, cells) for heads, cells in tables if cells]
        self._draw(lambda live: live.update(Group(prose(head), bar, *parts), refresh=True))

    def end(self) -> None:
        """The campaign is over: leave the terminal as it is wanted for the summary."""
        self._draw(Live.stop)

    def _when(self, elapsed: float) -> str:
        if self.until is None:
            return f"{_clock(elapsed)} (limit: {self._config.max_examples} cases)"
        if elapsed < self.until or self.latest is None:
            return f"{_clock(elapsed)}/{_clock(self.until)}"
        return f"{_clock(elapsed)}, generated for {_clock(self.until)}, triage ends by {_clock(self.latest)}"

    def _say(self, line: str) -> None:
        self._draw(lambda live: live.console.print(prose(line)), f"{line}\n")

    def _draw(self, drawn: Callable[[Live], None], text: str = "") -> None:
        if not logging.getLogger("relaxfuzz").isEnabledFor(logging.INFO):
            return
        try:
            if self._live is None:
                self._stream.write(text)
                self._stream.flush()
            else:
                self._live.start()
                drawn(self._live)
        except (OSError, ValueError):  # a closed terminal must not end a campaign that runs for a night
            self._live = None


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Clock:
    """Counts on from what earlier sessions spent."""

    def __init__(self, before: float = 0.0) -> None:
        self._origin = time.monotonic() - before

    def elapsed(self) -> float:
        """Seconds of all sessions."""
        return time.monotonic() - self._origin
