"""Numeric differentiation: whether what an adjoint function returns are the derivatives of the function's target.

The reference is the original program itself.  Along a direction ``v`` the slope of its target is the central difference
``(f(x + h v) - f(x - h v)) / 2h``, taken at ``h``, ``h/2`` and ``h/4`` and extrapolated twice, which leaves
an error of order ``h**6``.  Points and directions are dyadic numbers of few bits, so that ``x + h v`` is exact in
float32 and the step is the one that is divided by.

What the slope may be off by is measured at each probe, and nothing is taken for wrong within it:

* *Truncation*: ``SAFETY`` times the change that the last extrapolation made, which bounds the error of its result by
  far where the target is smooth, and is as large as the slope where a jump lies between the steps.
* *Kinks* (``relu``, ``abs``, ``max``): at a kink the central difference is the mean of two slopes, at every step alike.
  Forward minus backward difference is ``h f''`` where the target is smooth, and halves with the step; at a kink it
  stays.  ``SAFETY`` times what does not halve is added.  So a probe near a kink has a wide error, and decides nothing.
* *Rounding*: ``2 noise / (h/4)``: extrapolation amplifies errors of single values by less than 1.5 / (h/4), and
  ``noise`` is the spread of the target in runs whose every intermediate result is moved by a rounding
  (:mod:`oracles.measure.tolerance`, with its factor).
* *Rounding of the adjoint*: ``ROUNDING`` of the sum of ``|g_i v_i|``, some thousand roundings of float32.

A wrong formula is off by the order of the slope itself; a probe whose error is more than ``DECIDABLE`` of the slope
says nothing.  A difference counts only when probes of both step sizes show it, and when it is more than ``NOTICEABLE``
of the slope: that leaves room for what the error estimates do not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oracles.measure.comparison import compare

STEPS = (2.0**-4, 2.0**-6)
SAFETY = 4.0
ROUNDING = 2.0**-12
DECIDABLE = 0.125
NOTICEABLE = 2.0**-6
FLAT = 2.0**-10
DENSE = 2
SPARSE = 6
WIDE = ("float32", "float64")
"""Dtypes in which a step is exact."""

DIRECTIONS_SEED = 7
"""Every run probes the same directions."""

Loss = Callable[[Sequence[Any]], float]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A float tensor among the arguments; its path begins with the position of the argument."""

    path: tuple[int, ...]
    array: Any


@dataclass(frozen=True, slots=True)
class Slope:
    """A directional derivative and how far it may be off."""

    value: float
    error: float


@dataclass(frozen=True, slots=True)
class WrongGradient:
    """A derivative that is not what differences of the target say.

    Attributes:
        what: What is wrong, without names or numbers.
        path: Which argument (and field of a tuple).
        expected: From differences.
        observed: From the adjoint.
        where: The direction of a derivative, in words.
    """

    what: str
    path: tuple[int, ...]
    expected: str
    observed: str
    where: str = ""


def leaves_of(value: Any, path: tuple[int, ...]) -> Iterator[Leaf]:
    """Tensors of an argument or of a gradient, nested tuples too."""
    if isinstance(value, np.ndarray):
        yield Leaf(path, value)
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from leaves_of(item, (*path, index))


def settled(arguments: Sequence[Any], random: np.random.Generator) -> tuple[Any, ...]:
    """Return arguments to differentiate at: floats in [-1.875, 1.875], off the grid, where ties are common."""
    return tuple(_settled(argument, random) for argument in arguments)


def _settled(value: Any, random: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.name in WIDE:
        offsets = random.integers(-7, 8, value.shape)
        return np.asarray((np.round(value.astype("float64") * 912.0) * 2 + offsets) / 2048.0).astype(value.dtype)
    if type(value) in (tuple, list):
        return tuple(_settled(item, random) for item in value)
    return value


def adjoint_fault(
    loss: Loss, gradient: Any, arguments: Sequence[Any], expected: Any, result: Any, noise: float, exact: bool
) -> tuple[WrongGradient | None, int]:
    """Find what is wrong with what an adjoint returned, and how many tensors' gradients were decided.

    Args:
        noise: How far one value of the target may be off by rounding.
        exact: Whether the first field must be what the function returns, bit by bit.
    """
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], tuple):
        return WrongGradient("adjoint returns no pair of result and gradients", (), "a pair", str(type(result))), 0
    if exact and (other := compare(expected, result[0])) is not None:
        what = "adjoint returns another result than its function"
        return WrongGradient(what, other.path, other.expected, other.observed), 0
    wanted = gradient.parameters
    if len(result[1]) != len(wanted):
        return WrongGradient("another number of gradients", (), str(len(wanted)), str(len(result[1]))), 0
    judged = [index for index in wanted if index not in gradient.open]
    given = tuple(value for index, value in zip(wanted, result[1], strict=True) if index in judged)
    return wrong_gradient(loss, arguments, judged, given, noise, np.random.default_rng(DIRECTIONS_SEED))


def target_value(value: Any, path: Sequence[int]) -> float:
    """Return the target among what a function returned; not a number when it is not there."""
    for index in path:
        value = value[index] if isinstance(value, tuple) and index < len(value) else None
    return float(value) if isinstance(value, np.ndarray) and value.ndim == 0 else float("nan")


