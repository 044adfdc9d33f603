"""Helpers for tests of strategies: values drawn from random bytes, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TypeVar

from hypothesis import strategies as st

from strategies.drive import draw_from_bytes

T = TypeVar("T")

BUFFER = 8192
"""Bytes of one case, as campaigns use them."""


def drawn(strategy: st.SearchStrategy[T], count: int, seed: int = 1) -> Iterator[T]:
    """``count`` values; the test fails when one is discarded."""
    source = random.Random(seed)
    for number in range(count):
        value = draw_from_bytes(strategy, source.randbytes(BUFFER))
        assert value is not None, f"case {number} was discarded"
        yield value
