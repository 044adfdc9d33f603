"""Breadcrumbs: what an isolated process was doing when it died, left where its parent can read it."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import reduction
from typing import Any

SIZE = 4096
_HEAD = struct.Struct("=dII")
_ROOM = (SIZE - _HEAD.size) // 2
"""There are two places for a text: the old one stands until the new one does."""


@dataclass(frozen=True, slots=True)
class Crumb:
    """The last breadcrumb.

    Attributes:
        since: When the present case began, in seconds of the system's monotonic clock; 0 between cases.
        stage: What the process was about to do, for instance ``idempotence: LegalizeOps``.
    """

    since: float
    stage: str


class CrumbFile:
    """A page of memory that two processes share.

    It has no name, so that no kill leaves it behind, and is in no file system that could be full where the system has
    such memory: to write into a mapped file without room kills the process. It can be sent to a process as an argument
    of its start.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = _nameless() if descriptor is None else descriptor
        self._map = mmap.mmap(self._descriptor, SIZE)
        self._since = 0.0
        self._place = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach, (reduction.DupFd(self._descriptor),)

    def begin(self) -> None:
        """Start the clock of a case."""
        self._since = time.monotonic()
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
        self._map[: _HEAD.size] = _HEAD.pack(self._since, self._place, len(text))

    def read(self) -> Crumb:
        """The last breadcrumb."""
        since, place, length = _HEAD.unpack(self._map[: _HEAD.size])
        begin = _HEAD.size + place * _ROOM
        return Crumb(since, self._map[begin : begin + length].decode(errors="replace"))

    def close(self) -> None:
        """Give the page back."""
        self._map.close()
        os.close(self._descriptor)


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("relaxfuzz-crumb")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, SIZE)
    return descriptor


def _attach(descriptor: Any) -> CrumbFile:
    return CrumbFile(descriptor.detach())
