"""Breadcrumbs: what an isolated process was doing when it died, left where its parent can read it."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from fuzzer.shared_page import SharedPage

SIZE = 4096
_HEAD = struct.Struct("=ddII")
_ROOM = (SIZE - _HEAD.size) // 2
"""There are two places for a text: the old one stands until the new one does."""


@dataclass(frozen=True, slots=True)
class Crumb:
    """The last breadcrumb.

    Attributes:
        since: When the present case began, in seconds of the system's monotonic clock; 0 between cases.
        used: Seconds of processor time that the process had taken by then.
        stage: What the process was about to do, for instance ``idempotence: LegalizeOps``.
    """

    since: float
    used: float
    stage: str


class CrumbFile(SharedPage):
    """A page for the last breadcrumb."""

    SIZE = SIZE

    def __init__(self, descriptor: int | None = None) -> None:
        super().__init__(descriptor)
        self._since = self._used = 0.0
        self._place = 0

    def begin(self) -> None:
        """Start the clock of a case."""
        self._since, self._used = time.monotonic(), time.process_time()
        self.leave("")

    def end(self) -> None:
        """Stop the clock: nothing under a time limit runs."""
        self._since = 0.0
        self.leave("")

    def leave(self, stage: str) -> None:
        """Write what is about to be done."""
        text = stage.encode()[:_ROOM]
        self._place = 1 - self._place
        begin = _HEAD.size + self._place * _ROOM
        self._map[begin : begin + len(text)] = text
        self._map[: _HEAD.size] = _HEAD.pack(self._since, self._used, self._place, len(text))

    def read(self) -> Crumb:
        """The last breadcrumb."""
        since, used, place, length = _HEAD.unpack(self._map[: _HEAD.size])
        begin = _HEAD.size + place * _ROOM
        return Crumb(since, used, self._map[begin : begin + length].decode(errors="replace"))
