"""How many shards go to a Dask worker together: what a task costs the campaign's process does not grow with them."""

from __future__ import annotations

from collections import deque

TASKS = 4
"""Tasks a second that many workers are given together: each takes 2.5 ms of the campaign's process, whatever is in
it."""
LEAST_SECONDS = 1.0
MOST_SECONDS = 20.0
"""Of work in one task: about so much is judged again when its worker is lost."""
MOST_SHARDS = 32
_RECENT = 32


def aim(workers: int) -> float:
    """Seconds of work in one task, where there are so many workers."""
    return min(MOST_SECONDS, max(LEAST_SECONDS, workers / TASKS))


class Pace:
    """How long shards have taken lately, and how many to hand out together because of it.

    A few workers that judge a shard in some seconds are given one at a time; many of them, or fast ones, several.
    """

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_RECENT)

    def took(self, seconds: float) -> None:
        """A worker has judged a shard in so many seconds."""
        self._seconds.append(seconds)

    def size(self, workers: int) -> int:
        """Shards in one task, where there are so many workers; 1 until something is known."""
        if not self._seconds:
            return 1
        each = sum(self._seconds) / len(self._seconds)
        return max(1, int(min(MOST_SHARDS, aim(workers) / max(each, 1e-6))))
