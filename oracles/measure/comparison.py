"""Comparison of two trees of results, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxkit.runtime.values import Opaque, ShapeValue, Value

SINGLE = 2.0**-20  # eight roundings of a float32

# Gives the absolute tolerance of every element of the array at a path; the third argument is what was observed.
Tolerance = Callable[[tuple[int, ...], np.ndarray[Any, Any], np.ndarray[Any, Any]], np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where two results differ first.

    Attributes:
        kind: ``wrong-structure``, ``wrong-shape``, ``wrong-dtype`` or ``wrong-value``.
        path: Indices through nested tuples.
        expected: The expected value, shape or type, for people.
        observed: What was there instead.
        seen: The element that was there instead, alone.
        integral: Whether the differing values are integers or booleans.
        slight: Whether two floats agree in the digits of a float32: nobody documents how many an operator gives.
    """

    kind: str
    path: tuple[int, ...]
    expected: str
    observed: str
    integral: bool = False
    seen: str = ""
    slight: bool = False

    def due(self, name: str, does: str = "returns") -> str:
        """Say what a function of this name should have returned, and as which output where there are several."""
        place = ".".join(map(str, self.path))
        expected = f"a tensor of shape {self.expected}" if self.kind == "wrong-shape" else self.expected
        return f"output {place} of {name} is {expected}" if place else f"{name} {does} {expected}"

    @property
    def numbers(self) -> tuple[str, ...]:
        """The path, what was expected, what was observed, and of elements the observed one alone."""
        return str(list(self.path)), self.expected, self.observed, self.seen or self.observed


def exact(_path: tuple[int, ...], expected: np.ndarray[Any, Any], _observed: np.ndarray[Any, Any]) -> Any:
    """Tolerance of bit-exact promises: none.  NaN equals NaN, and -0.0 equals 0.0 (as IEEE comparison has it)."""
    return np.zeros(expected.shape)


def compare(
    expected: Value,
    observed: Value,
    tolerance: Tolerance = exact,
    path: tuple[int, ...] = (),
    *,
    integers: bool = False,
) -> Mismatch | None:
    """Return the first difference of two trees, or ``None``; the tolerance is for ``integers`` where it says so."""
    if isinstance(expected, np.ndarray) and isinstance(observed, np.ndarray):
        return _arrays(expected, observed, tolerance, path, integers)
    if isinstance(expected, tuple) and isinstance(observed, tuple):
        if len(expected) != len(observed):
            return Mismatch("wrong-structure", path, f"{len(expected)} fields", f"{len(observed)} fields")
        for index, (left, right) in enumerate(zip(expected, observed, strict=True)):
            if (found := compare(left, right, tolerance, (*path, index), integers=integers)) is not None:
                return found
        return None
    if isinstance(expected, (bool, int, float)) and isinstance(observed, (bool, int, float)):
        return _arrays(np.asarray(expected), np.asarray(observed), tolerance, path, integers)
    if isinstance(expected, ShapeValue) and isinstance(observed, ShapeValue):
        if expected == observed:
            return None
        return Mismatch("wrong-value", path, f"shape {expected.dims}", f"shape {observed.dims}", integral=True)
    if isinstance(expected, Opaque) and isinstance(observed, Opaque):
        return None
    if type(expected) is type(observed) and expected == observed:
        return None
    return Mismatch("wrong-structure", path, type(expected).__name__, type(observed).__name__)


def _arrays(
    expected: np.ndarray[Any, Any],
    observed: np.ndarray[Any, Any],
    tolerance: Tolerance,
    path: tuple[int, ...],
    integers: bool,
) -> Mismatch | None:
    if expected.dtype != observed.dtype:
        return Mismatch("wrong-dtype", path, str(expected.dtype), str(observed.dtype))
    if expected.shape != observed.shape:
        return Mismatch("wrong-shape", path, str(expected.shape), str(observed.shape))
    different = differing(expected, observed)
    if not different.any():
        return None
    integral = not is_floating(expected.dtype)
    if integers or not integral:
        different &= ~_within(expected, observed, tolerance(path, expected, observed))
        if not different.any():
            return None
    index = tuple(int(i) for i in np.argwhere(different)[0])
    count = int(different.sum())
    number, other = float(expected[index]), float(observed[index])
    return Mismatch(
        "wrong-value",
        path,
        f"{expected[index]!s}{f' at index {list(index)}' if index else ''}",
        f"{observed[index]!s}; {count} of {different.size} elements differ",
        integral,
        str(observed[index]),
        not integral and abs(other - number) <= SINGLE * abs(number) < math.inf,
    )


def paired(leaf: Callable[..., Any], observed: Value, *others: Value, path: tuple[int, ...] = ()) -> Value:
    """Return a result with ``leaf`` of path and arrays where all trees have arrays of one shape; elsewhere as it is."""
    if isinstance(observed, tuple):
        if all(isinstance(each, tuple) and len(each) == len(observed) for each in others):
            parts: Any = enumerate(zip(observed, *others, strict=True))
            return tuple(paired(leaf, *part, path=(*path, index)) for index, part in parts)
    elif all(isinstance(each, np.ndarray) and each.shape == getattr(observed, "shape", None) for each in others):
        made: Value = leaf(path, observed, *others)
        return made
    return observed


def differing(expected: np.ndarray[Any, Any], observed: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which elements differ, NaN being equal to NaN and -0.0 to 0.0."""
    with np.errstate(invalid="ignore"):
        different = expected != observed
        if is_floating(expected.dtype):
            different &= ~((expected != expected) & (observed != observed))
    return np.asarray(different)


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Say whether a dtype is a float, those that NumPy does not know itself (bfloat16) included."""
    return dtype.kind == "f" or "float" in dtype.name


def is_near(expected: str, seen: str) -> bool:
    """Say whether two floats differ by less than a twentieth: digits are lost."""
    texts = [each.partition(" ")[0] for each in (expected, seen)]
    try:
        number, other = map(float, texts)
    except ValueError:
        return False
    return any("." in each for each in texts) and abs(other - number) < abs(number) / 20


def _within(expected: np.ndarray[Any, Any], observed: np.ndarray[Any, Any], tolerance: Any) -> np.ndarray[Any, Any]:
    left, right = expected.astype("float64"), observed.astype("float64")
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray((np.abs(left - right) <= tolerance) & np.isfinite(left) & np.isfinite(right))


def kinds_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return 0 for each finite number, 1 and -1 for the infinities, 2 for NaN."""
    return np.asarray(np.where(np.isnan(array), 2.0, np.where(np.isinf(array), np.sign(array), 0.0)))
