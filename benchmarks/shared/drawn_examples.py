"""Values that a strategy draws outside of a test, the same for the same seed."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")


def examples_of(strategy: st.SearchStrategy[T], count: int, first: int) -> list[T]:
    """Return values that ``strategy`` draws, at most ``count``; the same for the same seed ``first``.

    Every fifth of what Hypothesis draws, which repeats a case in variations.
    """
    drawn: list[T] = []

    @seed(first)
    @settings(
        max_examples=5 * count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(strategy)
    def collect(value: T) -> None:
        drawn.append(value)

    collect()
    return drawn[: 5 * count : 5]