def wrong_gradient(
    loss: Loss,
    arguments: Sequence[Any],
    positions: Sequence[int],
    gradients: Sequence[Any],
    noise: float,
    random: np.random.Generator,
) -> tuple[WrongGradient | None, int]:
    """Return the first that is wrong of an adjoint's gradients, one a position, and how many tensors were decided."""
    decided = 0
    for position, gradient in zip(positions, gradients, strict=True):
        wanted = list(leaves_of(arguments[position], (position,)))
        given = {leaf.path: leaf.array for leaf in leaves_of(gradient, (position,))}
        for leaf in wanted:
            if leaf.array.dtype.kind != "f":
                continue
            array = given.get(leaf.path)
            if array is None or array.shape != leaf.array.shape or array.dtype != leaf.array.dtype:
                seen = "none" if array is None else f"{array.dtype}{array.shape}"
                expected = f"{leaf.array.dtype}{leaf.array.shape}"
                return WrongGradient("gradient of another type than its parameter", leaf.path, expected, seen), 0
            if leaf.array.dtype.name not in WIDE or not leaf.array.size:
                continue
            found, sure = _check_leaf(loss, arguments, leaf, np.asarray(array, "float64"), noise, random)
            if found is not None:
                return found, decided
            decided += sure
    return None, decided


def _check_leaf(
    loss: Loss, arguments: Sequence[Any], leaf: Leaf, gradient: Any, noise: float, random: np.random.Generator
) -> tuple[WrongGradient | None, bool]:
    """Find what is wrong with a tensor's gradient, along one element if that shows it, and whether a probe decided."""
    found, sure = None, False
    for dense, direction in _directions(leaf.array.shape, random):
        if not dense and sure:
            break
        slopes = []
        for step in STEPS:
            slope = slope_along(loss, arguments, leaf, direction, step, noise)
            verdict = _judged(slope, gradient, direction)
            slopes.append((slope, verdict))
            if verdict is True:
                sure = True
                break
        if all(verdict is False for _, verdict in slopes):
            slope = slopes[-1][0]
            assert slope is not None
            observed = float(np.sum(np.where(direction != 0, gradient, 0.0) * direction))
            what = "gradient is not finite" if not np.isfinite(observed) else "gradient differs from differences"
            where = "a direction" if dense else f"element {np.argwhere(direction)[0].tolist()}"
            wrong = WrongGradient(what, leaf.path, f"{slope.value:.6g}", f"{observed:.6g}", f" along {where}")
            if not dense:
                return wrong, True
            found = found or wrong
    return found, sure or found is not None


def _judged(slope: Slope | None, gradient: Any, direction: np.ndarray[Any, Any]) -> bool | None:
    """Say whether the gradient agrees with a slope; ``None`` when that cannot be said."""
    if slope is None:
        return None
    terms = np.where(direction != 0, gradient, 0.0) * direction
    observed = float(np.sum(terms))
    if not np.isfinite(observed):
        return False if slope.error <= DECIDABLE * abs(slope.value) + FLAT else None
    allowed = slope.error + ROUNDING * float(np.sum(np.abs(terms)))
    size = max(abs(slope.value), abs(observed))
    difference = abs(slope.value - observed)
    if difference <= allowed:
        return True if allowed <= DECIDABLE * size or (observed == 0.0 and allowed <= FLAT) else None
    return False if difference > NOTICEABLE * size and slope.error <= DECIDABLE * size else None


def _directions(shape: tuple[int, ...], random: np.random.Generator) -> Iterator[tuple[bool, Any]]:
    """Directions to probe: some through all elements, then, for what they leave undecided, some along one."""
    size = int(np.prod(shape, dtype=np.int64))
    for _ in range(DENSE):
        signs = random.choice([-1.0, 1.0], shape)
        yield True, np.asarray(signs * random.integers(4, 17, shape) / 16.0)
    for index in random.permutation(size)[:SPARSE]:
        direction = np.zeros(size)
        direction[index] = 1.0
        yield False, direction.reshape(shape)


def slope_along(
    loss: Loss, arguments: Sequence[Any], leaf: Leaf, direction: np.ndarray[Any, Any], step: float, noise: float
) -> Slope | None:
    """Return the derivative of the target along a direction; ``None`` where a value is not finite."""

    def at(distance: float) -> float:
        moved = leaf.array.astype("float64") + distance * direction
        return loss(replaced(arguments, leaf.path, np.asarray(moved, leaf.array.dtype)))

    middle = at(0.0)
    central, bend = [], []
    for level in range(3):
        size = step / 2**level
        ahead, behind = at(size), at(-size)
        central.append((ahead - behind) / (2 * size))
        bend.append((ahead + behind - 2 * middle) / size)
    if not np.all(np.isfinite([middle, *central, *bend])):
        return None
    first, second = (4 * central[1] - central[0]) / 3, (4 * central[2] - central[1]) / 3
    best = (16 * second - first) / 15
    kink = max(abs(bend[1] - 2 * bend[2]), abs(bend[0] - 2 * bend[1]))
    error = SAFETY * (abs(second - first) + kink) + 2 * noise / (step / 4)
    return Slope(float(best), float(error))


def replaced(value: Sequence[Any], path: tuple[int, ...], array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Arguments with one tensor replaced."""
    head, *rest = path
    item = array if not rest else replaced(value[head], tuple(rest), array)
    return (*value[:head], item, *value[head + 1 :])
