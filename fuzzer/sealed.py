"""Values that travel closed and are opened by whoever needs them, since most are needed by nobody."""

from __future__ import annotations

import pickle
import zlib
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Sealed(Generic[T]):
    """A value that is pickled as bytes, and unpickled when somebody asks for it.

    It goes on from process to process as it came; the one that made it has paid for it, once.

    Args:
        value: The value; not to be changed any more.
    """

    __slots__ = ("_bytes", "_value")

    def __init__(self, value: T) -> None:
        self._value: T | None = value
        self._bytes: bytes | None = None

    @property
    def value(self) -> T:
        """The value."""
        if self._bytes is not None and self._value is None:
            self._value = pickle.loads(zlib.decompress(self._bytes))
        return self._value  # type: ignore[return-value]  # None only where that was sealed

    @property
    def closed(self) -> bool:
        """Whether it came from elsewhere and nobody has asked for it yet."""
        return self._bytes is not None and self._value is None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._bytes is None:
            # Modules as text shrink to a quarter, and reading them from a pipe or a socket with them.
            self._bytes = zlib.compress(pickle.dumps(self._value, pickle.HIGHEST_PROTOCOL), 1)
        return _received, (self._bytes,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sealed) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def _received(text: bytes) -> Sealed[Any]:
    sealed = Sealed[Any].__new__(Sealed)
    sealed._value, sealed._bytes = None, text
    return sealed
