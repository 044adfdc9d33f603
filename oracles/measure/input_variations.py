"""Which inputs a program is run on besides those of the default domain, and what values they hold.

Every variation is drawn by the seed of the case alone, and what it draws for a dim or a parameter depends on its name
and not on its neighbours: so a reduction of the module that leaves a parameter alone leaves its values alone, too.
"""

from __future__ import annotations

import enum
import hashlib
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import limits
from relaxkit.ir.domain import DIMS


class Variation(enum.Enum):
    """A way to draw arguments; its value is how people are told of it."""

    DEFAULT = ""
    OTHER_DIMS = "other dims"  # symbolic dims have other values, half of them 1
    CORNERS = "corners of the domain"  # zeros of both signs, ones, ends, denormals: still of the default domain
    NO_ELEMENTS = "empty dims"  # symbolic dims are 0, about half of them
    EXTREMES = "extremes"  # the greatest floats
    INFINITIES = "infinities"
    NAN = "NaN"


SHARES = {
    Variation.OTHER_DIMS: 1,
    Variation.CORNERS: 2,
    Variation.NO_ELEMENTS: 4,
    Variation.EXTREMES: 6,
    Variation.INFINITIES: 6,
    Variation.NAN: 6,
}
"""One subject in so many is run on these inputs, too."""
SPECIAL = frozenset({Variation.EXTREMES, Variation.INFINITIES, Variation.NAN})
"""Values that are fair only to a pass that promises exact bits; kind by kind, for few programs are defined on all."""
ASKED = SPECIAL | {Variation.NO_ELEMENTS}
"""Variations that leave the domain that modules are drawn for: to be asked of each module whether it is defined."""
MAX_DIM = DIMS[1]


def drawn(seed: int) -> tuple[Variation, ...]:
    """Return the variations for a seed of inputs; seed 0, that of ``oracles.check``, has all."""
    return tuple(variation for variation, share in SHARES.items() if draws(seed, variation.value, share))


def draws(seed: int, what: str, share: int) -> bool:
    """Say whether one seed in ``share`` says yes, of which 0 is one."""
    return seed == 0 or digest(f"{seed}:{what}") % share == 0


def digest(text: str) -> int:
    """Return a number that depends on the text alone, on any machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")


def generator(seed: int, function: str, variation: Variation, name: str = "") -> np.random.Generator:
    """Return the source of what a variation draws for a dim or parameter, or for the function when none is named."""
    text = f"{seed}:{function}"
    if variation is not Variation.DEFAULT:
        text = f"{text}:{variation.value}:{name}"
    return np.random.default_rng(digest(text))


def varied_dim(random: np.random.Generator, variation: Variation, most: int, least: int = 0) -> int:
    """Return a value of a symbolic dim, from ``least`` to ``most``."""
    preferred = {Variation.OTHER_DIMS: 1, Variation.NO_ELEMENTS: 0}.get(variation)
    if preferred is not None and random.integers(0, 2):
        return max(preferred, least)
    return int(random.integers(1, most + 1))


def hardened(random: np.random.Generator, plain: np.ndarray[Any, Any], variation: Variation) -> np.ndarray[Any, Any]:
    """Arguments of the default domain with hard values among them; all of one value, one time in eight."""
    values = hard_values(plain.dtype, variation)
    if values.size == 0:
        return plain
    chosen = values[random.integers(0, values.size, plain.shape)]
    if random.integers(0, 8) == 0:
        return np.asarray(np.full(plain.shape, values[random.integers(0, values.size)], plain.dtype))
    return np.asarray(np.where(random.integers(0, 2, plain.shape).astype(bool), chosen, plain))


def hard_values(dtype: np.dtype[Any], variation: Variation) -> np.ndarray[Any, Any]:
    """Values that programs like to get wrong; none for a dtype or a variation that has none."""
    if variation is not Variation.CORNERS and variation not in SPECIAL:
        return np.zeros(0, dtype)
    if dtype.kind == "b":
        return np.asarray([False, True])
    if dtype.kind in "iu":
        # No greater integers: what overflows a signed integer is undefined in LLVM, and no result of it is wrong.
        return np.asarray([0, 1, 3] if dtype.kind == "u" else [0, 1, -1, 3, -3]).astype(dtype)
    finfo = limits(dtype)
    tiny, normal, one = finfo.smallest_subnormal, finfo.tiny, finfo.eps + dtype.type(1)
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, tiny, -tiny, normal, -normal, one]
    if variation is Variation.EXTREMES:
        values += [finfo.max, -finfo.max] * 3
    elif variation is Variation.INFINITIES:
        values += [np.inf, -np.inf] * 3
    elif variation is Variation.NAN:
        values += [np.nan] * 4
    return np.asarray([float(value) for value in values]).astype(dtype)
