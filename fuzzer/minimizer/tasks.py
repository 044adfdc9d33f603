"""Running queries: one after the other when their results are wanted, or ahead of that, on several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol


class Pending(Protocol):
    """A call that was handed in."""

    def result(self) -> Any:
        """Its result; waits for it."""

    def cancel(self) -> bool:
        """Do not begin it, if it has not begun; whether that came in time."""


class Tasks(Protocol):
    """Takes calls."""

    @property
    def ahead(self) -> bool:
        """Whether calls begin before their results are asked for."""

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Pending:
        """Hand in ``function(argument)``."""


class _Lazy:
    def __init__(self, function: Callable[[Any], Any], argument: Any) -> None:
        self._call: Callable[[], Any] | None = lambda: function(argument)
        self._value: Any = None

    def result(self) -> Any:
        if self._call is not None:
            self._value = self._call()
            self._call = None
        return self._value

    def cancel(self) -> bool:
        return self._call is not None


class Serial:
    """Calls run when their results are asked for, in the caller's thread."""

    ahead = False

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Pending:
        """Hand in ``function(argument)``."""
        return _Lazy(function, argument)


class Threads:
    """Calls run on threads, in the order in which they were handed in; close it when done."""

    ahead = True

    def __init__(self, count: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=count, thread_name_prefix="relaxfuzz-minimize")

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Pending:
        """Hand in ``function(argument)``."""
        return self._executor.submit(function, argument)

    def cancel(self) -> None:
        """Begin nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Wait for what has begun; the rest does not run."""
        self._executor.shutdown(wait=True, cancel_futures=True)
