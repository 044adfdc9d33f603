"""Memory that two processes share: what one of them wrote there can be read however it died."""

from __future__ import annotations

import mmap
import os
import tempfile
from multiprocessing import reduction
from typing import Any, ClassVar


class SharedPage:
    """Memory of a fixed size.

    It has no name, so that no kill leaves it behind, and is in no file system that could be full where the system has
    such memory: to write into a mapped file without room kills the process. It can be sent to a process as an argument
    of its start.
    """

    SIZE: ClassVar[int]

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = _nameless(self.SIZE) if descriptor is None else descriptor
        self._map = mmap.mmap(self._descriptor, self.SIZE)

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach, (type(self), reduction.DupFd(self._descriptor))

    def close(self) -> None:
        """Give the memory back."""
        self._map.close()
        os.close(self._descriptor)


def _nameless(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("relaxfuzz-page")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, size)
    return descriptor


def _attach(kind: type[SharedPage], descriptor: Any) -> SharedPage:
    return kind(descriptor.detach())
