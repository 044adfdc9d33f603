"""Elementwise operators of one operand: a table of functions with their domains and the bounds of their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax

from strategies.operators import intervals
from strategies.operators.drawing import (
    ANY_NUMBERS,
    ANY_SIGNED,
    BOOLEAN,
    INTEGERS,
    NUMBERS,
    REAL_FLOATS,
    UNSIGNED,
    WIDE_FLOATS,
    calm,
)
from strategies.operators.intervals import SMALL
from strategies.operators.row import OperatorFamily, OperatorRow, Rows
from strategies.scope.bounds import BFLOAT, FLOAT8, FLOAT_LIMIT, LOW_PRECISION, Bounds, is_float
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.UNARY)

op = relax.op

NEAR_ONE = Bounds(-0.875, 0.875)
"""Inside (-1, 1) with room for the rounding of approximations that passes may put before asin, acos and atanh."""
POSITIVE = Bounds(2.0**-4, FLOAT_LIMIT)
"""Above 0 with room for rounding; the derivative of sqrt and log stays moderate."""
MODERATE = Bounds(-8.0, 8.0)
"""Where exp stays below 3000."""


@dataclass(frozen=True, slots=True)
class Unary:
    """An elementwise function: its call, dtypes, the domain of floats (``None``: all) and the bounds of its result.

    ``more`` are dtypes that type inference takes but for which LLVM has no kernel: drawn only in modules that need
    not run. ``proven`` is where a function with a domain is defined, and smooth enough, in modules that were not drawn.
    """

    name: str
    call: Callable[[Any], Any]
    dtypes: tuple[str, ...]
    result: Callable[[Bounds], Bounds]
    domain: Bounds | None = None
    more: tuple[str, ...] = ()
    out: str | None = None
    family: OperatorFamily = OperatorFamily.UNARY
    proven: tuple[float, float] | None = None

    def draw(self, scope: Scope) -> Value | None:
        """Draw the operand inside the domain and emit the call."""
        dtypes = self.dtypes if scope.executable else self.dtypes + self.more
        operand = scope.tensor(dtypes=dtypes, bounds=self.domain)
        if self.out is None:
            (operand,) = calm(scope, self.result, operand)
        dtype = self.out or operand.dtype
        return scope.emit_rounded(self.call(operand.expr), self.result(operand.read_bounds), dtype)

    def row(self) -> OperatorRow:
        """Return the row of the operator table."""
        proven = self.proven or (None if self.domain else (-math.inf, math.inf))
        bounds = intervals.elementwise(self.result, *proven) if proven else None
        return OperatorRow(f"relax.{self.name}", self.family, self.draw, bounds=bounds)


def _within(lo: float, hi: float) -> Callable[[Bounds], Bounds]:
    return lambda _: Bounds(lo, hi)


def _monotone(function: Callable[[float], float]) -> Callable[[Bounds], Bounds]:
    return lambda bounds: Bounds(function(bounds.lo), function(bounds.hi))


def _truth(bounds: Bounds) -> Bounds:
    return Bounds(0, 1, True)


_HALF = ("float16",)
_REAL = REAL_FLOATS
_WIDE = WIDE_FLOATS + BFLOAT
"""Without float16, for which LLVM has no kernel ("unknown intrinsic"); bfloat16 is computed in float32."""
# TVM defect: sign makes a constant -1 of an unsigned dtype ("cannot make uint from negative value"), and of bool.
_SIGN_MORE = (*UNSIGNED, "bool")
# TVM defect: isnan, isinf and isfinite pass type inference for bfloat16, float8 and bool, and TIR has no such call
# ("not supported for finiteness ops"); neither has it abs for float8 and bool.
_FINITE_MORE = (*LOW_PRECISION, "bool")
_ABS_MORE = (*FLOAT8, "bool")

UNARY = (
    Unary("abs", op.abs, NUMBERS + BFLOAT, Bounds.absolute, more=_ABS_MORE),
    Unary("acos", op.acos, _WIDE, _within(0.0, 3.1875), NEAR_ONE, _HALF),
    Unary("acosh", op.acosh, _WIDE, _monotone(math.acosh), Bounds(1.125, FLOAT_LIMIT), _HALF),
    Unary("asin", op.asin, _WIDE, _monotone(math.asin), NEAR_ONE, _HALF),
    Unary("asinh", op.asinh, _WIDE, _monotone(math.asinh), None, _HALF),
    Unary("atan", op.atan, _WIDE, _monotone(math.atan), None, _HALF),
    Unary("atanh", op.atanh, _REAL, _monotone(math.atanh), NEAR_ONE),
    Unary("ceil", op.ceil, (*ANY_NUMBERS, "bool"), Bounds.floor),
    Unary("cos", op.cos, _REAL, _within(-1.0, 1.0)),
    Unary("cosh", op.cosh, _WIDE, lambda bounds: Bounds(1.0, math.cosh(bounds.magnitude)), MODERATE, _HALF),
    Unary("erf", op.erf, _REAL, _monotone(math.erf)),
    Unary("exp", op.exp, _REAL, _monotone(math.exp), MODERATE, proven=(-math.inf, 9.0)),
    Unary("floor", op.floor, (*ANY_NUMBERS, "bool"), Bounds.floor),
    Unary("isfinite", op.isfinite, NUMBERS, _truth, more=_FINITE_MORE, out="bool", family=OperatorFamily.COMPARISON),
    Unary("isinf", op.isinf, NUMBERS, _truth, more=_FINITE_MORE, out="bool", family=OperatorFamily.COMPARISON),
    Unary("isnan", op.isnan, NUMBERS, _truth, more=_FINITE_MORE, out="bool", family=OperatorFamily.COMPARISON),
    Unary("log", op.log, _REAL, _monotone(math.log), POSITIVE, proven=(SMALL, math.inf)),
    Unary("negative", op.negative, ANY_SIGNED, Bounds.__neg__, more=UNSIGNED),
    Unary("round", op.round, (*ANY_NUMBERS, "bool"), Bounds.floor),
    Unary("rsqrt", op.rsqrt, _REAL, lambda b: Bounds(b.hi**-0.5, b.lo**-0.5), POSITIVE, proven=(SMALL, math.inf)),
    Unary("sigmoid", op.sigmoid, _REAL, _within(0.0, 1.0)),
    Unary("sign", op.sign, ANY_SIGNED, lambda bounds: Bounds(-1, 1, True), more=_SIGN_MORE),
    Unary("sin", op.sin, _REAL, _within(-1.0, 1.0)),
    Unary("sinh", op.sinh, _WIDE, _monotone(math.sinh), MODERATE, _HALF),
    Unary("sqrt", op.sqrt, _REAL, _monotone(math.sqrt), POSITIVE, proven=(0.0, math.inf)),
    Unary("square", op.square, ANY_NUMBERS, Bounds.square, more=BOOLEAN),
    Unary("tan", op.tan, _REAL, _monotone(math.tan), Bounds(-1.25, 1.25)),
    Unary("tanh", op.tanh, _REAL, _monotone(math.tanh)),
    Unary("trunc", op.trunc, (*ANY_NUMBERS, "bool"), Bounds.floor),
    # TVM defect: a float passes type inference, and TIR refuses it.
    Unary("logical_not", op.logical_not, BOOLEAN, _truth, more=WIDE_FLOATS, out="bool", family=OperatorFamily.LOGICAL),
)


ROWS += [unary.row() for unary in UNARY]


@ROWS.row("clip", bounds=intervals.clip)
def draw_clip(scope: Scope) -> Value | None:
    """Draw ``clip`` between two drawn limits inside the default domain, one of them rarely far outside."""
    operand = scope.tensor(dtypes=ANY_NUMBERS)
    dtype = operand.dtype
    lowest = 0 if dtype.startswith("uint") else -2
    lo = scope.integer(lowest, 2)
    hi = 100 if scope.rarely() else scope.integer(lo, 3)
    step = scope.pick((0.0, 0.25)) if is_float(dtype) else 0
    ends = (lo + step, hi + step)
    return scope.emit_rounded(op.clip(operand.expr, *ends), operand.read_bounds.clipped(*ends), dtype)


@ROWS.row("bitwise_not", OperatorFamily.BITWISE)
def draw_bitwise_not(scope: Scope) -> Value | None:
    """Draw ``bitwise_not``: of a signed integer ``-x - 1``; of an unsigned one the distance from its greatest value."""
    operand = scope.tensor(dtypes=(*INTEGERS, "bool"), where=lambda value: value.dtype != "uint32")
    dtype, known = operand.dtype, operand.read_bounds
    top = {"bool": 1.0, "uint8": 255.0, "uint16": 65535.0}.get(dtype, -1.0)
    return scope.emit_rounded(op.bitwise_not(operand.expr), Bounds(top, top, True) - known, dtype)
