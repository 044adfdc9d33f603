"""Elementwise operators of two operands, with broadcasting: arithmetic, comparisons, logic and bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import FLOAT_LIMIT, INT_LIMIT, Bounds, default_bounds, dtype_bounds, is_float
from strategies.operators.drawing import (
    BOOLEAN,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED_NUMBERS,
    WIDE_FLOATS,
    bounds_of,
    emit,
    keep,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op

Combine = Callable[[Bounds, Bounds], Bounds]


def broadcast_shape(scope: Scope, dims: tuple[Any, ...]) -> tuple[Any, ...]:
    """Draw a shape that broadcasts to ``dims``: the same, a suffix, one with ones, or a scalar's."""
    kind = scope.integer(0, 7)
    if kind <= 4 or not dims:
        return dims
    if kind == 5:
        return dims[scope.integer(1, len(dims)) :] if len(dims) > 1 else ()
    if kind == 6:
        mask = scope.integer(1, 2 ** len(dims) - 1)
        return tuple(1 if mask >> index & 1 else dim for index, dim in enumerate(dims))
    return ()


def partner(scope: Scope, value: Value, bounds: Bounds | None = None) -> Value:
    """Draw a second operand of the same dtype whose shape broadcasts with ``value``'s."""
    dims = shape_of(value)
    shape = broadcast_shape(scope, dims)
    if len(shape) == len(dims) and all(left is right for left, right in zip(shape, dims, strict=True)):
        return scope.tensor_like(value, bounds=bounds)
    return scope.tensor(dtypes=(value.dtype,), shape=shape, bounds=bounds)


def calm(scope: Scope, first: Value, second: Value, result: Combine) -> tuple[Value, Value]:
    """Guard both operands to the default domain when the result would leave what the dtype may hold."""
    limit, dtype = dtype_bounds(first.dtype), first.dtype
    known = result(bounds_of(first), bounds_of(second))
    if limit.lo <= known.lo and known.hi <= limit.hi:
        return first, second
    domain = default_bounds(dtype)
    return keep(scope, first, domain.lo, domain.hi), keep(scope, second, domain.lo, domain.hi)


@dataclass(frozen=True, slots=True)
class Binary:
    """An elementwise function of two operands of one dtype.

    Attributes:
        name: Name without ``relax.``.
        call: Builds the call.
        dtypes: Dtypes with a kernel on LLVM.
        result: Bounds of the result from those of the operands.
        family: Group of the row.
        first: Domain of the first operand by dtype, or ``None`` for all.
        second: Domain of the second operand by dtype, or ``None`` for all.
        out: Dtype of the result when it is not that of the operands.
        more: Dtypes that type inference takes but LLVM has no kernel for: only in modules that need not run.
    """

    name: str
    call: Callable[[Any, Any], Any]
    dtypes: tuple[str, ...]
    result: Combine
    family: Family = Family.BINARY
    first: Callable[[str], Bounds] | None = None
    second: Callable[[str], Bounds] | None = None
    out: str | None = None
    more: tuple[str, ...] = ()

    def draw(self, scope: Scope) -> Value | None:
        """Draw both operands inside their domains and emit the call."""
        left = scope.tensor(dtypes=self.dtypes if scope.executable else self.dtypes + self.more)
        dtype = left.dtype
        if self.first is not None:
            domain = self.first(dtype)
            left = keep(scope, left, domain.lo, domain.hi)
        right = partner(scope, left, None if self.second is None else self.second(dtype))
        if self.first is None and self.second is None:
            if scope.integer(0, 3) == 3:
                left, right = right, left
            if self.out is None:
                left, right = calm(scope, left, right, self.result)
        known = self.result(bounds_of(left), bounds_of(right))
        return emit(scope, self.call(left.expr, right.expr), known, self.out or dtype)

    def row(self) -> OperatorRow:
        """The row of the operator table."""
        return OperatorRow(f"relax.{self.name}", self.family, self.draw)


def corners(function: Callable[[float, float], float]) -> Combine:
    """Bounds of a function monotone in each argument: the extremes over the corners."""

    def result(left: Bounds, right: Bounds) -> Bounds:
        values = [function(a, b) for a, b in itertools.product((left.lo, left.hi), (right.lo, right.hi))]
        return Bounds(min(values), max(values), left.integral and right.integral)

    return result


def _truth(left: Bounds, right: Bounds) -> Bounds:
    return Bounds(0, 1, True)


def _quotient(left: Bounds, right: Bounds) -> Bounds:
    """Quotients, also rounded towards zero or minus infinity."""
    exact = left / right
    return Bounds(math.floor(exact.lo), exact.hi + 1, exact.integral)


def _float_quotient(left: Bounds, right: Bounds) -> Bounds:
    return left / right if not left.integral else _quotient(left, right)


def _remainder(left: Bounds, right: Bounds) -> Bounds:
    """Remainders are smaller than the divisor whichever way the quotient was rounded."""
    size = right.magnitude
    if left.lo >= 0 and right.lo > 0:
        return Bounds(0.0, size, left.integral and right.integral)
    return Bounds(-size, size, left.integral and right.integral)


def _bits(left: Bounds, right: Bounds) -> Bounds:
    """Any bitwise combination needs no more bits than its longer operand."""
    size = 2.0 ** int(max(left.magnitude, right.magnitude)).bit_length()
    return Bounds(0 if left.lo >= 0 and right.lo >= 0 else -size, size - 1, True)


def _shifted_left(left: Bounds, right: Bounds) -> Bounds:
    return Bounds(0, left.hi * 2.0**right.hi, True)


