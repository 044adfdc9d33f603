"""Sums and products of floats whose result depends on the order of evaluation, which TVM does not document.

Rounding makes a small difference between two orders, which tolerances are for.  An intermediate result beyond the
greatest number of the dtype makes any difference: ``3e38 + 3e38 - 3e38`` is 3e38 or infinite.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from oracles.interpreter.errors import Undefined
from oracles.interpreter.precision import is_float
from oracles.interpreter.request import Request

Array = np.ndarray[Any, Any]


def require_sums(request: Request, values: Array, axes: int | tuple[int, ...], declared: str | None = None) -> None:
    """Check that no order of adding up elements leaves the dtype.

    Args:
        request: The call, of which the first argument is summed.
        values: The terms.
        axes: Axes that are summed.
        declared: Dtype that is summed in; default: that of the first argument.

    Raises:
        Undefined: Some order may: beyond half of the greatest number, for rounding adds to it.
    """
    if not is_float(values.dtype.name) or values.size == 0:
        return
    sizes = np.abs(values)
    limit = _limits(request, declared)[0]
    if float(sizes.max()) * values.size <= limit / 2:
        return
    finite = np.where(np.isfinite(values), sizes, 0).astype("float64")
    if np.any(finite.sum(axis=axes) > limit / 2):
        raise Undefined("sum that may overflow")


def require_products(request: Request, values: Array, axes: int | tuple[int, ...], declared: str | None = None) -> None:
    """Check that no order of multiplying elements leaves the dtype, where another one would stay inside.

    Args:
        request: The call, of which the first argument is multiplied.
        values: The factors.
        axes: Axes that are multiplied over.
        declared: Dtype that is multiplied in; default: that of the first argument.

    Raises:
        Undefined: The great factors alone leave it, or the small ones alone lose digits.
    """
    if not is_float(values.dtype.name) or values.size == 0:
        return
    greatest, least = _limits(request, declared)
    factors = np.where(np.isfinite(values) & (values != 0), np.abs(values), 1).astype("float64")
    powers = np.log2(factors)
    if float(np.abs(powers).max()) * values.size <= min(math.log2(greatest), -math.log2(least)) - 1:
        return
    if np.any(np.maximum(powers, 0).sum(axis=axes) > math.log2(greatest) - 1):
        raise Undefined("product that may overflow")
    if np.any(np.minimum(powers, 0).sum(axis=axes) < math.log2(least) + 1):
        raise Undefined("product that may underflow")


def _limits(request: Request, declared: str | None) -> tuple[float, float]:
    """Greatest number and least normal one of the dtype that is declared, also where float64 is computed."""
    info = ml_dtypes.finfo(np.dtype(declared or request.declared(0)))
    return float(info.max), float(info.smallest_normal)
