"""The tolerance of a transformed program's floats: measured on the original by stochastic arithmetic.

A pass that may reorder roundings changes each intermediate result by some roundings, and how much the output moves
depends on the program: a subtraction of nearly equal numbers amplifies them without bound.  So the amplification is
measured, not assumed.  The ORIGINAL program runs ``RUNS`` times with every float input, every constant of several
floats and every float result of a kernel moved by one random rounding of the granted unit ``u``
(:mod:`relaxkit.runtime.perturb`).  The observed spread of an output element, the largest deviation from the plain
run, is what one rounding at every place does to it.

``tolerance = C * (spread + u * |value|)`` with ``C = 4 + 2 * sqrt(N)``, ``N`` the number of elements of the largest
tensor that a kernel got.  A kernel is perturbed at its result only, while a reduction of ``N`` terms inside it rounds
at every step: ``N`` roundings of at most ``u / 2`` relative to partial sums.  With random signs the partial sums and
the roundings each grow as ``sqrt(N)``, so the error is about ``u/2 * N * rms`` against a measured spread of about
``u * sqrt(N) * rms``; for two evaluation orders that is a ratio of ``sqrt(N)``, doubled for safety.  The 4 covers
programs without reductions: two programs, and a kernel of several operations where the measurement sees one.

With few runs, roundings that cancel may do so in every one: two operands that are moved by one unit each, in opposite
directions, leave no spread in one run of two.  ``RUNS`` are enough for most programs; before a difference is reported,
``CONFIRMING_RUNS`` must not explain it either: that none of them shows such a pair has a chance of ``2**-32`` for each
element.  What no number of runs shows, :mod:`oracles.measure.float64` measures against float64.

Where the module decides on floats, a larger difference is an error only if no decision can explain it: runs that are
perturbed by all of ``C * u`` at once turn every decision that rounding may turn, and must not come near the difference
(:meth:`Measured.reach`); else the comparison is undecidable.

``u`` is the machine epsilon of the narrowest float dtype in the original (float16 intermediates with a float32 result
round as float16, and bfloat16 likewise); float16's for ``LOSSY``; ``APPROXIMATE_UNIT`` for polynomial approximations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxkit.passes.contract import NumericPromise
from relaxkit.runtime.perturb import smallest_subnormal
from relaxkit.runtime.values import Value

RUNS = 8
CONFIRMING_RUNS = 32
# A decision that the granted deviation can turn comes out either way in a perturbed run, about evenly: that none of so
# many runs turns it has a chance of one in ten million.
DECISION_RUNS = 24
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
APPROXIMATE_UNIT = 2.0**-16
FLOAT16_MAX = 65504.0
FLOAT16_TINY = 2.0**-14


@dataclass(frozen=True, slots=True)
class Unit:
    """One rounding: its relative size, and its absolute size near zero."""

    relative: float
    floor: float


def unit_of(promise: NumericPromise, dtypes: Sequence[str]) -> Unit:
    """Return the rounding that a promise grants, given the float dtypes of the original module."""
    widths = [EPSILON[dtype] for dtype in dtypes if dtype in EPSILON]
    narrowest = max(widths, default=EPSILON["float32"])
    name = next((dtype for dtype in EPSILON if EPSILON[dtype] == narrowest), "float32")
    if promise is NumericPromise.LOSSY and narrowest < EPSILON["float16"]:
        return Unit(EPSILON["float16"], smallest_subnormal("float16"))
    if promise is NumericPromise.APPROXIMATE:
        # A polynomial for the exponential function is of normal numbers: below the smallest of them it gives zero.
        return Unit(max(narrowest, APPROXIMATE_UNIT), SMALLEST_NORMAL[name])
    return Unit(narrowest, smallest_subnormal(name))


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one function's perturbed runs.

    Attributes:
        elements: Number of elements of the largest tensor that a kernel got.
        largest: Largest magnitude of an intermediate result; infinite when one was not finite.
        smallest: Smallest magnitude other than zero of an intermediate result.
    """

    runs: tuple[Value, ...]
    unit: Unit
    elements: int
    largest: float
    smallest: float

    @property
    def factor(self) -> float:
        """The constant ``C`` of the module's docstring."""
        return 4.0 + 2.0 * float(np.sqrt(self.elements))

    def tolerance(
        self, path: tuple[int, ...], expected: np.ndarray[Any, Any], _observed: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Absolute tolerance of every element of the output at ``path``."""
        nominal = expected.astype("float64")
        spread = np.zeros(nominal.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            for run in self.runs:
                array = _at(run, path)
                if array is None or array.shape != nominal.shape:
                    continue
                # A run that left the domain of an operator at its border (NaN) tells nothing of the spread.
                deviation = np.abs(array.astype("float64") - nominal)
                spread = np.fmax(spread, np.where(np.isfinite(deviation), deviation, 0.0))
            allowed = self.factor * (spread + self.unit.relative * np.abs(nominal) + self.unit.floor)
        return np.asarray(np.where(np.isfinite(allowed), allowed, 0.0))

    @property
    def wider(self) -> Unit:
        """All the deviation that is granted, as one rounding: moves every decision that rounding may move."""
        return Unit(self.unit.relative * self.factor, self.unit.floor * self.factor)

    def reach(
        self, path: tuple[int, ...], expected: np.ndarray[Any, Any], _observed: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Return how far the perturbed runs carried each element, for runs perturbed by :attr:`wider` of others.

        An element that was not finite in some run, or an integer that was not the same in all of them, may become
        anything.  Four times the observed deviation covers sizes of a jump that the runs did not show.
        """
        nominal = expected.astype("float64")
        furthest = np.zeros(nominal.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            for run in self.runs:
                array = _at(run, path)
                if array is None or array.shape != nominal.shape:
                    return np.full(nominal.shape, np.inf)
                deviation = np.abs(array.astype("float64") - nominal)
                unknown = ~np.isfinite(deviation) if expected.dtype.kind not in "iub" else deviation > 0
                furthest = np.maximum(furthest, np.where(unknown, np.inf, deviation))
            return np.asarray(4.0 * (furthest + self.unit.relative * np.abs(nominal) + self.unit.floor))

    @property
    def may_leave_float16(self) -> bool:
        """Say whether an intermediate is too large or too small for float16, where a lossy pass may overflow."""
        return self.largest * 2 > FLOAT16_MAX or self.smallest < FLOAT16_TINY


def _at(value: Value, path: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
    for index in path:
        if not isinstance(value, tuple) or index >= len(value):
            return None
        value = value[index]
    return np.asarray(value) if isinstance(value, (np.ndarray, int, float)) else None
