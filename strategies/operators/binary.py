"""Elementwise operators of two operands, with broadcasting: arithmetic, comparisons, logic and bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax

from strategies.operators import intervals
from strategies.operators.drawing import (
    ANY,
    ANY_NUMBERS,
    ANY_SIGNED,
    BOOLEAN,
    FLOATS,
    INTEGERS,
    UNSIGNED,
    WIDE_FLOATS,
    broadcast_shape,
    calm,
    joined,
    partner,
)
from strategies.operators.intervals import Rule
from strategies.operators.row import OperatorFamily, OperatorRow, Rows
from strategies.scope.bounds import BFLOAT, INT_LIMIT, LOW_PRECISION, Bounds, default_bounds, dtype_bounds, is_float
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.BINARY)

op = relax.op

Combine = Callable[[Bounds, Bounds], Bounds]


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
        bounds: What bounds a call that was not drawn, where the operands have a domain.
    """

    name: str
    call: Callable[[Any, Any], Any]
    dtypes: tuple[str, ...]
    result: Combine
    family: OperatorFamily = OperatorFamily.BINARY
    first: Callable[[str], Bounds] | None = None
    second: Callable[[str], Bounds] | None = None
    out: str | None = None
    more: tuple[str, ...] = ()
    bounds: Rule | None = None

    def draw(self, scope: Scope) -> Value | None:
        """Draw both operands inside their domains and emit the call; the second, often a constant, may come first."""
        asked = scope.aimed and not scope.again
        left = scope.tensor(dtypes=self.dtypes if scope.executable else self.dtypes + self.more)
        dtype, limited = left.dtype, self.first is not None or self.second is not None
        swapped = limited and asked and scope.integer(0, 3) == 3
        first, second = (self.second, self.first) if swapped else (self.first, self.second)
        left = left if first is None else scope.keep(left, first(dtype).lo, first(dtype).hi)
        right = partner(scope, left, None if second is None else second(dtype))
        if swapped or (not limited and scope.integer(0, 3) == 3):
            left, right = right, left
        if not limited and self.out is None:
            left, right = calm(scope, self.result, left, right)
        known = self.result(left.read_bounds, right.read_bounds)
        return scope.emit_rounded(self.call(left.expr, right.expr), known, self.out or dtype)

    def row(self) -> OperatorRow:
        """Return the row of the operator table."""
        everywhere = self.first is None and self.second is None
        bounds = (lambda call: self.result(call[0], call[1])) if everywhere else self.bounds
        return OperatorRow(f"relax.{self.name}", self.family, self.draw, bounds=bounds)


def corners(function: Callable[[float, float], float]) -> Combine:
    """Return bounds of a function monotone in each argument: the extremes over the corners."""

    def result(left: Bounds, right: Bounds) -> Bounds:
        values = [function(a, b) for a, b in itertools.product((left.lo, left.hi), (right.lo, right.hi))]
        return Bounds(min(values), max(values), left.integral and right.integral)

    return result


def _truth(left: Bounds, right: Bounds) -> Bounds:
    return Bounds(0, 1, True)


def _quotient(left: Bounds, right: Bounds) -> Bounds:
    """Return quotients, also rounded towards zero or minus infinity."""
    exact = left / right
    return Bounds(math.floor(exact.lo), exact.hi + 1, exact.integral)


def _remainder(left: Bounds, right: Bounds) -> Bounds:
    """Bound remainders: they are smaller than the divisor, whichever way the quotient was rounded."""
    size = right.magnitude
    if left.lo >= 0 and right.lo > 0:
        return Bounds(0.0, size, left.integral and right.integral)
    return Bounds(-size, size, left.integral and right.integral)


def _bits(left: Bounds, right: Bounds) -> Bounds:
    """Bound bitwise combinations, which need no more bits than the longer operand."""
    size = 2.0 ** int(max(left.magnitude, right.magnitude)).bit_length()
    return Bounds(0 if left.lo >= 0 and right.lo >= 0 else -size, size - 1, True)


