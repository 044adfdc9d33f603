"""The second witness against a float: how far are the original and the transformed program from exact arithmetic?

:mod:`oracles.measure.tolerance` bounds how far two roundings of one formula may be apart, ``S`` for each element, by
moving intermediate results at random.  It does not see an error that comes out the same in every run: a long sum in a
narrow float that stands still because each term is less than half a unit of it, a variance ``E[x^2] - E[x]^2`` that
comes out negative inside a kernel, an overflow.  A pass that adds in another order, or decomposes such a kernel, then
gives something nearer to the truth and far from the original.  So what ``S`` does not explain is compared with the
truth ``r``: the original, interpreted in float64 (:mod:`relaxkit.interpreter`).  Its own error is less than ``2**-29``
of what the same program makes in float32.

Let ``o`` and ``t`` be the results of the original and of the transformed program, ``e = |o - r|`` the error of the
original, ``u`` and ``floor`` the rounding that the promise grants, and ``C = 4 + 2 * sqrt(N)`` the constant of
``S = C * (spread + u * |o| + floor)``.  ``C`` is for the distance of two programs, each of which rounds; from the truth
to one of them it is half of that, ``K = C / 2 = 2 + sqrt(N)``:

* ``sqrt(N)``: of one sum in two orders, the error of the worse is up to about ``sqrt(N)`` times that of the better (one
  after the other: ``u * N * rms`` at most; in pairs: ``u * sqrt(N * log N) * rms``, for terms of random sign).  What
  splits a reduction, merges two or changes the order of factors stays within it.
* 2: without a reduction, ``t`` rounds at most about twice as often as ``o``: ``a * (b + c)`` twice, ``a * b + a * c``
  three times, and the terms of the latter are amplified as ``b`` and ``c`` are.

``e`` is what rounding did to this program at this element, amplification included, so ``t`` may err by ``K * e``.  It
is one sample, though, and may be zero by luck: short sums of the default domain are exact.  One rounding of the result
is granted whatever came before, and ``K`` times one for a result that several operations make.  Hence

    ``t`` is wrong where  ``|t - o| > S``  and  ``|t - r| > K * (e + u * |r| + floor)``.

Either argument alone would accuse right programs, the first where errors are the same in every run, the second where
``e`` is small by luck and the intermediate results are not; both must fail.  The second excuses ``K * e`` more than the
first at most.

Where ``e > S``, the original is farther from the truth than its own roundings explain: it errs as above, or decides
otherwise than float64 does, or its legalization is wrong.  Then ``t`` within the bound is not right by this argument
but *undecidable*, and counted as that; beyond the bound it is wrong by either argument.  Where ``o`` is not finite
although ``r`` is (an intermediate result overflowed, or a variance came out negative), ``e`` is infinite.

Integers and booleans are exact, and promises of exact bits are not brought here.  There is no truth where the
interpreter does not know a part of the program, where kernels or packed functions compute in their declared dtypes
(``Interpreter.rounded``), and where the program has no float narrower than float64: then ``S`` decides alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm

from oracles.measure.comparison import is_floating, paired
from oracles.measure.tolerance import Measured
from relaxkit.interpreter import Interpreter, Precision, Raised, Undefined, Unsupported
from relaxkit.ir.functions import symbol_of
from relaxkit.runtime.values import Value

Array = np.ndarray[Any, Any]
FINEST_UNIT = 2.0**-36
"""Roundings finer than this are not judged by float64: it has only 16 bits more."""


def float64_run(module: tvm.IRModule, symbol: str, arguments: Sequence[Any]) -> Value:
    """Return what a function of a module returns in float64; ``None`` where the interpreter cannot say."""
    name = next((gv.name_hint for gv, f in module.functions_items() if symbol_of(f) == symbol), None)
    if name is None:
        return None
    interpreter = Interpreter(module, Precision.FLOAT64)
    try:
        result: Value = interpreter.call(name, arguments)
    except (Unsupported, Undefined, Raised):
        return None
    return None if interpreter.rounded else result


@dataclass(frozen=True, slots=True)
class Settled:
    """The part of a difference that float64 does not explain.

    Attributes:
        output: The transformed program's result, with the original's wherever that is as good by the truth.
        doubtful: Whether some of these elements are undecidable, since the original is off by more than its roundings.
    """

    output: Value
    doubtful: bool


def settle(truth: Value, measured: Measured, expected: Value, observed: Value) -> Settled:
    """Accept the floats of a transformed program that are as near to the truth as the module's docstring allows."""
    doubts = [False]

    def settled(path: tuple[int, ...], right: Array, left: Array, exact: Array) -> Array:
        if left.dtype != right.dtype or not is_floating(left.dtype) or exact.dtype != np.dtype("float64"):
            return right
        accepted, doubtful = _accepted(exact, measured, left, right, path)
        doubts.append(bool(doubtful.any()))
        return np.where(accepted, left, right)

    if truth is None or measured.unit.relative < FINEST_UNIT:
        return Settled(observed, False)
    return Settled(paired(settled, observed, expected, truth), any(doubts))


def _accepted(
    truth: Array, measured: Measured, expected: Array, observed: Array, path: tuple[int, ...]
) -> tuple[Array, Array]:
    """Which elements are as good by the truth, and of which of them that decides nothing."""
    left, right = expected.astype("float64"), observed.astype("float64")
    explained = measured.tolerance(path, expected, observed)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(np.isfinite(left), np.abs(left - truth), np.inf)
        granted = measured.unit.relative * np.abs(truth) + measured.unit.floor
        near = ~(np.abs(right - truth) > 0.5 * measured.factor * (error + granted))
        far = ~(np.abs(right - left) <= explained)
        accepted = far & near & np.isfinite(truth) & (np.isfinite(right) | np.isinf(error))
        doubtful = accepted & (error > explained)
    # Both not finite, or equal: no difference that the truth would have to explain.
    return accepted, doubtful & ~((left == right) | (np.isnan(left) & np.isnan(right)))
