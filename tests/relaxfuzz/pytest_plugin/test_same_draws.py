"""What decides which modules a test draws: its seed, and the failures that it had before, not those of others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from relaxfuzz.pytest_plugin.child import run_hypothesis

SIMPLEST = bytes(8)


def drawn(test: Callable[[], None], seen: list[bytes], seed: int | None = None) -> list[bytes]:
    """Run a test as the plugin does, and return what it drew."""
    seen.clear()
    with contextlib.suppress(AssertionError):
        run_hypothesis(test, test, contextlib.nullcontext, lambda: False, seconds=None, seed=seed, shrink=False)
    return [*seen]


@pytest.mark.parametrize("seed", [None, 3])
def test_a_failure_is_replayed_by_its_own_test_and_by_no_other(seed: int | None) -> None:
    seen: list[bytes] = []
    kept = settings(database=InMemoryExampleDatabase(), derandomize=False, max_examples=20)

    @kept
    @given(st.binary(min_size=8, max_size=8))
    def fails(value: bytes) -> None:
        seen.append(value)
        assert value == SIMPLEST

    @kept
    @given(st.binary(min_size=8, max_size=8))
    def passes(value: bytes) -> None:
        seen.append(value)

    failed = drawn(fails, seen)[-1]
    assert failed != SIMPLEST
    assert failed not in drawn(passes, seen, seed)
    assert drawn(fails, seen, seed)[0] == failed
