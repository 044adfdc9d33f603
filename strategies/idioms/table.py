"""The table of idioms, and what it says of each pass."""

from __future__ import annotations

import functools

from strategies.idioms import (
    bindings,
    calls,
    convolutions,
    data_movement,
    elementwise,
    matmul_chains,
    matmuls,
    stages,
    training,
)
from strategies.idioms.idiom import SUFFIX, Idiom

IDIOMS: tuple[Idiom, ...] = (
    *elementwise.ROWS,
    *matmul_chains.ROWS,
    *matmuls.ROWS,
    *data_movement.ROWS,
    *convolutions.ROWS,
    *bindings.ROWS,
    *calls.ROWS,
    *stages.ROWS,
    *training.ROWS,
)


@functools.cache
def for_passes() -> dict[str, tuple[Idiom, ...]]:
    """Name of a pass -> the idioms that are planted for it."""
    found: dict[str, tuple[Idiom, ...]] = {}
    for idiom in IDIOMS:
        for name in (*idiom.acts_on, *idiom.alone):
            found[name] = (*found.get(name, ()), idiom)
    return found


@functools.cache
def passes_for(planted: str) -> tuple[str, ...]:
    """The passes that an idiom was planted for, by its name in a module, near misses among them."""
    name = planted.split(SUFFIX, 1)[0]
    return next(((*idiom.acts_on, *idiom.alone) for idiom in IDIOMS if idiom.name == name), ())
