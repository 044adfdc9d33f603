"""Scalar expressions: arithmetic of symbolic dims and of scalar parameters (``R.Prim``)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import tirx

from oracles.interpreter.errors import Undefined, Unsupported
from oracles.interpreter.precision import is_float, numpy_dtype

Number = int | float | bool
Lookup = Callable[[Any], Number]

_LIMIT = 1 << 63  # scalars are int64 mostly; an overflow of signed integers has no meaning in TIR


def evaluate(expression: Any, lookup: Lookup) -> Number:
    """Value of a scalar expression.

    Args:
        expression: An integer, or an expression over variables.
        lookup: Gives the value of a variable.

    Raises:
        Unsupported: It has a node that is not known here, or a variable without a value.
        Undefined: It divides by zero.
    """
    kind = type(expression)
    if kind is int:
        return int(expression)
    handler = _HANDLERS.get(kind)
    if handler is None:
        if isinstance(expression, (bool, int, float)):
            return expression
        raise Unsupported(f"scalar expression {kind.__name__}")
    value: Number = handler(expression, lookup)
    return value


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Lookup], Any]:
    def handle(node: Any, lookup: Lookup) -> Any:
        left, right = evaluate(node.a, lookup), evaluate(node.b, lookup)
        try:
            value = compute(left, right)
        except ZeroDivisionError as error:
            raise Undefined("division by zero in a scalar") from error
        if type(value) is int and not -_LIMIT <= value < _LIMIT:
            raise Undefined("overflow of a scalar")
        return value

    return handle


def _divided(left: Any, right: Any) -> Any:
    """``Div``: integers are rounded towards zero."""
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    """``Mod``: what ``Div`` leaves."""
    return left - right * int(_divided(left, right))


def _cast(node: Any, lookup: Lookup) -> Number:
    value = evaluate(node.value, lookup)
    dtype = str(_dtype(node))
    if dtype == "bool":
        return bool(value)
    if is_float(dtype):
        return float(numpy_dtype(dtype).type(value))
    if isinstance(value, float) and not np.isfinite(value):
        raise Undefined("float that is no integer, cast to one")
    whole, limits = int(value), np.iinfo(numpy_dtype(dtype))
    if isinstance(value, float) and not limits.min <= whole <= limits.max:
        raise Undefined("float out of range, cast to an integer")
    return int(np.asarray(whole & ((1 << limits.bits) - 1), f"uint{limits.bits}").astype(dtype))


def _either(node: Any, lookup: Lookup) -> Number:
    return evaluate(node.true_value if evaluate(node.condition, lookup) else node.false_value, lookup)


_HANDLERS: dict[type, Callable[[Any, Lookup], Any]] = {
    tirx.Var: lambda node, lookup: lookup(node),
    tirx.IntImm: lambda node, _: bool(node.value) if str(_dtype(node)) == "bool" else int(node.value),
    tirx.FloatImm: lambda node, _: float(node.value),
    tirx.Cast: _cast,
    tirx.Select: _either,
    tirx.Not: lambda node, lookup: not evaluate(node.a, lookup),
    tirx.And: lambda node, lookup: bool(evaluate(node.a, lookup) and evaluate(node.b, lookup)),
    tirx.Or: lambda node, lookup: bool(evaluate(node.a, lookup) or evaluate(node.b, lookup)),
    tirx.Add: _binary(operator.add),
    tirx.Sub: _binary(operator.sub),
    tirx.Mul: _binary(operator.mul),
    tirx.Div: _binary(_divided),
    tirx.Mod: _binary(_remainder),
    tirx.FloorDiv: _binary(operator.floordiv),
    tirx.FloorMod: _binary(operator.mod),
    tirx.Min: _binary(min),
    tirx.Max: _binary(max),
    tirx.EQ: _binary(operator.eq),
    tirx.NE: _binary(operator.ne),
    tirx.LT: _binary(operator.lt),
    tirx.LE: _binary(operator.le),
    tirx.GT: _binary(operator.gt),
    tirx.GE: _binary(operator.ge),
}


def _dtype(node: Any) -> Any:
    ty = getattr(node, "ty", None)
    return ty.dtype if isinstance(ty, tvm.ir.PrimType) else node.dtype
