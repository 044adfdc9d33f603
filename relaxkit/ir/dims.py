"""Symbolic dims and other scalar expressions: the variables in one, and its value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*; a dependency of TVM itself)
import numpy as np
import tvm
from tvm import tirx

if TYPE_CHECKING:
    from tvm.ir import Expr


class UnknownScalar(Exception):
    """An expression has a node that is not known here, or a variable without a value; the message is a short phrase."""


class UndefinedScalar(Exception):
    """An expression has no defined value: it divides by zero, overflows, or casts what does not fit."""


Number = int | float | bool
Lookup = Callable[[Any], Number]

_LIMIT = 1 << 63  # scalars are int64 mostly; an overflow of signed integers has no meaning in TIR


def evaluate(expression: Any, lookup: Lookup) -> Number:
    """Return the value of a scalar expression, rounded as TVM does: ``floor_*`` down, ``Div`` and ``Mod`` towards zero.

    Raises:
        UnknownScalar: It has a node that is not known here, or a variable without a value.
        UndefinedScalar: It divides by zero, overflows, or casts what does not fit.
    """
    kind = type(expression)
    if kind is int:
        return int(expression)
    handler = _HANDLERS.get(kind)
    if handler is None:
        if isinstance(expression, (bool, int, float)):
            return expression
        raise UnknownScalar(f"scalar expression {kind.__name__}")
    value: Number = handler(expression, lookup)
    return value


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Lookup], Any]:
    def handle(node: Any, lookup: Lookup) -> Any:
        left, right = evaluate(node.a, lookup), evaluate(node.b, lookup)
        try:
            value = compute(left, right)
        except ZeroDivisionError as error:
            raise UndefinedScalar("division by zero in a scalar") from error
        if type(value) is int and not -_LIMIT <= value < _LIMIT:
            raise UndefinedScalar("overflow of a scalar")
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
    if "float" in dtype:
        return float(_numpy_dtype(dtype).type(value))
    if isinstance(value, float) and not np.isfinite(value):
        raise UndefinedScalar("float that is no integer, cast to one")
    whole, limits = int(value), np.iinfo(_numpy_dtype(dtype))
    if isinstance(value, float) and not limits.min <= whole <= limits.max:
        raise UndefinedScalar("float out of range, cast to an integer")
    return int(np.asarray(whole & ((1 << limits.bits) - 1), f"uint{limits.bits}").astype(dtype))


def _numpy_dtype(dtype: str) -> np.dtype[Any]:
    try:
        return np.dtype(dtype)
    except TypeError as error:
        raise UnknownScalar("dtype that NumPy does not know") from error


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
    tirx.Add: _binary(operator.add), tirx.Sub: _binary(operator.sub), tirx.Mul: _binary(operator.mul),
    tirx.Div: _binary(_divided), tirx.Mod: _binary(_remainder), tirx.FloorDiv: _binary(operator.floordiv),
    tirx.FloorMod: _binary(operator.mod), tirx.Min: _binary(min), tirx.Max: _binary(max),
    tirx.EQ: _binary(operator.eq), tirx.NE: _binary(operator.ne), tirx.LT: _binary(operator.lt),
    tirx.LE: _binary(operator.le), tirx.GT: _binary(operator.gt), tirx.GE: _binary(operator.ge),
}  # fmt: skip


def _dtype(node: Any) -> Any:
    ty = getattr(node, "ty", None)
    return ty.dtype if isinstance(ty, tvm.ir.PrimType) else node.dtype


class DimEnvironment:
    """One value for each symbolic variable of a function; variables are the same when they are the same object.

    Args:
        draw: Called with a variable's name when it has no value yet.
    """

    def __init__(self, draw: Callable[[str], int]) -> None:
        self._draw = draw
        self._values: dict[Any, int] = {}

    def bind(self, variable: Any) -> int:
        """Return the value of a variable, drawn when it is met first."""
        if variable not in self._values:
            self._values[variable] = self._draw(str(variable.name))
        return self._values[variable]

    def bind_all(self, dims: Iterable[Any]) -> None:
        """Give every dim that is just a variable a value."""
        for dim in dims:
            if isinstance(dim, tirx.Var):
                self.bind(dim)

    def unify(self, dim: Any, have: Any) -> None:
        """Let a variable that has no value yet take the value of ``have``; anything else stays as it is."""
        if isinstance(dim, tirx.Var) and dim not in self._values:
            self._values[dim] = self.value(have)

    def value(self, dim: Expr | int) -> int:
        """Evaluate an integer expression; raises ``UnknownScalar`` or ``UndefinedScalar``."""
        return int(evaluate(dim, self.bind))


def symbols_of(dim: Any) -> list[Any]:
    """Return the symbolic variables of a dim, in order of occurrence."""
    if isinstance(dim, tirx.Var):
        return [dim]
    found: list[Any] = []
    for side in (getattr(dim, "a", None), getattr(dim, "b", None)):
        if side is not None:
            found.extend(symbols_of(side))
    return found
