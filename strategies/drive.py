"""Driving a strategy by bytes: the same bytes give the same value."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

T = TypeVar("T")

_BOX: list[Any] = []


@functools.lru_cache(maxsize=64)
def _target(strategy: st.SearchStrategy[Any]) -> Any:
    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(strategy)
    def keep(value: Any) -> None:
        _BOX.append(value)

    return keep.hypothesis.fuzz_one_input  # type: ignore[attr-defined]


def draw_from_bytes(strategy: st.SearchStrategy[T], data: bytes) -> T | None:
    """The value that ``strategy`` draws from ``data``; ``None`` when the bytes run out or the draw is discarded.

    Deterministic: equal bytes give equal values, in every process.  Exceptions raised by the strategy itself pass
    through.
    """
    _BOX.clear()
    _target(strategy)(data)
    return _BOX.pop() if _BOX else None
