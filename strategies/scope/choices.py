"""Choices: many small decisions from few Hypothesis draws."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
P = ParamSpec("P")

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""The draw function that Hypothesis gives to a composite strategy."""

POCKET = 8
"""Bytes of one draw. Hypothesis draws fixed-size bytes evenly, whoever drives it, and shrinks them one by one; of large
integers it mostly draws small ones, which would leave most choices at 0."""


_TURNS = 64
"""How often a draw that meets nothing is sent on, by a rule that spreads such draws over the whole table."""


@functools.cache
def pocket(size: int = POCKET) -> st.SearchStrategy[bytes]:
    """Return the strategy behind all choices."""
    return st.binary(min_size=size, max_size=size)


_BODIES: weakref.WeakKeyDictionary[st.SearchStrategy[Any], Callable[[Draw], Any]] = weakref.WeakKeyDictionary()


def composite(define: Callable[Concatenate[Draw, P], T]) -> Callable[P, st.SearchStrategy[T]]:
    """Make strategies of a function as ``st.composite`` does, which :func:`body_of` knows as well."""
    make = st.composite(define)

    @functools.wraps(make)
    def made(*arguments: P.args, **keywords: P.kwargs) -> st.SearchStrategy[T]:
        strategy = make(*arguments, **keywords)
        _BODIES[strategy] = lambda draw: define(draw, *arguments, **keywords)
        return strategy

    return made


def body_of(strategy: st.SearchStrategy[T]) -> Callable[[Draw], T] | None:
    """Return the function that draws what a strategy draws, given a draw function; ``None`` where none is known."""
    return _BODIES.get(strategy)


@composite
def _span(draw: Draw, bodies: list[Callable[[Draw], Any]]) -> Any:
    return bodies[-1](draw)


class Choices:
    """A source of small integers that spends one draw on several of them (a draw costs some ten microseconds).

    Everything shrinks to 0, the first option, false.  :meth:`renew` marks where a new draw begins, so that what belongs
    together shrinks together and apart from the rest.

    Attributes:
        draw: The Hypothesis draw function.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self._pocket = b""
        self._at = POCKET
        self._bodies: list[Callable[[Draw], Any]] = []

    @functools.cached_property
    def _strategy(self) -> st.SearchStrategy[Any]:
        return _span(self._bodies)

    def index(self, count: int) -> int:
        """Draw an integer of ``[0, count)`` with ``count`` at most 65536; shrinks to 0."""
        if count <= 1:
            return 0
        wide = count > 32  # one byte would be visibly uneven
        if self._at + wide >= POCKET:
            self._pocket, self._at = self.draw(pocket()), 0
        number = self._pocket[self._at]
        self._at += 1
        if not wide:
            return number * count >> 8
        number = number << 8 | self._pocket[self._at]
        self._at += 1
        return number * count >> 16

    def integer(self, lo: int, hi: int) -> int:
        """Draw an integer of ``[lo, hi]``; shrinks to ``lo``."""
        return lo + self.index(hi - lo + 1)

    def chance(self, parts: int) -> bool:
        """Draw true in ``parts`` of 64 cases; shrinks to false."""
        return self.index(64) >= 64 - parts

    def flip(self) -> bool:
        """Draw a boolean; shrinks to false."""
        return self.index(2) == 1

    def rarely(self) -> bool:
        """Draw true once in eight times; shrinks to false."""
        return self.index(8) == 7

    def axis(self, rank: int) -> int:
        """Draw an axis of a tensor, counted from the front or, negative, from the back; ``rank`` is at least 1."""
        drawn = self.integer(0, 2 * rank - 1)
        return drawn if drawn < rank else drawn - 2 * rank

    def axes(self, rank: int, able: Sequence[int] | None = None) -> list[int]:
        """Draw distinct axes, at least one of those that are ``able`` (default: all), counted from either side."""
        able = range(rank) if able is None else able
        mask = self.integer(1, 2 ** len(able) - 1)
        chosen = [place for index, place in enumerate(able) if mask >> index & 1]
        if self.flip():
            chosen[0] -= rank
            chosen.reverse()
        return chosen

    def permutation(self, rank: int) -> list[int]:
        """Draw a permutation of ``range(rank)`` by one integer (its factorial code)."""
        code = self.integer(0, math.factorial(rank) - 1)
        rest, drawn = list(range(rank)), []
        for size in range(rank, 0, -1):
            code, index = divmod(code, size)
            drawn.append(rest.pop(index))
        return drawn

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of ``options``; shrinks to the first."""
        return options[self.index(len(options))]

    def pick_steadily(self, options: Sequence[T | None]) -> T:
        """Draw one of the options that are not ``None``; shrinks to the first of all.

        What a draw means does not depend on which others are ``None``, unless it meets one of them: so that a shrinker
        can switch features off one by one without turning all else into something different.

        Raises:
            ValueError: when all are ``None``.
        """
        number = self.index(len(options))
        for _ in range(_TURNS):
            if (option := options[number]) is not None:
                return option
            number = (number * 41 + 17) % len(options)
        for option in options:
            if option is not None:
                return option
        raise ValueError("no option is left")

    def subset(self, options: Sequence[T]) -> list[T]:
        """Draw some of ``options`` in their order, at least one; shrinks to the first alone."""
        mask = 1 + self.index((1 << len(options)) - 1)
        return [option for bit, option in enumerate(options) if mask >> bit & 1]

    def span(self, body: Callable[[], Any]) -> None:
        """Run ``body`` as a unit that a shrinker can take out as a whole: its first choice says whether it is left out.

        A shrinker aims for zeros and for fewer draws; a span of zeros is nothing at all.
        """
        self.renew()
        self._bodies.append(lambda _: body() if self.index(32) else None)
        try:
            self.draw(self._strategy)
        finally:
            self._bodies.pop()
        self.renew()

    def renew(self) -> None:
        """Begin a new draw: what follows shrinks apart from what came before."""
        self._at = POCKET