def divisor(dtype: str) -> Bounds:
    """Bound a divisor: at least 1 for integers; at least 1/2 for floats, so that quotients stay moderate."""
    top = dtype_bounds(dtype).hi
    return Bounds(0.5, top) if is_float(dtype) else Bounds(1, min(INT_LIMIT, top), True)


def _dividend(dtype: str) -> Bounds:
    limit = dtype_bounds(dtype)
    return Bounds(limit.lo / 4, limit.hi / 4) if is_float(dtype) else limit


def _fixed(lo: float, hi: float, integral: bool = False) -> Callable[[str], Bounds]:
    bounds = Bounds(lo, hi, integral)
    return lambda _: bounds


_LOGIC: dict[str, Any] = {"family": OperatorFamily.LOGICAL}
# TVM defects: two booleans are compared by the instruction for floats ("Invalid operand types for FCmp"), and
# arithmetic on them passes type inference but has no instruction ("t.MatchesCode(kDLFloat)").
_COMPARE: dict[str, Any] = {"family": OperatorFamily.COMPARISON, "out": "bool", "more": BOOLEAN}
_BITS: dict[str, Any] = {"family": OperatorFamily.BITWISE}
_DIVISION: dict[str, Any] = {"first": _dividend, "second": divisor}
_BITABLE = (*INTEGERS, "bool")
_MODERATE = _fixed(-8.0, 8.0)
_POWER: dict[str, Any] = {"first": _fixed(2.0**-4, 8.0), "second": _fixed(-3.0, 3.0)}


def _abscissa(dtype: str) -> Bounds:
    return Bounds(2.0**-4, dtype_bounds(dtype).hi)


BINARY = (
    Binary("add", op.add, ANY_NUMBERS, Bounds.__add__, more=BOOLEAN),
    Binary("multiply", op.multiply, ANY_NUMBERS, Bounds.__mul__, more=BOOLEAN),
    Binary("maximum", op.maximum, ANY_NUMBERS, Bounds.maximum, more=BOOLEAN),
    Binary("minimum", op.minimum, ANY_NUMBERS, Bounds.minimum, more=BOOLEAN),
    Binary(
        "divide",
        op.divide,
        ANY_NUMBERS,
        lambda left, right: left / right if not left.integral else _quotient(left, right),
        bounds=intervals.divide,
        **_DIVISION,
    ),
    Binary("floor_divide", op.floor_divide, ANY_NUMBERS, _quotient, **_DIVISION),
    Binary("floor_mod", op.floor_mod, ANY_NUMBERS, _remainder, **_DIVISION),
    # TVM defects: for low precision, mod leaves a store of another dtype than its buffer's ("dtype mismatch on
    # BufferStore"); power takes bfloat16 for no float ("power only applies to float"), also in log_add_exp.
    Binary("mod", op.mod, FLOATS + INTEGERS, _remainder, more=LOW_PRECISION, **_DIVISION),
    Binary("power", op.power, FLOATS, corners(math.pow), more=BFLOAT, **_POWER),
    # No float16: LLVM has no kernel for it ("unknown intrinsic"). The abscissa is positive: where it is negative, the
    # sign of a zero decides between pi and -pi.
    Binary("atan2", op.atan2, WIDE_FLOATS + LOW_PRECISION, lambda a, b: Bounds(-1.625, 1.625), second=_abscissa),
    Binary(
        "log_add_exp",
        op.log_add_exp,
        FLOATS,
        lambda left, right: left.maximum(right) + Bounds(0.0, math.log(2)),
        first=_MODERATE,
        second=_MODERATE,
        more=BFLOAT,
    ),
    Binary("equal", op.equal, ANY_NUMBERS, _truth, **_COMPARE),
    Binary("not_equal", op.not_equal, ANY_NUMBERS, _truth, **_COMPARE),
    Binary("greater", op.greater, ANY_NUMBERS, _truth, **_COMPARE),
    Binary("greater_equal", op.greater_equal, ANY_NUMBERS, _truth, **_COMPARE),
    Binary("less", op.less, ANY_NUMBERS, _truth, **_COMPARE),
    Binary("less_equal", op.less_equal, ANY_NUMBERS, _truth, **_COMPARE),
    Binary("logical_and", op.logical_and, BOOLEAN, _truth, **_LOGIC),
    Binary("logical_or", op.logical_or, BOOLEAN, _truth, **_LOGIC),
    Binary("logical_xor", op.logical_xor, BOOLEAN, _truth, **_LOGIC),
    Binary("bitwise_and", op.bitwise_and, _BITABLE, _bits, **_BITS),
    Binary("bitwise_or", op.bitwise_or, _BITABLE, _bits, **_BITS),
    Binary("bitwise_xor", op.bitwise_xor, _BITABLE, _bits, **_BITS),
    # Shifted left is nothing negative, which is undefined, and nothing that would leave the dtype; a count of all bits
    # or more is undefined.
    Binary(
        "left_shift",
        op.left_shift,
        INTEGERS,
        lambda a, b: Bounds(0, a.hi * 2.0**b.hi, True),
        OperatorFamily.BITWISE,
        lambda dtype: Bounds(0, 7 if dtype.endswith("int8") else 127, True),
        lambda dtype: Bounds(0, 3 if dtype.endswith("int8") else 7, True),
    ),
    Binary(
        "right_shift",
        op.right_shift,
        INTEGERS,
        lambda a, b: Bounds(min(a.lo, 0), max(a.hi, 0), True),
        OperatorFamily.BITWISE,
        None,
        lambda dtype: Bounds(0, int(dtype.removeprefix("u").removeprefix("int")) - 1, True),
    ),
)

