"""Fewer passes: what delta debugging tries on a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oracles.passref import PassRef

Passes = tuple["PassRef", ...]


def shorter(passes: Passes, culprit: str = "") -> Iterator[Passes]:
    """Pipelines with fewer passes, at least one, in the order in which they are to be tried.

    First the culprit alone and what stands up to it, then without chunks of decaying size, from the back.

    Args:
        passes: The pipeline.
        culprit: Name of the pass that is to blame, as far as that is known.
    """
    seen: set[Passes] = {passes, ()}
    for found in _all(passes, culprit):
        if found not in seen:
            seen.add(found)
            yield found


def _all(passes: Passes, culprit: str) -> Iterator[Passes]:
    places = [index for index, ref in enumerate(passes) if ref.name == culprit]
    for index in places:
        yield (passes[index],)
    for index in places:
        yield passes[: index + 1]
    size = (len(passes) + 1) // 2
    while size:
        for start in range((len(passes) - 1) // size * size, -1, -size):
            yield passes[:start] + passes[start + size :]
        size //= 2
