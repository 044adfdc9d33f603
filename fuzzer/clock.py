"""Campaign time: the wall time of all sessions together, in seconds."""

from __future__ import annotations

import time


class Clock:
    """Counts on from what earlier sessions spent."""

    def __init__(self, before: float = 0.0) -> None:
        self._origin = time.monotonic() - before

    def elapsed(self) -> float:
        """Seconds of all sessions."""
        return time.monotonic() - self._origin
