"""Intervals: what is known about the values of a tensor, so that modules are drawn free of undefined behaviour.

Every value of a module under construction carries a closed interval that holds each of its elements, for all inputs of
the default input domain. Operators with a narrower domain (logarithm, integer division, shifts, indices) look at it
and guard their operands only where they must.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*; a dependency of TVM itself)
import numpy as np

from relaxkit.ir.domain import INTEGERS, domain_of

ROUNDING = 2.0**-6
"""Relative allowance for rounding of one operator: float16 has 2**-11; the rest covers polynomial approximations
(FastMathTransform) and short chains that a pass turns into float16 (ToMixedPrecision)."""

FLOAT_LIMIT = 1.0e4
"""Magnitude up to which float values are kept, so that float16 (largest 65504) holds every intermediate."""

BFLOAT = ("bfloat16",)
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
LOW_PRECISION = BFLOAT + FLOAT8
"""Floats of 8 significant bits and fewer: a kernel computes them in float32 and rounds each element that it stores."""

_ROUNDOFF = {"bfloat16": 2.0**-8, "float8_e4m3fn": 2.0**-4, "float8_e5m2": 2.0**-3}
_SMALLEST = {"bfloat16": 2.0**-126, "float8_e4m3fn": 2.0**-9, "float8_e5m2": 2.0**-16}
_LIMITS = {"bfloat16": FLOAT_LIMIT, "float8_e4m3fn": 128.0, "float8_e5m2": 8192.0}
"""How far values of a low-precision dtype may go: a third of its greatest number or less, as for float16."""

INT_LIMIT = 2.0**20
"""Magnitude up to which 32- and 64-bit integers are kept: products of two such operands are guarded, not drawn."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A closed, finite interval that holds every element of a tensor.

    Attributes:
        lo: Least value.
        hi: Greatest value, at least ``lo``.
        integral: Whether every element is a whole number (an integer dtype, or the result of ``floor``).

    Raises:
        ValueError: when an end is not finite or the ends are out of order.
    """

    lo: float
    hi: float
    integral: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lo) and math.isfinite(self.hi) and self.lo <= self.hi):
            raise ValueError(f"no interval from {self.lo} to {self.hi}")

    @property
    def magnitude(self) -> float:
        """The largest absolute value in the interval."""
        return max(abs(self.lo), abs(self.hi))

    def contains(self, other: Bounds) -> bool:
        """Say whether ``other`` lies in this interval (and is whole where this one promises whole numbers)."""
        return self.lo <= other.lo and other.hi <= self.hi and (other.integral or not self.integral)

    def union(self, other: Bounds) -> Bounds:
        """Return the least interval holding both."""
        return Bounds(min(self.lo, other.lo), max(self.hi, other.hi), self.integral and other.integral)

    def including(self, value: float) -> Bounds:
        """Return the least interval holding this one and ``value``."""
        return self.union(Bounds(value, value, float(value).is_integer()))

    def __neg__(self) -> Bounds:
        return Bounds(-self.hi, -self.lo, self.integral)

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.lo + other.lo, self.hi + other.hi, self.integral and other.integral)

    def __sub__(self, other: Bounds) -> Bounds:
        return self + -other

    def __mul__(self, other: Bounds) -> Bounds:
        products = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
        return Bounds(min(products), max(products), self.integral and other.integral)

    def __truediv__(self, other: Bounds) -> Bounds:
        """Return quotients; raises ``ZeroDivisionError`` when ``other`` holds zero."""
        if other.lo <= 0 <= other.hi:
            raise ZeroDivisionError(f"{other} holds zero")
        inverse = Bounds(min(1 / other.lo, 1 / other.hi), max(1 / other.lo, 1 / other.hi))
        return self * inverse

    def scaled(self, factor: float) -> Bounds:
        """Return the interval times a number."""
        return self * Bounds(factor, factor, float(factor).is_integer())

    def summed(self, count: int) -> Bounds:
        """Return sums of ``count`` elements; of none: zero."""
        return self.scaled(float(count))

    def up_to(self, count: int) -> Bounds:
        """Return sums of any number of elements up to ``count``, none included."""
        return self.scaled(float(count)).including(0.0)

    def absolute(self) -> Bounds:
        """Return absolute values."""
        low = 0.0 if self.lo <= 0 <= self.hi else min(abs(self.lo), abs(self.hi))
        return Bounds(low, self.magnitude, self.integral)

    def square(self) -> Bounds:
        """Return squares, never negative."""
        positive = self.absolute()
        return Bounds(positive.lo * positive.lo, positive.hi * positive.hi, self.integral)

    def minimum(self, other: Bounds) -> Bounds:
        """Return element-wise minima."""
        return Bounds(min(self.lo, other.lo), min(self.hi, other.hi), self.integral and other.integral)

    def maximum(self, other: Bounds) -> Bounds:
        """Return element-wise maxima."""
        return Bounds(max(self.lo, other.lo), max(self.hi, other.hi), self.integral and other.integral)

    def clipped(self, lo: float, hi: float) -> Bounds:
        """Return values after clipping to ``[lo, hi]``."""
        whole = self.integral and float(lo).is_integer() and float(hi).is_integer()
        return Bounds(min(max(self.lo, lo), hi), min(max(self.hi, lo), hi), whole)

    def floor(self) -> Bounds:
        """Return whole numbers by rounding in any direction: from the floor of ``lo`` to the ceiling of ``hi``."""
        return Bounds(math.floor(self.lo), math.ceil(self.hi), True)

    def rounded(self, relative: float = ROUNDING, smallest: float = 0.0) -> Bounds:
        """Widen by a relative error of a float result; an end at zero stays, because rounding keeps the sign.

        Args:
            relative: The error.
            smallest: Numbers nearer to zero than this may become zero.
        """
        lo = self.lo * (max(1 - relative, 0.0) if self.lo > 0 else 1 + relative)
        hi = self.hi * (1 + relative if self.hi > 0 else max(1 - relative, 0.0))
        if 0 < lo < smallest:
            lo = 0.0
        if -smallest < hi < 0:
            hi = 0.0
        return Bounds(math.floor(lo), math.ceil(hi), True) if self.integral else Bounds(lo, hi)

    def rounded_as(self, dtype: str, steps: int = 4) -> Bounds:
        """Widen for a result of a float dtype that was rounded ``steps`` times, each of them to that dtype.

        Wider floats are widened by :data:`ROUNDING` whatever the steps, and keep their whole numbers.
        """
        roundoff = _ROUNDOFF.get(dtype)
        if roundoff is None:
            return self if self.integral else self.rounded()
        return self.rounded(max((1 + roundoff) ** min(steps, 64) - 1, ROUNDING), _SMALLEST[dtype])


def union_of(bounds: Iterable[Bounds]) -> Bounds:
    """Return the least interval holding all; raises ``ValueError`` for none."""
    items = list(bounds)
    if not items:
        raise ValueError("the union of no intervals")
    return functools.reduce(Bounds.union, items)


def is_float(dtype: str) -> bool:
    """Say whether a dtype name is of floating point, those of low precision included."""
    return "float" in dtype


@functools.cache
def default_bounds(dtype: str) -> Bounds:
    """Return what a parameter of a public function may hold: its dtype's part of :mod:`relaxkit.ir.domain`."""
    domain = domain_of(dtype) or INTEGERS
    return Bounds(domain.lo, domain.hi, domain.integral)


