"""Hypothesis in the process of one test: how long it draws, from which seed, and that it leaves shrinking to us."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

ROUND = 50
"""Examples of one run of Hypothesis where time is the limit: the runs go on with other seeds until it is over."""
_SETTINGS = "_hypothesis_internal_use_settings"  # what Hypothesis's own plugin for pytest sets, too
_SEED = "_hypothesis_internal_use_seed"


class OutOfTime(BaseException):
    """Ends a run of Hypothesis, which lets what is no ``Exception`` pass."""


def draws(test: Any) -> bool:
    """Whether Hypothesis drives a test function."""
    return bool(getattr(test, "is_hypothesis_test", False))


def drawn(
    test: Any,
    run: Callable[[], Any],
    each: Callable[[], None],
    *,
    seconds: float | None,
    seed: int | None,
    shrink: bool,
) -> None:
    """Run a test that Hypothesis drives; raises what it raises.

    Args:
        test: The function under ``@given``.
        run: Calls it with its fixtures.
        each: Is called before each example.
        seconds: Draw for so long; ``None``: as many examples as are set.
        seed: Decides what is drawn; ``None``: Hypothesis does.
        shrink: Whether Hypothesis shrinks what fails.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    rounds = 0
    while True:
        with _prepared(test, each, deadline, _seed_of(seed, rounds), rounds, shrink):
            try:
                run()
            except OutOfTime:
                return
        rounds += 1
        if deadline is None or time.monotonic() > deadline:
            return


def _seed_of(seed: int | None, rounds: int) -> int | None:
    if seed is None or rounds == 0:
        return seed
    return random.Random(f"{seed} {rounds}").getrandbits(63)


@contextlib.contextmanager
def _prepared(
    test: Any, each: Callable[[], None], deadline: float | None, seed: int | None, rounds: int, shrink: bool
) -> Iterator[None]:
    from hypothesis import HealthCheck, Phase, settings

    inner = test.hypothesis.inner_test
    begun = False

    def example(*arguments: Any, **named: Any) -> Any:
        nonlocal begun
        if begun and deadline is not None and time.monotonic() > deadline:
            raise OutOfTime
        begun = True
        each()
        return inner(*arguments, **named)

    before: Any = getattr(test, _SETTINGS, None) or settings.default
    seed_before = getattr(test, _SEED, None)
    quiet = {HealthCheck.too_slow, HealthCheck.data_too_large}
    changes: dict[str, Any] = {"deadline": None, "suppress_health_check": {*before.suppress_health_check, *quiet}}
    if not shrink:
        changes |= {
            "phases": [phase for phase in before.phases if phase not in (Phase.shrink, Phase.explain)],
            "report_multiple_bugs": False,
        }
    if deadline is not None:
        changes["max_examples"] = ROUND
        if rounds and seed is None:
            changes["derandomize"] = False  # the same again would find nothing new
    setattr(test, _SETTINGS, settings(before, **changes))
    if seed is not None:
        setattr(test, _SEED, seed)
    test.hypothesis.inner_test = example
    try:
        yield
    finally:
        test.hypothesis.inner_test = inner
        setattr(test, _SETTINGS, before)
        setattr(test, _SEED, seed_before)
