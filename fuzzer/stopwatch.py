"""Where a worker's time goes: wall time by step, of which the breadcrumbs tell when each begins."""

from __future__ import annotations

import time
from collections.abc import Callable

from oracles.verdict import OracleName

DRAW, PREPARE, TRIAGE, OTHER = "draw", "prepare", "triage", "other"
"""Steps beside the oracles: drawing modules, passes that must run before the one under test, looking into findings,
and what is left (deaths and fresh processes, hangs until they are ended, transfer of results)."""

_STEPS = frozenset({str(name) for name in OracleName} | {DRAW, PREPARE})


class Stopwatch:
    """Takes the time from one step to the next.

    Args:
        tell: Is told of each step as well, for instance ``fuzzer.isolation.breadcrumb``.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        self._tell = tell
        self._seconds: dict[str, float] = {}
        self._step = ""
        self._since = 0.0

    def begin(self, stage: str) -> None:
        """The step that ``stage`` names begins, as ``oracle: pass``; the one before ends."""
        self._lap(step_of(stage))
        self._tell(stage)

    def take(self) -> tuple[tuple[str, float], ...]:
        """Seconds by step since the last call; the step at hand ends."""
        self._lap("")
        taken = tuple(sorted(self._seconds.items()))
        self._seconds.clear()
        return taken

    def _lap(self, step: str) -> None:
        now = time.monotonic()
        if self._step:
            self._seconds[self._step] = self._seconds.get(self._step, 0.0) + now - self._since
        self._step, self._since = step, now


def step_of(stage: str) -> str:
    """The step of a stage's text.

    What is done to the original module (``run original``, ``interpret``) is done for the numeric oracle.
    """
    word = stage.partition(":")[0].partition(" ")[0]
    return word if word in _STEPS else OracleName.NUMERIC.value