def _shifted_right(left: Bounds, right: Bounds) -> Bounds:
    return Bounds(min(left.lo, 0), max(left.hi, 0), True)


def _log_add_exp(left: Bounds, right: Bounds) -> Bounds:
    return left.maximum(right) + Bounds(0.0, math.log(2))


def divisor(dtype: str) -> Bounds:
    """A divisor: at least 1 for integers; at least 1/2 for floats, so that quotients stay moderate."""
    return Bounds(0.5, FLOAT_LIMIT) if is_float(dtype) else Bounds(1, min(INT_LIMIT, dtype_bounds(dtype).hi), True)


def _dividend(dtype: str) -> Bounds:
    limit = dtype_bounds(dtype)
    return Bounds(limit.lo / 4, limit.hi / 4) if is_float(dtype) else limit


def _fixed(lo: float, hi: float, integral: bool = False) -> Callable[[str], Bounds]:
    bounds = Bounds(lo, hi, integral)
    return lambda _: bounds


_LOGIC: dict[str, Any] = {"family": Family.LOGICAL}
_COMPARE: dict[str, Any] = {"family": Family.COMPARISON, "out": "bool", "more": BOOLEAN}
_BITS: dict[str, Any] = {"family": Family.BITWISE}
_DIVISION: dict[str, Any] = {"first": _dividend, "second": divisor}
_BITABLE = (*INTEGERS, "bool")
_MODERATE = _fixed(-8.0, 8.0)

BINARY = (
    Binary("add", op.add, NUMBERS, Bounds.__add__),
    Binary("subtract", op.subtract, SIGNED_NUMBERS, Bounds.__sub__),
    Binary("multiply", op.multiply, NUMBERS, Bounds.__mul__),
    Binary("maximum", op.maximum, NUMBERS, Bounds.maximum),
    Binary("minimum", op.minimum, NUMBERS, Bounds.minimum),
    Binary("divide", op.divide, NUMBERS, _float_quotient, **_DIVISION),
    Binary("floor_divide", op.floor_divide, NUMBERS, _quotient, **_DIVISION),
    Binary("floor_mod", op.floor_mod, NUMBERS, _remainder, **_DIVISION),
    Binary("mod", op.mod, NUMBERS, _remainder, **_DIVISION),
    Binary("power", op.power, FLOATS, corners(math.pow), first=_fixed(2.0**-4, 8.0), second=_fixed(-3.0, 3.0)),
    # A positive abscissa keeps away from the branch cut, where the sign of a zero decides between pi and -pi.
    Binary("atan2", op.atan2, WIDE_FLOATS, lambda a, b: Bounds(-1.625, 1.625), second=_fixed(2.0**-4, FLOAT_LIMIT)),
    Binary("log_add_exp", op.log_add_exp, FLOATS, _log_add_exp, first=_MODERATE, second=_MODERATE),
    Binary("equal", op.equal, NUMBERS, _truth, **_COMPARE),
    Binary("not_equal", op.not_equal, NUMBERS, _truth, **_COMPARE),
    Binary("greater", op.greater, NUMBERS, _truth, **_COMPARE),
    Binary("greater_equal", op.greater_equal, NUMBERS, _truth, **_COMPARE),
    Binary("less", op.less, NUMBERS, _truth, **_COMPARE),
    Binary("less_equal", op.less_equal, NUMBERS, _truth, **_COMPARE),
    Binary("logical_and", op.logical_and, BOOLEAN, _truth, **_LOGIC),
    Binary("logical_or", op.logical_or, BOOLEAN, _truth, **_LOGIC),
    Binary("logical_xor", op.logical_xor, BOOLEAN, _truth, **_LOGIC),
    Binary("bitwise_and", op.bitwise_and, _BITABLE, _bits, **_BITS),
    Binary("bitwise_or", op.bitwise_or, _BITABLE, _bits, **_BITS),
    Binary("bitwise_xor", op.bitwise_xor, _BITABLE, _bits, **_BITS),
    # Shifting a negative number left is undefined, and so is a count of all bits or more: 8 for the narrowest.
    Binary(
        "left_shift", op.left_shift, INTEGERS, _shifted_left, Family.BITWISE, _fixed(0, 7, True), _fixed(0, 3, True)
    ),
    Binary("right_shift", op.right_shift, INTEGERS, _shifted_right, Family.BITWISE, None, _fixed(0, 7, True)),
)


def draw_where(scope: Scope) -> Value | None:
    """``where``: a condition and two branches that broadcast to one shape."""
    left = scope.tensor(dtypes=NUMBERS)
    right = partner(scope, left)
    condition = scope.tensor(dtypes=BOOLEAN, shape=broadcast_shape(scope, shape_of(left)))
    known = bounds_of(left).union(bounds_of(right))
    return emit(scope, op.where(condition.expr, left.expr, right.expr), known, left.dtype)


def draw_ewise_fma(scope: Scope) -> Value | None:
    """``ewise_fma``: ``x1 * x2 + x3``; no legalization exists, so only modules that need not run have it."""
    if scope.executable:
        return None
    first = scope.tensor(dtypes=FLOATS)
    domain = default_bounds(first.dtype)
    first = keep(scope, first, domain.lo, domain.hi)
    second, third = (scope.tensor_like(first, bounds=domain) for _ in range(2))
    return emit(scope, op.ewise_fma(first.expr, second.expr, third.expr), Bounds(-6.0, 6.0), first.dtype)


ROWS = (
    *(binary.row() for binary in BINARY),
    OperatorRow("relax.where", Family.SEARCH, draw_where),
    OperatorRow("relax.ewise_fma", Family.BINARY, draw_ewise_fma, executable=False),
)
