"""What decides which modules a test draws: its seed, and the failures that it had before, not those of others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from relaxfuzz.pytest_plugin.child import MORE_ROUNDS, run_hypothesis

SIMPLEST = bytes(8)


def drawn(test: Callable[[], None], seen: list[bytes], number: int | None = None, lacks: bool = False) -> list[bytes]:
    """Run a test as the plugin does, and return what it drew; with more rounds where what it drew ``lacks``."""
    seen.clear()
    with contextlib.suppress(AssertionError):
        run_hypothesis(test, test, contextlib.nullcontext, lambda: lacks, seconds=None, seed=number, shrink=False)
    return [*seen]


def test_a_failure_is_replayed_by_its_own_test_and_by_no_other_and_not_under_a_seed() -> None:
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
    assert failed not in drawn(passes, seen)
    assert drawn(fails, seen)[0] == failed
    seeded = drawn(fails, seen, 3)
    assert failed not in seeded
    assert drawn(fails, seen, 3) == seeded, "what a run saves must not change the next run"
    assert drawn(fails, seen)[0] in (failed, seeded[-1]), "what a seed found is replayed where no seed is given"


@pytest.mark.parametrize(
    ("derandomize", "decorated", "forced", "number"),
    [(True, None, None, None), (False, 3, None, None), (False, None, 3, None), (False, None, None, 3)],
)
def test_more_rounds_draw_other_examples_and_are_repeatable_where_the_first_one_is(
    monkeypatch: pytest.MonkeyPatch, derandomize: bool, decorated: int | None, forced: int | None, number: int | None
) -> None:
    monkeypatch.setattr("hypothesis.core.global_force_seed", forced)  # --hypothesis-seed
    seen: list[bytes] = []

    @settings(database=None, derandomize=derandomize, max_examples=9)
    @given(st.binary(min_size=8, max_size=8))
    def passes(value: bytes) -> None:
        seen.append(value)

    test = passes if decorated is None else seed(decorated)(passes)
    found = drawn(test, seen, number, lacks=True)
    assert len(found) == 9 * (1 + MORE_ROUNDS)
    assert len({*found}) > len(found) - 9, "all begin with the simplest, and repeat nothing else"
    assert drawn(test, seen, number, lacks=True) == found
    assert found[:9] == drawn(test, seen, number)
