"""Elementwise functions of one tensor; the result has its dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oracles.interpreter.errors import Unsupported
from oracles.interpreter.operands import Array, finished, is_floating, limits, operand, wide
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request
from oracles.interpreter.special import erf, sigmoid


def _float_function(name: str, function: Callable[[Array], Any]) -> None:
    """An operator that takes floats; those of low precision are computed in float32 and rounded once."""

    @semantics(name)
    def compute(request: Request) -> Any:
        value = operand(request, 0)
        if not is_floating(value):
            raise Unsupported("function of floats applied to other numbers")
        return finished(request, np.asarray(function(wide(value))).astype(value.dtype, copy=False))


def _rsqrt(value: Array) -> Any:
    return 1 / np.sqrt(value)


_float_function("acos", np.arccos)
_float_function("acosh", np.arccosh)
_float_function("asin", np.arcsin)
_float_function("asinh", np.arcsinh)
_float_function("atan", np.arctan)
_float_function("atanh", np.arctanh)
_float_function("cos", np.cos)
_float_function("cosh", np.cosh)
_float_function("erf", erf)
_float_function("exp", np.exp)
_float_function("log", np.log)
_float_function("rsqrt", _rsqrt)
_float_function("sigmoid", sigmoid)
_float_function("sin", np.sin)
_float_function("sinh", np.sinh)
_float_function("sqrt", np.sqrt)
_float_function("tan", np.tan)
_float_function("tanh", np.tanh)


def _rounding(name: str, function: Callable[[Array], Any]) -> None:
    """An operator that makes integers of floats, and leaves integers and booleans as they are."""

    @semantics(name)
    def compute(request: Request) -> Any:
        value = operand(request, 0)
        return finished(request, function(value) if is_floating(value) else value)


_rounding("ceil", np.ceil)
_rounding("floor", np.floor)
_rounding("trunc", np.trunc)
_rounding("round", np.rint)  # ties to even, says topi.round


@semantics("abs")
def absolute(request: Request) -> Any:
    """The absolute value; that of the least signed integer wraps around to itself."""
    return finished(request, np.abs(operand(request, 0)))


@semantics("negative")
def negative(request: Request) -> Any:
    """The number with its sign changed; integers wrap around."""
    return finished(request, np.negative(_number(request)))


@semantics("square")
def square(request: Request) -> Any:
    """The number times itself; integers wrap around."""
    return finished(request, np.square(_number(request)))


def _number(request: Request) -> Array:
    value = operand(request, 0)
    if value.dtype.kind == "b":
        raise Unsupported("arithmetic of booleans")
    return value


@semantics("sign")
def sign(request: Request) -> Any:
    """-1, 0 or 1; that of NaN is not said, and libraries disagree."""
    value = _number(request)
    request.undefined(np.isnan(value) if is_floating(value) else False, "sign of NaN")
    return finished(request, np.sign(value))


@semantics("clip")
def clip(request: Request) -> Any:
    """The number or the limit that it exceeds.

    Of NaN, nothing is documented (apache/tvm issue 19579), nor of limits in the wrong order.
    """
    value = operand(request, 0)
    request.undefined(np.isnan(value) if is_floating(value) else False, "clip of NaN")
    low, high = (_limit(request, value, index) for index in (1, 2))
    request.undefined(low > high, "clip between limits in the wrong order")
    return finished(request, np.minimum(np.maximum(value, low), high))


def _limit(request: Request, value: Array, index: int) -> Array:
    """A limit in the dtype of what is clipped; one that an integer dtype cannot hold limits nothing."""
    limit = np.asarray(request.args[index])
    if is_floating(value):
        return np.asarray(limit.astype(value.dtype))
    if np.any(limit != np.floor(limit)):
        raise Unsupported("clip of integers to a fraction")
    known = (0, 1) if value.dtype.kind == "b" else (int(limits(value.dtype).min), int(limits(value.dtype).max))
    return np.asarray(min(max(int(limit), known[0]), known[1]), dtype=value.dtype)
