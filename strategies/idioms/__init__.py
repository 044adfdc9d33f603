"""Idioms: small pieces of code that make particular passes act, planted among random code and into each other.

A theme a file; the row (``idiom``) stands on the function that plants the idiom, its near misses follow it.
``planting`` has the whole table and chooses from it, ``parts`` has what idioms are built of. To add one:
``docs/adding-an-idiom.md``.
"""

from strategies.idioms.idiom import BlockKind, Idiom, NearMiss
from strategies.idioms.planting import IDIOMS, RARE, Planned, aimed, plant, plant_planned

__all__ = ["IDIOMS", "RARE", "BlockKind", "Idiom", "NearMiss", "Planned", "aimed", "plant", "plant_planned"]
