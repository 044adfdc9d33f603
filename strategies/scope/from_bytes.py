"""Driving a strategy by bytes: the same bytes give the same value."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from relaxkit.compat.known import excuses
from strategies.scope.choices import POCKET, Draw, body_of, pocket

T = TypeVar("T")

MOST_POCKETS = (8 << 10) // (POCKET + 1)
"""As many as Hypothesis lets a value take, which counts one byte more for each."""


class OutOfBytes(BaseException):
    """A draw that meets the end of its bytes; like Hypothesis' own, nothing that a strategy suppresses."""


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
    """Return what :func:`draw_from_bytes` gives, and the beginning of ``data`` that it was drawn from.

    What ``composite`` of this package made is drawn without Hypothesis, in half of the time, and the same.
    """
    body, at, end = body_of(strategy), 0, min(len(data), MOST_POCKETS * POCKET)

    def read() -> bytes:
        nonlocal at
        at += POCKET
        if at > end:
            raise OutOfBytes
        return data[at - POCKET : at]

    try:
        if body is not None:
            return body(drawing(read)), data[:at]
        _BOX.clear()
        used = _target(strategy)(data)
        return (_BOX.pop(), used) if _BOX else None
    except OutOfBytes:
        return None
    except Exception as error:
        if excuses(error):
            return None
        raise


def draws_of(source: random.Random) -> Draw:
    """Return a draw function for ``Choices`` outside of any strategy: its pockets come from ``source``."""
    return drawing(lambda: source.randbytes(POCKET))


def drawing(read: Callable[[], bytes]) -> Draw:
    """Return a draw function outside of Hypothesis, given what reads a pocket."""

    def draw(strategy: st.SearchStrategy[Any]) -> Any:
        if strategy is pocket():
            return read()
        if (body := body_of(strategy)) is None:
            raise TypeError("only pockets, and what is composed of them, are drawn outside of Hypothesis")
        return body(draw)

    return draw
