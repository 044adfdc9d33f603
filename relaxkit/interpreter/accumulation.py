"""Sums and products of floats that depend on the order or the precision of their steps, which TVM does not document.

Two orders differ by roundings, which tolerances are for, unless

* an intermediate result is beyond the greatest number of the dtype: ``3e38 + 3e38 - 3e38`` is 3e38 or infinite;
* there are more terms than the dtype has digits for: 1000 ones in bfloat16 are 256 one by one, 1000 in float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import limits
from relaxkit.interpreter.registry import Array, Request, Undefined, is_float

Axes = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Limits:
    """Greatest and least normal number of a float dtype, and how many ones it adds up one by one, halved."""

    greatest: float
    least: float
    terms: float


@functools.cache
def _limits(dtype: str) -> _Limits:
    info = limits(dtype)
    return _Limits(float(info.max), float(info.smallest_normal), 1 / float(info.eps))


def require_sums(
    request: Request, values: Array, axes: Axes, declared: str | None = None, *, stepwise: bool = False
) -> None:
    """Check that no order of adding up elements leaves the dtype or its digits.

    Args:
        declared: Dtype that is summed in; default: that of the first argument, also where float64 is computed.
        stepwise: Whether it is documented that each step is rounded to that dtype.

    Raises:
        Undefined: Some order may: beyond half of the greatest number, for rounding adds to it.
    """
    if is_float(values.dtype.name) and values.size:
        count = 0 if stepwise else math.prod([values.shape[axis] for axis in np.atleast_1d(axes)])
        require_contraction(functools.partial(np.sum, axis=axes), [values], declared or request.declared(0), count)


def require_products(request: Request, values: Array, axes: Axes, declared: str | None = None) -> None:
    """Check that no order of multiplying elements leaves the dtype, where another one would stay inside.

    Raises:
        Undefined: The great factors alone leave it, or the small ones alone lose digits.
    """
    if not is_float(values.dtype.name) or values.size == 0:
        return
    limits = _limits(declared or request.declared(0))
    most, least = math.log2(limits.greatest) - 1, math.log2(limits.least) + 1
    factors = np.where(np.isfinite(values) & (values != 0), np.abs(values), 1).astype("float64")
    powers = np.log2(factors)
    if float(np.abs(powers).max()) * values.size <= min(most, -least):
        return
    if np.any(np.maximum(powers, 0).sum(axis=axes) > most):
        raise Undefined("product that may overflow")
    if np.any(np.minimum(powers, 0).sum(axis=axes) < least):
        raise Undefined("product that may underflow")


def require_inner_products(left: Array, right: Array, declared: str) -> None:
    """Check that no order of adding up the products of ``left @ right`` leaves the dtype; as :func:`require_sums`."""
    require_contraction(np.matmul, [left, right], declared, left.shape[-1])


def require_contraction(
    contract: Callable[..., Any], operands: Sequence[Array], declared: str, count: int | None = None
) -> None:
    """Check that no order of adding up products of several operands leaves the dtype or its digits.

    Args:
        contract: What sums up products of one element of each operand.
        declared: Dtype of the sums, also where float64 is computed.
        count: Terms of a sum, 0 where their number does not matter; by default those of the longest one.

    Raises:
        Undefined: Some order may.
    """
    if not is_float(declared) or any(each.size == 0 for each in operands):
        return
    limits, terms = _limits(declared), math.prod([each.size for each in operands])
    if count is None:
        count = terms if terms <= limits.terms else int(np.max(contract(*[np.ones(each.shape) for each in operands])))
    if count > limits.terms:
        raise Undefined("sum of more terms than its dtype has digits for")
    sizes = [np.abs(each) for each in operands]
    if math.prod([float(each.max()) for each in sizes]) * (count or terms) <= limits.greatest / 2:
        return
    finite = [np.where(np.isfinite(each), each, 0).astype("float64") for each in sizes]
    if np.any(contract(*finite) > limits.greatest / 2):
        raise Undefined("sum that may overflow")
