"""Reductions over axes, all where none is given, and cumulative sums and products (``tvm/relax/op/statistical.py``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_products, require_sums
from relaxkit.interpreter.operands import comparable, operand
from relaxkit.interpreter.operators.tensor.datatype import converted
from relaxkit.interpreter.registry import Array, Request, Undefined, is_float, semantics


def axes_of(request: Request, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce, none of them negative."""
    given = request.integers("axis")
    return tuple(range(rank)) if given is None else tuple([axis % rank for axis in given])


def _keeps(request: Request) -> bool:
    return bool(request.attr("keepdims", False))


def _narrowed(result: Any, operand: Array) -> Array:
    """Return a result in the dtype of the operand, which is the one that type inference gives all reductions."""
    return np.asarray(result).astype(operand.dtype, copy=False)


def _rounded(request: Request, compute: Callable[[Array], Any]) -> Array:
    """Return a result that is rounded once, at its end.

    Raises:
        Undefined: Rounding each step gives another float8; TVM does not document the precision of the steps, and no
            tolerance tells two neighbours of that few digits from an error.
    """
    tensor = operand(request, 0)
    result = _narrowed(compute(request.wide(0)), tensor)
    if tensor.dtype.itemsize == 1 and is_float(tensor.dtype.name):
        request.undefined(compute(tensor) != result, "float8 that is rounded at each step")
    return result


@semantics("sum")
def total(request: Request) -> Any:
    """Return the sum, zero of nothing; integers wrap around."""
    tensor, keepdims = request.args[0], _keeps(request)
    if tensor.dtype.kind == "b":
        raise Undefined("sum of booleans")
    axes = axes_of(request, tensor.ndim)
    require_sums(request, request.wide(0), axes)
    return _rounded(request, lambda values: values.sum(axis=axes, keepdims=keepdims, dtype=values.dtype))


@semantics("prod")
def product(request: Request) -> Any:
    """Return the product, one of nothing; integers wrap around, of booleans it is whether all hold."""
    axes, keepdims = axes_of(request, request.args[0].ndim), _keeps(request)
    require_products(request, request.wide(0), axes)
    return _rounded(request, lambda values: values.prod(axis=axes, keepdims=keepdims, dtype=values.dtype))


@semantics("max", "min")
def extreme(request: Request) -> Any:
    """The greatest or least element.  Of nothing there is none, and where NaN stands among others is not said."""
    tensor = request.args[0]
    axes = axes_of(request, tensor.ndim)
    _require_elements(tensor, axes)
    values = comparable(tensor)
    reduce = np.max if request.name == "relax.max" else np.min
    return _narrowed(reduce(values, axis=axes, keepdims=_keeps(request)), tensor)


@semantics("mean")
def mean(request: Request) -> Any:
    """Return the arithmetic mean, NaN of nothing."""
    axes, keepdims = _axes_of_floats(request), _keeps(request)
    return _rounded(request, lambda values: _mean(values, axes, keepdims))


@semantics("variance", "std")
def spread(request: Request) -> Any:
    """The mean squared distance from the mean, divided by the number of elements (as NumPy has it), or its root."""
    axes, keepdims = _axes_of_floats(request), _keeps(request)

    def compute(values: Array) -> Any:
        distance = values - _mean(values, axes, True)
        squares = distance * distance
        request.undefined(np.isfinite(distance) & ~np.isfinite(squares), "square that overflows")
        require_sums(request, squares, axes)
        result = _mean(squares, axes, keepdims)
        return np.sqrt(result) if request.name == "relax.std" else result

    return _rounded(request, compute)


@semantics("median")
def median(request: Request) -> Any:
    """Return the middle element in order, the lower of two; with an axis given also its index along that axis.

    Neither mean of the middle two, as NumPy has it: PyTorch's ``median``, whose pair of results this operator has,
    documents the lower one.  Of equal elements in the middle, the index names the one that a stable sort puts there.
    """
    tensor = request.args[0]
    given = request.integers("axis")
    if given is None:
        flat = tensor.reshape(-1)
        _require_elements(flat, (0,))
        middle = np.sort(comparable(flat))[(flat.size - 1) // 2]
        return np.full((1,) * tensor.ndim if _keeps(request) else (), middle, tensor.dtype)
    (axis,) = axes_of(request, tensor.ndim)
    _require_elements(tensor, (axis,))
    order = np.argsort(comparable(tensor), axis=axis, kind="stable")
    index = np.take(order, [(tensor.shape[axis] - 1) // 2], axis=axis)
    values = np.take_along_axis(tensor, index, axis=axis)
    if not _keeps(request):
        index, values = index.squeeze(axis), values.squeeze(axis)
    return values, index.astype("int64")


def _axes_of_floats(request: Request) -> tuple[int, ...]:
    """Return the axes, of an operand of floats whose sums are defined."""
    tensor = request.args[0]
    if not is_float(tensor.dtype.name):
        raise Undefined("mean of integers")
    axes = axes_of(request, tensor.ndim)
    require_sums(request, request.wide(0), axes)
    return axes


def _mean(values: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    # Not numpy.mean, which warns of nothing to reduce.
    count = math.prod([values.shape[axis] for axis in axes])
    return np.asarray(
        np.divide(values.sum(axis=axes, keepdims=keepdims, dtype=values.dtype), np.asarray(count, values.dtype))
    )


def _require_elements(operand: Array, axes: tuple[int, ...]) -> None:
    if any(operand.shape[axis] == 0 for axis in axes):
        raise Undefined("greatest or least of nothing")


@semantics("cumsum")
def cumsum(request: Request) -> Any:
    """Return sums of the elements up to each one along an axis, or of the flattened tensor; integers wrap around."""
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
    """Return the elements in the dtype of the result, and the axis.

    The dtype asked for is that "of the accumulator in which the elements are computed": they are converted first, and
    each step is rounded to it, also where it has few digits.
    """
    operand = request.args[0]
    dtype = _dtype(request)
    if dtype == "bool":
        raise Undefined("scan of booleans in their own dtype")
    values = converted(request, operand, dtype)
    return (values.reshape(-1), 0) if request.axis is None else (values, request.axis % operand.ndim)


def _dtype(request: Request) -> str:
    asked = str(request.attr("dtype", ""))  # an empty one until TVM 0.25, where none is asked for
    return asked or request.declared(0)


def _excluded(request: Request, scanned: Array, axis: int, neutral: int) -> Array:
    """With ``exclusive``, each place gets what the one before it would: all begins with the neutral element."""
    if not request.attr("exclusive", False):
        return scanned
    begin = np.full_like(np.take(scanned, [0] if scanned.shape[axis] else [], axis=axis), neutral)
    return np.concatenate([begin, np.take(scanned, range(max(scanned.shape[axis] - 1, 0)), axis=axis)], axis=axis)
