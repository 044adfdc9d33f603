"""Neighbours of a module: its bytes changed a little.  Any bytes give a module, as valid as any other.

A generator spends its bytes in pockets of eight (``strategies.choices``); what begins a new draw begins a new pocket.
So that what was not meant keeps its meaning, cuts and runs lie on the bounds of pockets.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from strategies.choices import POCKET

MOST_FLIPS = 4
MOST_POCKETS = 6
"""Pockets in a run that is replaced, taken out or put in."""


def neighbour(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Bytes near ``data``; what is drawn beyond their end is for the caller to append.

    Args:
        data: Bytes that a module was drawn from, without what it did not use.
        other: Bytes of another module, to splice with.
        chance: Decides everything.
    """
    change = chance.choice(CHANGES)
    return change(data, other, chance)


def flipped(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A few bytes replaced."""
    changed = bytearray(data)
    for _ in range(1 + chance.randrange(MOST_FLIPS)):
        changed[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(changed)


def replaced(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A run of pockets replaced by one of the same length."""
    start, stop = _run(data, chance)
    return data[:start] + chance.randbytes(stop - start) + data[stop:]


def shortened(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A run of pockets taken out."""
    start, stop = _run(data, chance)
    return data[:start] + data[stop:]


def lengthened(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A run of pockets put in."""
    start, stop = _run(data, chance)
    return data[:start] + chance.randbytes(stop - start) + data[start:]


def spliced(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The beginning of this and the end of another."""
    return data[: _cut(data, chance)] + other[_cut(other, chance) :]


def extended(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The beginning alone: what follows is drawn anew."""
    return data[: _cut(data, chance)]


Change = Callable[[bytes, bytes, random.Random], bytes]
CHANGES: tuple[Change, ...] = (flipped, replaced, shortened, lengthened, spliced, extended)


def _cut(data: bytes, chance: random.Random) -> int:
    return chance.randrange(len(data) // POCKET + 1) * POCKET


def _run(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(max(1, len(data) // POCKET)) * POCKET
    return start, min(len(data), start + POCKET * (1 + chance.randrange(MOST_POCKETS)))
