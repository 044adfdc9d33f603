"""The journal: what an isolated process has done and not told yet, left where its parent can read it when it dies.

To tell each thing as it happens costs the parent a message each. A process that jots them down can tell them together,
at its end, when the journal is full or when it is asked to. Nothing is lost by that: a message empties the journal, and
what a death leaves in it is what was never told.
"""

from __future__ import annotations

import pickle
import struct
import zlib
from typing import Any

from fuzzer.shared_page import SharedPage

_HEAD = struct.Struct("=II")
_ASKED = _HEAD.size
_BEGIN = _ASKED + 1
_RECORD = struct.Struct("=II")


class Journal(SharedPage):
    """Items that one process jots down and another reads after its death.

    Attributes:
        message: Number of the message that will tell what is in it. Of a process that dies between sending one and
            emptying the journal the reader knows by it that it has read that already.
    """

    SIZE = 1 << 20

    def __init__(self, descriptor: int | None = None) -> None:
        super().__init__(descriptor)
        self.message, self._length = _HEAD.unpack(self._map[: _HEAD.size])

    def clear(self) -> None:
        """Begin anew, for a new process."""
        self.message = self._length = 0
        self._stand()

    @property
    def asked(self) -> bool:
        """Whether the other process wants to be told what there is."""
        return bool(self._map[_ASKED])

    def ask(self, whether: bool) -> None:
        """Ask for it, or take that back."""
        self._map[_ASKED] = whether

    def told(self) -> None:
        """What is in it was sent."""
        self.message, self._length = self.message + 1, 0
        self._stand()

    def jot(self, item: object) -> bool:
        """Add an item; ``False``: there is no room for it."""
        text = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        begin = _BEGIN + self._length
        end = begin + _RECORD.size + len(text)
        if end > self.SIZE:
            return False
        self._map[begin:end] = _RECORD.pack(len(text), zlib.crc32(text)) + text
        self._length = end - _BEGIN
        self._stand()  # last: an item that a death cuts short was never there
        return True

    def left(self, message: int) -> tuple[Any, ...]:
        """What was jotted down for this message, which never came.

        A process that writes where it should not may have hit the journal: it is read up to there.
        """
        number, length = _HEAD.unpack(self._map[: _HEAD.size])
        items: list[Any] = []
        begin, end = _BEGIN, _BEGIN + min(length, self.SIZE - _BEGIN)
        while number == message and begin + _RECORD.size <= end:
            size, check = _RECORD.unpack(self._map[begin : begin + _RECORD.size])
            begin += _RECORD.size
            text = self._map[begin : begin + size]
            if zlib.crc32(text) != check or begin + size > end:
                break
            items.append(pickle.loads(text))
            begin += size
        return tuple(items)

    def _stand(self) -> None:
        self._map[: _HEAD.size] = _HEAD.pack(self.message, self._length)
