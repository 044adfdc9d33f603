"""Cumulative sums and products (``tvm/relax/op/statistical.py``), "NumPy style"."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.interpreter.accumulation import require_products, require_sums
from oracles.interpreter.errors import Undefined
from oracles.interpreter.operators.datatype import converted
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request

Array = np.ndarray[Any, Any]


@semantics("cumsum")
def cumsum(request: Request) -> Any:
    """Sums of the elements up to each one along an axis, or of the flattened tensor; integers wrap around."""
    values, axis = _scanned(request)
    require_sums(request, values, axis, _dtype(request), stepwise=True)
    return _excluded(request, np.cumsum(values, axis=axis, dtype=values.dtype), axis, 0)


@semantics("cumprod")
def cumprod(request: Request) -> Any:
    """Products of the elements up to each one along an axis, or of the flattened tensor; integers wrap around."""
    values, axis = _scanned(request)
    require_products(request, values, axis, _dtype(request))
    return _excluded(request, np.cumprod(values, axis=axis, dtype=values.dtype), axis, 1)


def _scanned(request: Request) -> tuple[Array, int]:
    """The elements in the dtype of the result, and the axis.

    The dtype asked for is that "of the accumulator in which the elements are computed": they are converted first, and
    each step is rounded to it, also where it has few digits.
    """
    operand = request.args[0]
    dtype = _dtype(request)
    if dtype == "bool":
        raise Undefined("scan of booleans in their own dtype")
    values = converted(request, operand, dtype)
    axis = request.attr("axis")
    if axis is None:
        return values.reshape(-1), 0
    return values, int(axis) % operand.ndim


def _dtype(request: Request) -> str:
    asked = str(request.attr("dtype", ""))  # an empty one until TVM 0.25, where none is asked for
    return asked or request.declared(0)


def _excluded(request: Request, scanned: Array, axis: int, neutral: int) -> Array:
    """With ``exclusive``, each place gets what the one before it would: all begins with the neutral element."""
    if not request.attr("exclusive", False):
        return scanned
    begin = np.full_like(np.take(scanned, [0] if scanned.shape[axis] else [], axis=axis), neutral)
    before = np.take(scanned, range(max(scanned.shape[axis] - 1, 0)), axis=axis)
    return np.concatenate([begin, before], axis=axis)
