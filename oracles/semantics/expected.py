"""The result that a call should give, element by element, and how far each may be from it.

A repro script holds one of these; so it stands apart from what :mod:`oracles.semantics.nearness` needs to make one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracles.measure.comparison import Mismatch, compare, paired
from relaxkit.runtime.values import Value

UNDECIDED = np.inf
"""The tolerance of an element of which nothing can be said."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The result that a call should give.

    Attributes:
        value: By the interpreter, in the declared dtypes.
        tolerances: For each array of the result, by path: how far each element may be from ``value``, with
            :data:`UNDECIDED` for anything.
    """

    value: Value
    tolerances: dict[tuple[int, ...], np.ndarray[Any, Any]] = field(default_factory=dict)

    def mismatch(self, observed: Value) -> Mismatch | None:
        """Where a result is not as expected."""
        return compare(self.value, paired(self._excused, observed, self.value))

    def _excused(self, path: tuple[int, ...], observed: Any, expected: Any) -> Any:
        """Return the observed array with the expected elements where it is near enough."""
        if path not in self.tolerances or expected.dtype != observed.dtype:
            return observed
        return np.where(near(expected, observed, self.tolerances[path]), expected, observed)


def near(
    expected: np.ndarray[Any, Any], observed: np.ndarray[Any, Any], tolerance: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Which elements are as near as granted; an infinite tolerance grants anything."""
    left, right = expected.astype("float64"), observed.astype("float64")
    with np.errstate(all="ignore"):
        finite = np.isfinite(left) & np.isfinite(right) & (np.abs(left - right) <= tolerance)
    return np.asarray(finite | np.isinf(tolerance))
