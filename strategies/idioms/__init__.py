"""Idioms: small pieces of code that make particular passes act, planted among random code and into each other."""

from strategies.idioms.idiom import Idiom, NearMiss, Place
from strategies.idioms.planting import Planned, aimed, plant, plant_planned
from strategies.idioms.table import IDIOMS

__all__ = ["IDIOMS", "Idiom", "NearMiss", "Place", "Planned", "aimed", "plant", "plant_planned"]
