"""Live progress: what a person at the terminal, or the log of a nightly job, sees of a running campaign."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import time
from collections import Counter
from typing import TextIO

from fuzzer.core.config import Config
from fuzzer.store.records import SUSPECTS, FindingState, ShardResult, SignatureHits
from oracles.core.verdict import Outcome

LOG_INTERVAL = 30.0
"""Seconds between two lines where no terminal is attached."""
_SHORT = {Outcome.PASS: "pass", Outcome.FAIL: "fail", Outcome.SKIP: "skip", Outcome.REJECT: "reject"}


class Progress:
    """Tells how far the campaign is.

    On a terminal a few lines are rewritten in place; elsewhere one line is printed now and then.

    Attributes:
        interval: Seconds between two looks at the workers.
    """

    interval = 0.5

    def __init__(self, config: Config, stream: TextIO | None = None) -> None:
        self._config = config
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._by_oracle: dict[str, Counter[str]] = {}
        self._silent: Counter[str] = Counter()
        self._examples = 0
        self._findings: set[str] = set()
        self._settled: Counter[FindingState] = Counter()
        self._drawn = 0  # lines on the terminal that the next picture replaces
        self._began = time.monotonic()
        self._next = 0.0 if self._live else self._began + LOG_INTERVAL

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
        self._next = now + (self.interval if self._live else LOG_INTERVAL)
        spent = max(now - self._began, 1e-9)
        suspects = sum(self._settled[state] for state in SUSPECTS)
        unproven = f"{suspects} suspect, " if suspects else ""
        cases = self._examples + judged
        head = (
            f"{_clock(elapsed)}/{self._budget()}  {cases} cases, {cases / spent:.0f}/s  "
            f"{len(self._findings)} findings "
            f"({self._settled[FindingState.CONFIRMED]} confirmed, {unproven}{waiting} in triage)"
        )
        if not self._live:
            self._write(f"{head}\n")
            return
        lines = [head]
        for oracle, counts in self._by_oracle.items():
            said = "  ".join(
                f"{_SHORT[outcome]} {counts[outcome.value]}" for outcome in _SHORT if counts[outcome.value]
            )
            lines.append(f"  {oracle:<12} {said}")
        lines += [f"  {count:>8} x {reason}" for reason, count in self._silent.most_common(3)]
        self._draw(lines)

    def end(self) -> None:
        """The campaign is over: leave the terminal as it is wanted for the summary."""
        if self._live and self._drawn:
            self._draw([])

    def _budget(self) -> str:
        config = self._config
        return _clock(config.seconds) if config.seconds is not None else f"{config.max_examples} examples"

    def _say(self, line: str) -> None:
        if self._live and self._drawn:
            self._draw([])
        self._write(f"{self._fit(line)}\n" if self._live else f"{line}\n")

    def _draw(self, lines: list[str]) -> None:
        up = f"\x1b[{self._drawn}F" if self._drawn else ""
        self._write(f"{up}\x1b[J" + "".join(f"{self._fit(line)}\n" for line in lines))
        self._drawn = len(lines)

    def _fit(self, line: str) -> str:
        width = shutil.get_terminal_size((80, 24)).columns
        return line if len(line) < width else f"{line[: width - 2]}~"

    def _write(self, text: str) -> None:
        # A closed terminal must not end a campaign that runs for a night.
        if not logging.getLogger("relaxfuzz").isEnabledFor(logging.INFO):
            return
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


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
