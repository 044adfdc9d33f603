"""The flight recorder: what an isolated process was doing and had not sent yet, readable however it died.

It is memory that two processes share.  One page holds the *step* that is about to be taken.  Behind it stand the
*items* that the process has not sent yet: to send each as it happens costs the parent a message each, so that a process
records them, and sends them together at its end, when the recorder is full or when it is asked to.  Nothing is lost by
that: a message empties the recorder, and what a death leaves in it is what was never sent.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import time
import zlib
from dataclasses import dataclass
from multiprocessing import reduction
from typing import Any

_STEP = struct.Struct("=dddddIII")
ITEMS = 4096
"""Where the items begin, in bytes."""
_ROOM = (ITEMS - _STEP.size) // 2
"""There are two places for the text of a step: the old one stands until the new one does."""
_HEAD = struct.Struct("=II")
_ASKED = ITEMS + _HEAD.size
_FIRST = _ASKED + 1
_RECORD = struct.Struct("=II")
SIZE = ITEMS + (1 << 20)


@dataclass(frozen=True, slots=True)
class LastStep:
    """The step that was recorded last.

    Attributes:
        since: When the present case began, in seconds of the system's monotonic clock; 0 between cases.
        used: Seconds of processor time that the process had taken by then.
        stage: What the process was about to do, for instance ``idempotence: LegalizeOps``.
        began: When this step of the case began.
        began_used: As ``used``, by then.
        patience: Seconds after which the step is no honest one any more (:class:`_Pace`); 0: that is not known.
        cases: Number of the present case among those that the call counts; 0 when it counts none.
    """

    since: float
    used: float
    stage: str
    began: float
    began_used: float
    patience: float
    cases: int


LEAST, FIRST = 2.0, 4.0
"""Seconds that a step is given at least, and before steps of its kind were seen: no whole case ever took so much."""
_FACTOR = 100.0
_FREE = "draw"
"""Steps of this kind are ours."""


class _Pace:
    """Time that honest steps of each kind took in this process; one that takes a hundred times as much hangs.

    The first step of a kind loads and compiles what the others find, and does not count.
    """

    def __init__(self) -> None:
        self._slowest: dict[str, tuple[int, float]] = {}
        self._kind = ""
        self._used = 0.0

    def begin(self, stage: str, used: float) -> float:
        """A step ends and this one begins, after so much processor time; what it is given."""
        if self._kind:
            number, slowest = self._slowest.get(self._kind, (0, 0.0))
            self._slowest[self._kind] = number + 1, max(slowest, used - self._used) if number else 0.0
        self._kind, self._used = stage.partition(" ")[0].rstrip(":"), used
        if self._kind in ("", _FREE):
            return 0.0
        number, slowest = self._slowest.get(self._kind, (0, 0.0))
        return max(LEAST, _FACTOR * slowest) if number > 1 else FIRST


class FlightRecorder:
    """Memory that one process writes and another reads after its death.

    It has no name, so that no kill leaves it behind, and is in no file system that could be full where the system has
    such memory: to write into a mapped file without room kills the process. It can be sent to a process as an argument
    of its start.

    Attributes:
        message: Number of the message that will send its items. Of a process that dies between sending one and
            emptying the recorder the reader knows by it that it has read that already.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = _nameless() if descriptor is None else descriptor
        self._map = mmap.mmap(self._descriptor, SIZE)
        self._since = self._used = 0.0
        self._place = self._cases = 0
        self._pace = _Pace()
        self.message, self._length = _HEAD.unpack_from(self._map, ITEMS)

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach, (reduction.DupFd(self._descriptor),)

    def close(self) -> None:
        """Give the memory back."""
        self._map.close()
        os.close(self._descriptor)

    def clear(self) -> None:
        """Begin anew, for a new process."""
        self.end_case()
        self._set_items(0, 0)

    # -- the step ----------------------------------------------------------------------------------------------------

    def begin_case(self, *, counts: bool = False) -> None:
        """Start the clock of a case, which ``counts`` or is only prepared."""
        self._since, self._used = time.monotonic(), time.process_time()
        self._cases += counts
        self.step("")

    def end_case(self) -> None:
        """Stop the clock: nothing under a time limit runs."""
        self._since, self._cases = 0.0, 0
        self.step("")

    def step(self, stage: str) -> None:
        """Record what is about to be done."""
        text = stage.encode()[:_ROOM]
        self._place = 1 - self._place
        begin = _STEP.size + self._place * _ROOM
        self._map[begin : begin + len(text)] = text
        now, used = time.monotonic(), time.process_time()
        patience = self._pace.begin(stage, used)
        values = (self._since, self._used, now, used, patience, self._place, len(text), self._cases)
        _STEP.pack_into(self._map, 0, *values)

    def last_step(self) -> LastStep:
        """Return the step that was recorded last."""
        since, used, began, began_used, patience, place, length, cases = _STEP.unpack_from(self._map)
        begin = _STEP.size + place * _ROOM
        stage = self._map[begin : begin + length].decode(errors="replace")
        return LastStep(since, used, stage, began, began_used, patience, cases)

    # -- the items ---------------------------------------------------------------------------------------------------

    @property
    def asked(self) -> bool:
        """Say whether the other process wants to be sent what there is."""
        return bool(self._map[_ASKED])

    def ask(self, whether: bool) -> None:
        """Ask for it, or take that back."""
        self._map[_ASKED] = whether

    def sent(self) -> None:
        """Forget the items: a message has sent them."""
        self._set_items(self.message + 1, 0)

    def record(self, item: object) -> bool:
        """Add an item; ``False``: there is no room for it."""
        text = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        begin = _FIRST + self._length
        end = begin + _RECORD.size + len(text)
        if end > SIZE:
            return False
        self._map[begin:end] = _RECORD.pack(len(text), zlib.crc32(text)) + text
        self._set_items(self.message, end - _FIRST)  # last: an item that a death cuts short was never there
        return True

    def unsent(self, message: int) -> tuple[Any, ...]:
        """Return the items for this message, which never came.

        A process that writes where it should not may have hit the recorder: it is read up to there.
        """
        number, length = _HEAD.unpack_from(self._map, ITEMS)
        items: list[Any] = []
        begin, end = _FIRST, min(_FIRST + length, SIZE)
        while number == message and begin + _RECORD.size <= end:
            size, check = _RECORD.unpack_from(self._map, begin)
            begin += _RECORD.size
            text = self._map[begin : begin + size]
            if zlib.crc32(text) != check or begin + size > end:
                break
            items.append(pickle.loads(text))
            begin += size
        return tuple(items)

    def _set_items(self, message: int, length: int) -> None:
        self.message, self._length = message, length
        _HEAD.pack_into(self._map, ITEMS, message, length)


def _nameless() -> int:
    descriptor = os.memfd_create("relaxfuzz-page")
    os.truncate(descriptor, SIZE)
    return descriptor


def _attach(descriptor: Any) -> FlightRecorder:
    return FlightRecorder(descriptor.detach())
