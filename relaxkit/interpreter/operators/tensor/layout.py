"""Tensors whose elements an index map puts elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm import relax, tirx

from relaxkit.interpreter.registry import Request, Undefined, Unsupported, semantics

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    tirx.Add: np.add,
    tirx.Sub: np.subtract,
    tirx.Mul: np.multiply,
    tirx.FloorDiv: np.floor_divide,
    tirx.FloorMod: np.mod,
    tirx.Min: np.minimum,
    tirx.Max: np.maximum,
}


def _index(expression: Any, known: Mapping[Any, Any], request: Request) -> Any:
    """Values of an index expression for all values of its variables at once."""
    combine = _ARITHMETIC.get(type(expression))
    if combine is not None:
        return combine(_index(expression.a, known, request), _index(expression.b, known, request))
    if isinstance(expression, tirx.Cast):
        return _index(expression.value, known, request)
    if isinstance(expression, tirx.Var) and expression in known:
        return known[expression]
    return request.dim(expression)


@semantics("layout_transform")
def layout_transform(request: Request) -> Any:
    """Return each element where the index map puts its indices; what is left over is padding."""
    data, ty = request.args[0], request.type
    if not isinstance(ty.shape, relax.ShapeExpr):
        raise Unsupported("layout_transform to an unknown shape")
    shape = tuple([request.dim(dim) for dim in ty.shape.values])
    index_map, padding = request.attr("index_map"), request.attr("pad_value")
    known = dict(zip(index_map.initial_indices, np.indices(data.shape, sparse=True), strict=True))
    target = [np.asarray(_index(each, known, request)) for each in index_map.final_indices]
    for index, extent in zip(target, shape, strict=True):
        request.undefined((index < 0) | (index >= extent), "layout_transform out of range")
    written = np.zeros(shape, bool)
    written[tuple(target)] = True
    count = np.count_nonzero(written)
    if count < data.size:
        raise Undefined("layout_transform of two elements to one place")
    if count < written.size and padding is None:
        raise Undefined("padding of no given value")
    result = np.full(shape, 0 if padding is None else _number(padding), data.dtype)
    result[tuple(target)] = data
    return result


def _number(value: Any) -> Any:
    """Return the number that a constant of the compiler holds."""
    constant = value
    while hasattr(constant, "value"):  # a constant of numbers may be wrapped in one of the graph
        constant = constant.value
    if not isinstance(constant, (bool, int, float)):
        raise Unsupported("padding that is not a constant")
    return constant
