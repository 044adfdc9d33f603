"""Breadcrumbs: what an isolated process was doing when it died, left where its parent can read it."""

from __future__ import annotations

import mmap
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

SIZE = 4096
_HEAD = struct.Struct("=dI")


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
    """A page of memory that two processes share through a file."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, SIZE)
            self._map = mmap.mmap(descriptor, SIZE)
        finally:
            os.close(descriptor)
        self._since = 0.0

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
        text = stage.encode()[: SIZE - _HEAD.size]
        self._map[_HEAD.size : _HEAD.size + len(text)] = text
        self._map[: _HEAD.size] = _HEAD.pack(self._since, len(text))

    def read(self) -> Crumb:
        """The last breadcrumb."""
        since, length = _HEAD.unpack(self._map[: _HEAD.size])
        return Crumb(since, self._map[_HEAD.size : _HEAD.size + length].decode(errors="replace"))

    def close(self) -> None:
        """Give the page back."""
        self._map.close()
