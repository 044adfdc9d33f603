"""Choices: many small decisions from few Hypothesis draws."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

from strategies.features import Draw

T = TypeVar("T")

_POCKET = 1 << 48


@functools.cache
def _below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


class Choices:
    """A source of small integers that spends one draw on several of them (a draw costs some ten microseconds).

    Everything shrinks to 0, the first option, false.  :meth:`renew` marks where a new draw begins, so that what belongs
    together shrinks together and apart from the rest.

    Attributes:
        draw: The Hypothesis draw function.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self._pocket = 0
        self._left = 1

    def index(self, count: int) -> int:
        """Draw an integer of ``[0, count)``; shrinks to 0."""
        if count <= 1:
            return 0
        if self._left < count * 64:  # the rest would be visibly uneven
            self._pocket, self._left = self.draw(_below(_POCKET)), _POCKET
        self._pocket, digit = divmod(self._pocket, count)
        self._left //= count
        return int(digit)

    def integer(self, lo: int, hi: int) -> int:
        """Draw an integer of ``[lo, hi]``; shrinks to ``lo``."""
        return lo + self.index(hi - lo + 1)

    def chance(self, parts: int) -> bool:
        """Draw true in ``parts`` of 64 cases; shrinks to false."""
        return self.index(64) >= 64 - parts

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of ``options``; shrinks to the first."""
        return options[self.index(len(options))]

    def subset(self, options: Sequence[T]) -> list[T]:
        """Draw some of ``options`` in their order, at least one; shrinks to the first alone."""
        mask = 1 + self.index((1 << len(options)) - 1)
        return [option for bit, option in enumerate(options) if mask >> bit & 1]

    def renew(self) -> None:
        """Begin a new draw: what follows shrinks apart from what came before."""
        self._left = 1
