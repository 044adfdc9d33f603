"""When what TVM computes for one call is as documented, and when that cannot be decided.

A single operator is judged more sharply than a program: both sides get the very same operands.  ``d`` is what the
interpreter gives in the declared dtypes, ``r`` what it gives in float64 on the same operands, ``o`` what TVM gives.

*Floats.*  TVM evaluates some formula of the operator, in an order and a width of its own choice.  Any such evaluation
is as good as the exact function of operands that are off by a rounding, times what the formula rounds itself.  So the
interpreter runs ``RUNS`` times in float64 with every float operand moved by one rounding ``u`` of the narrowest dtype
in play; their largest distance from ``r`` is the spread, the condition of the operator at these operands.  Granted is

    ``C * (spread + u * max(|r|, 1) + floor)``,  ``C = 4 + 2 * sqrt(N)`` as in :mod:`oracles.measure.tolerance`,

around ``r`` or around ``d``.  Where all terms of a sum are alike, as behind a broadcast, all additions between two
powers of two round by the same amount in the same direction, and nothing cancels: half of the ``N`` terms by half of
``u`` of the sum, a quarter of them by half as much, and so on.  So ``N / 2`` of ``u * max(|r|, 1)`` are granted, where
that is more than ``C`` (not in float8, where that would be anything).  The 1 is for formulas that cancel near zero, as
``(1 - exp(-2 * x)) / (1 + exp(-2 * x))`` does: no operator documents a *relative* accuracy, and what is off by less
than that of numbers around 1 is not worth a report.  The instability of TVM's formula itself, seen only when TVM runs
on moved operands, is not granted: a formula that loses everything where the function is well behaved computes something
else than documented.

*Infinities and NaN* count where ``d``, ``r`` (a little greater and a little less, in the declared dtype) and all moved
runs agree on them, or agree that the number is finite.

*Integers, booleans, shapes* are exact, where ``r`` and all moved runs say the same as ``d``: what rounding may turn is
undecided.  Zeros, infinities, NaN and integers are never moved, so decisions on those are decided.

*float8* as a result is granted ``C`` roundings of its own and a normal number near zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm

from oracles.measure.comparison import is_floating, kinds_of
from oracles.measure.original import moved
from oracles.measure.tolerance import EPSILON, Unit
from oracles.semantics.expected import UNDECIDED, Expectation
from relaxkit.interpreter import Interpreter, Precision, Raised, Undefined, Unsupported
from relaxkit.interpreter.operands import limits
from relaxkit.runtime.perturb import Perturber, smallest_subnormal
from relaxkit.runtime.values import Value, arrays_in

RUNS = 6


class Unsure(Exception):
    """Nothing can be said of the whole result; the message is the reason."""


def expectation(module: tvm.IRModule, name: str, arguments: Sequence[Any]) -> Expectation:
    """Return what a function of a module is documented to give.

    Raises:
        Unsure: The interpreter does not know, or says that it is not defined, also for operands a rounding away.
    """
    plain = Interpreter(module)
    try:
        value = plain.call(name, arguments)
        arrays = arrays_in([*arguments, value])
        # One rounding of the narrowest float dtype; those of one byte are no measure for others.
        names = [array.dtype.name for array in arrays if array.dtype.name in EPSILON]
        narrowest = max(names, key=lambda name: EPSILON[name], default="float32")
        unit = Unit(EPSILON[narrowest], smallest_subnormal(narrowest))
        exact = Interpreter(module, Precision.FLOAT64)
        truth = exact.call(name, arguments)
        mover = Perturber(np.random.default_rng(0), unit.relative, unit.floor)
        runs = [
            Interpreter(module, Precision.FLOAT64).call(name, [moved(each, mover) for each in arguments])
            for _ in range(RUNS if any(is_floating(array.dtype) for array in arrays) else 0)
        ]
    except (Undefined, Unsupported, Raised) as error:
        raise Unsure(str(error)) from error
    if exact.rounded:
        raise Unsure("kernel or packed function in its own dtypes")
    found = Expectation(value)
    _collect(found.tolerances, value, truth, runs, unit, max([1, *(array.size for array in arrays)]), ())
    return found


def _collect(
    into: dict[tuple[int, ...], np.ndarray[Any, Any]],
    value: Value,
    truth: Value,
    runs: list[Value],
    unit: Unit,
    elements: int,
    path: tuple[int, ...],
) -> None:
    if isinstance(value, tuple):
        for index, field_ in enumerate(value):
            parts = [_part(each, index) for each in (truth, *runs)]
            _collect(into, field_, parts[0], parts[1:], unit, elements, (*path, index))
    elif isinstance(value, np.ndarray):
        others = [each for each in (truth, *runs) if isinstance(each, np.ndarray) and each.shape == value.shape]
        if len(others) < 1 + len(runs):
            into[path] = np.full(value.shape, UNDECIDED)
        elif is_floating(value.dtype):
            into[path] = _granted(value, others[0], others[1:], unit, elements)
        else:
            turned = np.any([each != value for each in others], axis=0)
            into[path] = np.where(turned, UNDECIDED, 0.0)


def _part(value: Value, index: int) -> Value:
    return value[index] if isinstance(value, tuple) and index < len(value) else None


def _granted(
    value: np.ndarray[Any, Any],
    truth: np.ndarray[Any, Any],
    runs: list[np.ndarray[Any, Any]],
    unit: Unit,
    elements: int,
) -> np.ndarray[Any, Any]:
    """Return how far each element may be from ``value``, where the largest operand or result has so many elements."""
    info = limits(value.dtype)
    small = value.dtype.itemsize == 1
    factor = 4.0 + 2.0 * float(np.sqrt(elements))
    terms = factor if small else max(factor, elements / 2)
    relative, floor = (float(info.eps), float(info.tiny)) if small else (unit.relative, unit.floor)
    with np.errstate(all="ignore"):
        kinds = kinds_of(value.astype("float64"))
        decided = np.ones(value.shape, bool)
        for each in (truth, truth * (1 + factor * relative), truth * (1 - factor * relative), *runs):
            decided &= kinds_of(each.astype(value.dtype).astype("float64")) == kinds
        spread = np.zeros(value.shape)
        for run in runs:
            spread = np.fmax(spread, np.abs(run - truth))
        size = np.abs(truth) if small else np.maximum(np.abs(truth), 1.0)
        allowed = factor * (spread + floor) + terms * relative * size + np.abs(value.astype("float64") - truth)
    finite = kinds == 0
    return np.where(decided, np.where(finite & np.isfinite(allowed), allowed, 0.0), UNDECIDED)