ROWS += [binary.row() for binary in BINARY]

_SUBTRACT = Binary("subtract", op.subtract, ANY_SIGNED, Bounds.__sub__, more=BOOLEAN)
_UNSIGNED_SUBTRACT = Binary(
    "subtract",
    op.subtract,
    UNSIGNED,
    Bounds.__sub__,
    first=lambda dtype: Bounds(3, dtype_bounds(dtype).hi, True),
    second=_fixed(0, 3, True),
)
"""Of unsigned numbers, so that the difference is no negative number that wraps round."""


@ROWS.row("subtract", bounds=_SUBTRACT.row().bounds)
def draw_subtract(scope: Scope) -> Value | None:
    """Draw ``subtract``; of unsigned numbers a small one from a greater one."""
    unsigned = any(dtype in UNSIGNED for dtype in scope.module.dtypes)
    return (_UNSIGNED_SUBTRACT if unsigned and scope.index(6) == 5 else _SUBTRACT).draw(scope)


@ROWS.row("where", OperatorFamily.SEARCH, bounds=lambda call: call[1].union(call[2]))
def draw_where(scope: Scope) -> Value | None:
    """Draw ``where``: a condition and two branches that broadcast to one shape, each stretched by the others."""
    left = scope.tensor(dtypes=ANY)
    right = partner(scope, left)
    dims = joined(left.shape, right.shape) or left.shape
    known = left.read_bounds.union(right.read_bounds)
    if scope.index(2) and left.dims is not None:
        condition = partner(scope, left, dtype="bool")
        both = joined(condition.shape, dims)
        if both is not None and scope.affordable(both):
            return scope.emit(op.where(condition.expr, left.expr, right.expr), known)
    condition = scope.tensor(dtypes=BOOLEAN, shape=broadcast_shape(scope, dims))
    if scope.index(4) == 3:
        left, right = right, left
    return scope.emit(op.where(condition.expr, left.expr, right.expr), known)


@ROWS.row("ewise_fma", executable=False)
def draw_ewise_fma(scope: Scope) -> Value | None:
    """Draw ``ewise_fma``: ``x1 * x2 + x3``; no legalization exists, so only modules that need not run have it."""
    if scope.executable:
        return None
    first = scope.tensor(dtypes=FLOATS + LOW_PRECISION)
    domain = default_bounds(first.dtype)
    first = scope.keep(first, domain.lo, domain.hi)
    second, third = (scope.tensor_like(first, bounds=domain) for _ in range(2))
    return scope.emit_rounded(op.ewise_fma(first.expr, second.expr, third.expr), Bounds(-6.0, 6.0), first.dtype)
