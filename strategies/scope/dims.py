"""Ranges of dims: from the range of each symbolic variable to that of an expression over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tvm import tirx

from relaxkit.ir.domain import DIMS
from strategies.scope.values import Dim

SYMBOL_RANGE = DIMS
"""What a symbolic dim of a parameter may be, both ends included (the default input domain)."""

POOL: tuple[int, ...] = (2, 3, 4, 1, 2, 3, 4, 5, 1, 8, 2, 3, 4, 2, 3, 1)
"""Static dims, weighted by repetition, simplest first."""

LARGE_POOL: tuple[int, ...] = (64, 65, 97, 128, 256, 257, 512, 1031)
"""Large static dims, simplest first: powers of two, their neighbours and primes."""

LARGE = 32
"""A static dim above this one counts as large: more than any of the pool, or than most operators make of it."""

UNKNOWN_RANGE = (0, 64)

Range = tuple[int, int]


def dim_range(dim: Dim, symbols: Mapping[Any, Range]) -> Range:
    """Return least and greatest value of a dim, given the ranges of symbolic variables (unknown ones: [0, 64])."""
    if isinstance(dim, int):
        return dim, dim
    if isinstance(dim, tirx.IntImm):
        return int(dim), int(dim)
    if isinstance(dim, tirx.Var):
        return symbols.get(dim, UNKNOWN_RANGE)
    sides = [
        dim_range(side, symbols) for side in (getattr(dim, "a", None), getattr(dim, "b", None)) if side is not None
    ]
    if len(sides) != 2:
        return UNKNOWN_RANGE
    (a, b), (c, d) = sides
    corners = {
        tirx.Add: (a + c, b + d),
        tirx.Sub: (a - d, b - c),
        tirx.Mul: (min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)),
        tirx.Max: (max(a, c), max(b, d)),
        tirx.Min: (min(a, c), min(b, d)),
    }
    found = corners.get(type(dim))
    if found is not None:
        return found
    if isinstance(dim, (tirx.FloorDiv, tirx.Div)) and c > 0:
        return min(a // c, a // d), max(b // c, b // d)
    if isinstance(dim, (tirx.FloorMod, tirx.Mod)) and c > 0:
        return 0, d - 1
    return UNKNOWN_RANGE


def most_elements(dims: Sequence[Dim], symbols: Mapping[Any, Range]) -> int:
    """Return the greatest number of elements that a tensor of these dims may have."""
    return math.prod(max(dim_range(dim, symbols)[1], 0) for dim in dims)
