"""Idioms are built and run by the minimal reference pipeline, and their results lie in the bounds they claim."""

from __future__ import annotations

import random

import numpy as np
import pytest
from drawing import BUFFER
from idiom_modules import in_child, planted

from strategies.idioms import IDIOMS, Planned
from strategies.scope.features import NEVER_EXECUTABLE
from strategies.scope.from_bytes import draw_from_bytes

EVERY = [Planned(idiom, near) for idiom in IDIOMS for near in (None, *idiom.near_misses)]
ALL = [planned for planned in EVERY if not planned.needs & NEVER_EXECUTABLE]
SLACK = 1e-3


def flat(value):
    if isinstance(value, (tuple, list)):
        return [each for item in value for each in flat(item)]
    return [value]


def leaves(value):
    return [leaf for part in value.parts for leaf in leaves(part)] if value.parts else [value]


def executed(pair):
    """``fine``, or what is wrong."""
    from oracles.measure.inputs import materialize
    from relaxkit.runtime import session

    module, result = pair
    try:
        output = session().build(module).call("main", materialize(module, "main", 5))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}".replace("\n", " ")
    for number, known in zip(flat(output), leaves(result), strict=True):
        if known.bounds is None or not isinstance(number, np.ndarray) or not number.size:
            continue
        low, high = float(number.min()), float(number.max())
        reach = SLACK * (1 + known.bounds.magnitude)
        if not known.bounds.lo - reach <= low <= high <= known.bounds.hi + reach:
            return f"{low} to {high} is outside of {known.bounds}"
    return "fine"


def outcomes(planned, count):
    source = random.Random(11)
    made = [draw_from_bytes(planted(planned, bool(n % 2)), source.randbytes(BUFFER)) for n in range(count)]
    pairs = [pair for pair in made if pair is not None]
    return in_child(executed, pairs), len(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("planned", ALL, ids=lambda planned: planned.name)
def test_idioms_execute_within_their_bounds(planned):
    said, count = outcomes(planned, 6)
    assert said == ["fine"] * count


def test_some_idioms_execute_within_their_bounds():
    for planned in ALL[::8]:
        said, count = outcomes(planned, 1)
        assert said == ["fine"] * count, planned.name