@functools.cache
def dtype_bounds(dtype: str) -> Bounds:
    """Say how far values of a dtype may go in a drawn module: its range, or this file's limits where those are less."""
    if is_float(dtype):
        limit = _LIMITS.get(dtype, FLOAT_LIMIT)
        return Bounds(-limit, limit)
    if dtype == "bool":
        return Bounds(0, 1, True)
    unsigned = dtype.startswith("uint")
    bits = int(dtype.removeprefix("uint" if unsigned else "int"))
    top = min(INT_LIMIT, 2.0 ** (bits if unsigned else bits - 1) - 1)
    return Bounds(0 if unsigned else -top, top, True)


def holds(dtype: str, bounds: Bounds) -> bool:
    """Say whether a dtype may hold what lies in bounds, whole or not."""
    limit = dtype_bounds(dtype)
    return limit.lo <= bounds.lo and bounds.hi <= limit.hi


def _top(dtype: str) -> Any:
    return np.asarray(_LIMITS[dtype]).astype(dtype)


@functools.lru_cache(maxsize=512)
def representable(lo: float, hi: float, dtype: str) -> tuple[float, float]:
    """Return the ends of the low-precision numbers in ``[lo, hi]``; ``lo`` and ``hi`` where there are none."""
    limit = _LIMITS[dtype]
    first, last = (np.asarray(min(max(end, -limit), limit)).astype(dtype) for end in (lo, hi))
    if float(first) < lo:
        first = np.nextafter(first, _top(dtype))
    if float(last) > hi:
        last = np.nextafter(last, -_top(dtype))
    return (float(first), float(last)) if float(first) <= float(last) else (lo, hi)


GRAIN = 64
"""Floats are multiples of 1/64, exact in float16 up to 32; of low precision they are rounded to what there is."""


def contents(shape: tuple[int, ...], dtype: str, bounds: Bounds, seed: int) -> Any:
    """Return an array of ``shape`` and ``dtype`` whose elements lie in ``bounds``.

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
