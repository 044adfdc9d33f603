"""What a reduction is: a named way to make a module smaller, as a sequence of single edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fuzzer.minimizer.messages import Key
from fuzzer.minimizer.sketch import Sketch

Edit = tuple[Key, Callable[[], "Sketch | None"]]


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
    edits: Callable[[Sketch], Iterator[Edit]]
    final: bool = False


def chunks(count: int) -> Iterator[tuple[Key, range]]:
    """Ranges of ``range(count)`` as delta debugging tries them: all of it, then smaller powers of two, down to one.

    From the back, since what stands behind depends on what stands in front. The key is (-size, -start).
    """
    size = 1
    while size < count:
        size *= 2
    while size and count:
        for start in range((count - 1) // size * size, -1, -size):
            yield (-size, -start), range(start, min(count, start + size))
        size //= 2
