"""Reductions over axes (``tvm/relax/op/statistical.py``): all axes where none is given, kept as size one or dropped."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oracles.interpreter.accumulation import require_products, require_sums
from oracles.interpreter.errors import Undefined
from oracles.interpreter.order import comparable
from oracles.interpreter.precision import is_float
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request

Array = np.ndarray[Any, Any]


def axes_of(request: Request, rank: int) -> tuple[int, ...]:
    """The axes to reduce, none of them negative."""
    given = request.integers("axis")
    return tuple(range(rank)) if given is None else tuple([axis % rank for axis in given])


def _keeps(request: Request) -> bool:
    return bool(request.attr("keepdims", False))


def _narrowed(result: Any, operand: Array) -> Array:
    """A result in the dtype of the operand, which is the one that type inference gives all reductions."""
    return np.asarray(result).astype(operand.dtype, copy=False)


@semantics("sum")
def total(request: Request) -> Any:
    """The sum, zero of nothing; integers wrap around."""
    operand, values = request.args[0], request.wide(0)
    if operand.dtype.kind == "b":
        raise Undefined("sum of booleans")
    axes = axes_of(request, operand.ndim)
    require_sums(request, values, axes)
    return _narrowed(values.sum(axis=axes, keepdims=_keeps(request), dtype=values.dtype), operand)


@semantics("prod")
def product(request: Request) -> Any:
    """The product, one of nothing; integers wrap around, of booleans it is whether all hold."""
    operand, values = request.args[0], request.wide(0)
    axes = axes_of(request, operand.ndim)
    require_products(request, values, axes)
    return _narrowed(values.prod(axis=axes, keepdims=_keeps(request), dtype=values.dtype), operand)


@semantics("max", "min")
def extreme(request: Request) -> Any:
    """The greatest or least element.  Of nothing there is none, and where NaN stands among others is not said."""
    operand = request.args[0]
    axes = axes_of(request, operand.ndim)
    _require_elements(operand, axes)
    values = comparable(operand)
    reduce = np.max if request.name == "relax.max" else np.min
    return _narrowed(reduce(values, axis=axes, keepdims=_keeps(request)), operand)


@semantics("mean")
def mean(request: Request) -> Any:
    """The arithmetic mean, NaN of nothing."""
    operand, values, axes = _floats(request)
    return _narrowed(_mean(values, axes, _keeps(request)), operand)


@semantics("variance", "std")
def spread(request: Request) -> Any:
    """The mean squared distance from the mean, divided by the number of elements (as NumPy has it), or its root."""
    operand, values, axes = _floats(request)
    distance = values - _mean(values, axes, True)
    squares = distance * distance
    request.undefined(np.isfinite(distance) & ~np.isfinite(squares), "square that overflows")
    require_sums(request, squares, axes)
    result = _mean(squares, axes, _keeps(request))
    return _narrowed(np.sqrt(result) if request.name == "relax.std" else result, operand)


@semantics("median")
def median(request: Request) -> Any:
    """The middle element in order, the lower of two; with an axis given also its index along that axis.

    Neither mean of the middle two, as NumPy has it: PyTorch's ``median``, whose pair of results this operator has,
    documents the lower one.  Of equal elements in the middle, the index names the one that a stable sort puts there.
    """
    operand = request.args[0]
    given = request.integers("axis")
    if given is None:
        flat = operand.reshape(-1)
        _require_elements(flat, (0,))
        middle = np.sort(comparable(flat))[(flat.size - 1) // 2]
        return np.full((1,) * operand.ndim if _keeps(request) else (), middle, operand.dtype)
    (axis,) = axes_of(request, operand.ndim)
    _require_elements(operand, (axis,))
    order = np.argsort(comparable(operand), axis=axis, kind="stable")
    index = np.take(order, [(operand.shape[axis] - 1) // 2], axis=axis)
    values = np.take_along_axis(operand, index, axis=axis)
    if not _keeps(request):
        index, values = index.squeeze(axis), values.squeeze(axis)
    return values, index.astype("int64")


def _floats(request: Request) -> tuple[Array, Array, tuple[int, ...]]:
    """The operand, the same in the dtype to compute in, and the axes."""
    operand, values = request.args[0], request.wide(0)
    if not is_float(operand.dtype.name):
        raise Undefined("mean of integers")
    axes = axes_of(request, operand.ndim)
    require_sums(request, values, axes)
    return operand, values, axes


def _mean(values: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    # Not numpy.mean, which warns of nothing to reduce.
    count = math.prod([values.shape[axis] for axis in axes])
    return np.asarray(
        np.divide(values.sum(axis=axes, keepdims=keepdims, dtype=values.dtype), count, dtype=values.dtype)
    )


def _require_elements(operand: Array, axes: tuple[int, ...]) -> None:
    if any(operand.shape[axis] == 0 for axis in axes):
        raise Undefined("greatest or least of nothing")
