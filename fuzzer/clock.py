"""Time: that of a campaign, the wall time of all sessions together in seconds, and today's date."""

from __future__ import annotations

import datetime
import os
import time

TODAY = "RELAXFUZZ_TODAY"
"""Environment variable that stands for today's date, ``2027-03-01``: so a test need not wait for it."""


class Clock:
    """Counts on from what earlier sessions spent."""

    def __init__(self, before: float = 0.0) -> None:
        self._origin = time.monotonic() - before

    def elapsed(self) -> float:
        """Seconds of all sessions."""
        return time.monotonic() - self._origin


def today() -> datetime.date:
    """Today, in UTC; raises ``ValueError`` when :data:`TODAY` is set to something else than a date."""
    given = os.environ.get(TODAY)
    if given is None:
        return datetime.datetime.now(datetime.timezone.utc).date()
    try:
        return datetime.date.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{TODAY} is '{given}', not a day such as 2027-03-01") from None
