"""A reduction: a named way to make a module smaller, as a sequence of single edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from fuzzer.minimizer.search.messages import Key
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.sketch import Sketch

Edit = tuple[Key, Callable[[], "Sketch | None"]]
Edits = Iterator[Edit]


@dataclass(frozen=True, slots=True)
class Reduction:
    """A way to make a module smaller.

    Attributes:
        name: What it does, for the log.
        edits: The edits that apply to a sketch, largest first. Their keys ascend; after an accepted edit the
            search goes on in the smaller module from the same key, so a key must name a *place* in the
            sequence, and not depend on what was there. An edit gives ``None`` when it turns out not to apply.
        final: Whether it only polishes: tried once, when nothing else applies any more.
    """

    name: str
    edits: Callable[[Sketch], Edits]
    final: bool = False


def reduction(name: str, *, final: bool = False) -> Callable[[Callable[[Sketch], Edits]], Reduction]:
    """Make a reduction of the function that gives its edits."""
    return partial(Reduction, name, final=final)


def edit(sketch: Sketch, change: Callable[..., None], *arguments: Any, **options: Any) -> Callable[[], Sketch | None]:
    """Return the edit that lets ``change`` change a copy of a sketch; it raises ``Invalid`` where it does not apply."""

    def edited() -> Sketch | None:
        copy = sketch.copy()
        try:
            change(copy, *arguments, **options)
        except Invalid:
            return None
        return copy

    return edited


def chunks(count: int) -> Iterator[tuple[Key, range]]:
    """Yield the ranges of ``range(count)`` as delta debugging tries them: all, then smaller powers of two, down to one.

    From the back, since what stands behind depends on what stands in front. The key is (-size, -start).
    """
    size = 1
    while size < count:
        size *= 2
    while size and count:
        for start in range((count - 1) // size * size, -1, -size):
            yield (-size, -start), range(start, min(count, start + size))
        size //= 2
