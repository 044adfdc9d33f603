"""Driving a strategy by bytes: the same bytes give the same value."""

from __future__ import annotations

import functools
import random
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from relaxkit.compat.known import excuses
from strategies.scope.choices import POCKET, Draw, pocket

T = TypeVar("T")

_BOX: list[Any] = []


@functools.lru_cache(maxsize=64)
def _target(strategy: st.SearchStrategy[Any]) -> Any:
    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(strategy)
    def keep(value: Any) -> None:
        _BOX.append(value)

    return keep.hypothesis.fuzz_one_input  # type: ignore[attr-defined]  # `given` puts it there


def draw_from_bytes(strategy: st.SearchStrategy[T], data: bytes) -> T | None:
    """Draw the value that ``strategy`` draws from ``data``; ``None`` when the bytes run out or the draw is discarded.

    Deterministic: equal bytes give equal values, in every process.  Exceptions raised by the strategy itself pass
    through.
    """
    found = draw_and_bytes(strategy, data)
    return None if found is None else found[0]


def draw_and_bytes(strategy: st.SearchStrategy[T], data: bytes) -> tuple[T, bytes] | None:
    """Return what :func:`draw_from_bytes` gives, and the beginning of ``data`` that it was drawn from."""
    _BOX.clear()
    try:
        used = _target(strategy)(data)
    except Exception as error:
        if excuses(error):
            return None
        raise
    return (_BOX.pop(), used) if _BOX else None


def draws_of(source: random.Random) -> Draw:
    """Draw a draw function for ``Choices`` outside of any strategy: its pockets come from ``source``."""

    def draw(strategy: st.SearchStrategy[Any]) -> Any:
        if strategy is not pocket():
            raise TypeError("only pockets are drawn outside of a strategy")
        return source.randbytes(POCKET)

    return draw
