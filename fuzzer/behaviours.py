"""Behaviours: what a module or a pass can do for the first time, as 64-bit keys.

Keys are compared and counted, never turned back into names: two that collide, once in 2 ** 32 pairs, cost nothing but a
missed novelty.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strategies.profile import Profile

BITS = 20
"""Binary logarithm of the slots of a :class:`Seen` map: 128 KiB, sparse up to some 100,000 behaviours."""


@functools.lru_cache(maxsize=1 << 18)
def key(*parts: str) -> int:
    """The key of a behaviour, the same in every process."""
    return int.from_bytes(hashlib.blake2b("\0".join(parts).encode(), digest_size=8).digest(), "big", signed=True)


@functools.lru_cache(maxsize=1 << 16)
def _operand(operand: tuple[str, str, int]) -> int:
    name, dtype, rank = operand
    return key("operand", name, dtype, str(rank))


def of_module(profile: Profile, features: Iterable[str]) -> list[int]:
    """Behaviours of a module: its pairs of operators, its operands and its pairs of features."""
    found = [key("pair", *pair) for pair in profile.pairs]
    found += [_operand(operand) for operand in profile.operands]
    found += [key("features", *pair) for pair in itertools.combinations(sorted(features), 2)]
    return sorted(found)


def of_subject(judged: str, signature: str) -> list[int]:
    """Behaviours of a subject whose passes, counted as ``judged``, changed the module in that way."""
    return [changed(judged), key("rewrite", judged, signature)]


def changed(judged: str) -> int:
    """The behaviour of a pass that changed a module at all."""
    return key("changed", judged)


class Seen:
    """Which behaviours were seen: a bit a slot, small enough to go along with every shard.

    Args:
        bits: The map as :attr:`bits` gave it; without, nothing was seen.
    """

    def __init__(self, bits: bytes | None = None) -> None:
        self._bits = bytearray(1 << BITS >> 3) if bits is None else bytearray(bits)

    @property
    def bits(self) -> bytes:
        """The map."""
        return bytes(self._bits)

    def add(self, keys: Iterable[int]) -> None:
        """Mark behaviours as seen."""
        for each in keys:
            slot = each & (1 << BITS) - 1
            self._bits[slot >> 3] |= 1 << (slot & 7)

    def novelty(self, keys: Iterable[int]) -> int:
        """How many of the behaviours were not seen."""
        bits = self._bits
        return sum(not bits[(each & (1 << BITS) - 1) >> 3] >> (each & 7) & 1 for each in keys)
