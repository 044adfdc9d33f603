"""Contents of constants: deterministic arrays inside given bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from strategies.bounds import LOW_PRECISION, Bounds, is_float, representable

GRAIN = 64
"""Floats are multiples of 1/64, exact in float16 up to 32; of low precision they are rounded to what there is."""


def contents(shape: tuple[int, ...], dtype: str, bounds: Bounds, seed: int) -> Any:
    """An array of ``shape`` and ``dtype`` whose elements lie in ``bounds``.

    Seed 0, what shrinking aims for, fills it with the simplest number (1, else 0, else the least one).  Multiples of
    three give an array without a repeated pattern; the others are sparse or small, so that folding and CSE meet ones
    and zeros as well.
    """
    lo, hi = bounds.lo, bounds.hi
    grain = 1 if not is_float(dtype) or bounds.integral else GRAIN
    low, high = math.ceil(lo * grain), math.floor(hi * grain)
    if low > high:  # an interval narrower than the grain
        return np.full(shape, (lo + hi) / 2, dtype)
    simplest = grain if low <= grain <= high else max(low, min(0, high))
    count = math.prod(shape)
    if seed == 0:
        numbers = np.full(count, simplest, np.int64)
    else:
        steps = np.arange(count, dtype=np.int64) * (2 * seed + 1) * 40503 + seed * 7919
        numbers = low + steps % 65537 % (high - low + 1)
        if seed % 8 == 7:
            numbers[steps % 3 > 0] = simplest
    values = numbers / grain
    if dtype in LOW_PRECISION:  # rounding to nearest does not leave what lies between two numbers of the dtype
        values = np.clip(values, *representable(lo, hi, dtype))
    return values.astype(dtype).reshape(shape)
