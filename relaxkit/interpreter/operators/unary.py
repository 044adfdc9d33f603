"""Elementwise functions of one tensor; the result has its dtype."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import alone, elementwise, erf, finished, is_floating, limits, operand, sigmoid, wide
from relaxkit.interpreter.registry import Array, Request, Unsupported, semantics

_FLOAT_FUNCTIONS: dict[str, Callable[[Array], Any]] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "erf": erf, "exp": np.exp, "log": np.log,
    "rsqrt": lambda value: 1 / np.sqrt(value), "sigmoid": sigmoid, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
"""Functions of floats; those of low precision are computed in float32 and rounded once."""


def _float(request: Request) -> tuple[Array]:
    value = operand(request, 0)
    if not is_floating(value):
        raise Unsupported("function of floats applied to other numbers")
    return (value,)


def _rounded_once(function: Callable[[Array], Any], value: Array) -> Array:
    return np.asarray(function(wide(value))).astype(value.dtype, copy=False)


for _name, _function in _FLOAT_FUNCTIONS.items():
    elementwise(_name, functools.partial(_rounded_once, _function), _float)


def _whole(function: Callable[[Array], Any], value: Array) -> Any:
    """Make integers of floats; leave integers and booleans as they are."""
    return function(value) if is_floating(value) else value


_ROUNDINGS = {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "round": np.rint}  # ties to even, says topi.round
for _name, _function in _ROUNDINGS.items():
    elementwise(_name, functools.partial(_whole, _function), alone)


def _number(request: Request) -> tuple[Array]:
    value = operand(request, 0)
    if value.dtype.kind == "b":
        raise Unsupported("arithmetic of booleans")
    return (value,)


def _signed(request: Request) -> tuple[Array]:
    """Return the operand; the sign of NaN is not said, and libraries disagree."""
    (value,) = _number(request)
    request.undefined(np.isnan(value), "sign of NaN")
    return (value,)


# Integers wrap around: the absolute value of the least signed one is itself.
elementwise("abs", np.abs, alone)
elementwise("negative", np.negative, _number)
elementwise("square", np.square, _number)
elementwise("sign", np.sign, _signed)


@semantics("clip")
def clip(request: Request) -> Any:
    """Return the number or the limit that it exceeds.

    Of NaN, nothing is documented (apache/tvm issue 19579), nor of limits in the wrong order.
    """
    value = operand(request, 0)
    request.undefined(np.isnan(value), "clip of NaN")
    low, high = (_limit(request, value, index) for index in (1, 2))
    request.undefined(low > high, "clip between limits in the wrong order")
    return finished(request, np.minimum(np.maximum(value, low), high))


def _limit(request: Request, value: Array, index: int) -> Array:
    """Return a limit in the dtype of what is clipped; one that an integer dtype cannot hold limits nothing."""
    limit = np.asarray(request.args[index])
    if is_floating(value):
        return np.asarray(limit.astype(value.dtype))
    if np.any(limit != np.floor(limit)):
        raise Unsupported("clip of integers to a fraction")
    known = (0, 1) if value.dtype.kind == "b" else (int(limits(value.dtype).min), int(limits(value.dtype).max))
    return np.asarray(min(max(int(limit), known[0]), known[1]), dtype=value.dtype)
