"""Activations, softmax, dropout and padding."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax

from strategies.operators import intervals
from strategies.operators.adapt import adapted
from strategies.operators.drawing import ANY, ANY_NUMBERS, BFLOAT, FLOATS, SOME_RANK, project
from strategies.operators.intervals import Rule
from strategies.operators.row import OperatorFamily, OperatorRow, Rows
from strategies.scope.bounds import FLOAT_LIMIT, LOW_PRECISION, Bounds, is_float
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.ACTIVATION)

nn = relax.op.nn


def _dip(least: float) -> Callable[[Bounds], Bounds]:
    """Bound functions between the identity and ``least`` below zero."""
    return lambda bounds: Bounds(max(least, min(bounds.lo, 0.0)), max(bounds.hi, 0.0) * 1.0625)


def _selu(bounds: Bounds) -> Bounds:
    """Bound slopes of at most 1.7581 below zero, where it levels off at -1.7581, and of 1.0507 above."""
    return Bounds(max(-1.78125, min(bounds.lo, 0.0) * 1.78125), max(bounds.hi, 0.0) * 1.0625)


def _softplus(bounds: Bounds) -> Bounds:
    return Bounds(0.0, max(bounds.hi, 0.0) + 1.5)


_HALVES = (*FLOATS, *BFLOAT)
"""What type inference takes for a float: no float8."""


def _leaky(alpha: float) -> Callable[[Bounds], Bounds]:
    """Bound the identity above zero and ``alpha`` times it below."""
    return lambda bounds: bounds.maximum(Bounds(0, 0)).union(bounds.minimum(Bounds(0, 0)).scaled(alpha))


@dataclass(frozen=True, slots=True)
class Activation:
    """An elementwise activation with at most one drawn set of attributes, each with what it does to bounds."""

    name: str
    call: Callable[..., Any]
    dtypes: tuple[str, ...]
    results: tuple[Callable[[Bounds], Bounds], ...]
    limit: float = FLOAT_LIMIT / 2
    attributes: tuple[tuple[Any, ...], ...] = ((),)
    steps: int = 8
    bounds: Rule | None = None

    def draw(self, scope: Scope) -> Value | None:
        """Draw the operand and the attributes and emit the call."""
        operand = adapted(scope, dtypes=self.dtypes)
        if is_float(operand.dtype):
            operand = scope.keep(operand, -self.limit, self.limit)
        drawn = scope.index(len(self.attributes))
        known = self.results[min(drawn, len(self.results) - 1)](operand.known)
        return scope.emit_rounded(self.call(operand.expr, *self.attributes[drawn]), known, operand.dtype, self.steps)

    def row(self) -> OperatorRow:
        """Return the row of the operator table."""
        return OperatorRow(f"relax.nn.{self.name}", OperatorFamily.ACTIVATION, self.draw, bounds=self.bounds)


_SLOPES = (0.01, 0.125, 0.5, 0.0, 1.0, 2.0, -0.25)
# The threshold bounds the exponent: exp(beta * x) with beta * x <= 20 overflows float16, so stay below.
_SOFTPLUS = ((), (2.0, 20.0), (0.5, 2.0), (1.0, 1.0), (2.0,), (0.25, 20.0))

_RECTIFIED = intervals.elementwise(lambda b: b.maximum(Bounds(0, 0, True)))
_DIPPED = intervals.elementwise(lambda b: b.including(0.0).including(-0.3))

ACTIVATIONS = (
    Activation("relu", nn.relu, ANY_NUMBERS, (lambda b: b.clipped(0.0, FLOAT_LIMIT * 1e6),), bounds=_RECTIFIED),
    Activation("gelu", nn.gelu, _HALVES, (_dip(-0.25),), bounds=_DIPPED),
    # x ** 3 inside: 30 ** 3 is within float16.
    Activation("gelu_tanh", nn.gelu_tanh, _HALVES, (_dip(-0.25),), limit=30.0, bounds=_DIPPED),
    Activation("silu", nn.silu, _HALVES, (_dip(-0.375),), limit=10.0, bounds=_DIPPED),
    Activation("selu", nn.selu, _HALVES, (_selu,), limit=8.0),
    Activation(
        "softplus",
        nn.softplus,
        _HALVES,
        (_softplus, _softplus, _softplus, _softplus, _softplus, lambda b: Bounds(0.0, max(b.hi, 0.0) + 3.5)),
        limit=4.0,
        attributes=_SOFTPLUS,
        bounds=intervals.elementwise(lambda b: Bounds(0.0, max(0.0, b.hi) + 1.0)),
    ),
    Activation(
        "leakyrelu",
        nn.leakyrelu,
        _HALVES,
        tuple(_leaky(slope) for slope in _SLOPES),
        limit=FLOAT_LIMIT / 4,
        attributes=tuple((slope,) for slope in _SLOPES),
        bounds=intervals.leaky,
    ),
)


ROWS += [activation.row() for activation in ACTIVATIONS]


@ROWS.row("nn.prelu")
def draw_prelu(scope: Scope) -> Value | None:
    """Draw ``prelu`` with a slope for each element of an axis."""
    # Its kernel takes a static extent alone along the axis ("Expect value to be constant int").
    operand = adapted(
        scope,
        dtypes=FLOATS,
        ranks=(2, 3, 4, 1, 5),
        where=lambda value: any(isinstance(dim, int) for dim in value.shape),
    )
    dims = operand.shape
    places = [place for place, dim in enumerate(dims) if isinstance(dim, int) or not scope.executable]
    where = scope.pick(places)
    operand = scope.keep(operand, -FLOAT_LIMIT / 4, FLOAT_LIMIT / 4)
    slope = adapted(scope, dtypes=(operand.dtype,), shape=(dims[where],), bounds=Bounds(-2.0, 2.0), share=32)
    known = operand.known.union(operand.known * slope.known).including(0.0)
    named = where - operand.rank if scope.flip() else where
    return scope.emit_rounded(nn.prelu(operand.expr, slope.expr, named), known, operand.dtype)


@ROWS.row("nn.softmax", bounds=intervals.softmax)
def draw_softmax(scope: Scope) -> Value | None:
    """Draw ``softmax`` along an axis; the kernel subtracts the maximum, so nothing overflows."""
    operand = adapted(scope, dtypes=_HALVES, ranks=SOME_RANK, where=scope.nonempty)
    call = nn.softmax(operand.expr, scope.axis(operand.rank))
    return scope.emit_rounded(call, Bounds(0.0, 1.0), operand.dtype)


@ROWS.row("nn.log_softmax", bounds=intervals.log_softmax)
def draw_log_softmax(scope: Scope) -> Value | None:
    """Draw ``log_softmax`` along an axis: at most the operand's width plus the logarithm of the extent below zero."""
    operand = adapted(scope, dtypes=_HALVES, ranks=SOME_RANK, where=scope.nonempty)
    where = scope.axis(operand.rank)
    known, extent = operand.known, scope.most_elements([operand.shape[where]])
    least = -(known.hi - known.lo) * 1.03125 - math.log(max(extent, 1)) - 0.125
    # Rounding makes a sum of low precision less than its greatest term.
    most = 0.0078125 if operand.dtype in FLOATS else 0.5
    return scope.emit_rounded(nn.log_softmax(operand.expr, where), Bounds(least, most), operand.dtype)


@ROWS.row("nn.dropout")
def draw_dropout(scope: Scope) -> Value | None:
    """Draw ``dropout``: at inference the tensor itself and a mask of ones."""
    operand = adapted(scope, dtypes=ANY)
    call = nn.dropout(operand.expr, scope.pick((0.5, 0.25, 0.0, 1.0)))
    return project(scope, call, (operand.known, Bounds(1, 1, True)))


@ROWS.row("nn.pad", OperatorFamily.SHAPE, bounds=intervals.pad)
def draw_pad(scope: Scope) -> Value | None:
    """Draw ``pad`` by a constant (by less than nothing, too), or reflected, replicated or wrapped."""
    mode = scope.pick(("constant", "constant", "reflect", "replicate", "circular"))
    where = None if mode == "constant" else scope.nonempty
    operand = adapted(scope, dtypes=ANY, ranks=(*SOME_RANK, 0), where=where)
    widths: list[int] = []
    for dim in operand.shape:
        # Reflected and wrapped parts stay below the extent.
        low = scope.dim_range(dim)[0]
        limit = 2 if mode in ("constant", "replicate") else min(2, low - 1)
        near, far = scope.index(limit + 1), scope.index(limit + 1)
        if mode == "constant" and low > 2 and scope.index(8) == 7:
            near, far = scope.pick(((-1, far), (near, -1), (-1, -1)))
        widths += [near, far]
    dims = [dim + widths[2 * place] + widths[2 * place + 1] for place, dim in enumerate(operand.shape)]
    if not scope.affordable(dims):
        return None
    known = operand.known
    if mode != "constant":
        return scope.emit(nn.pad(operand.expr, widths, mode), known)
    number = scope.pick(_numbers(operand.dtype))
    call = (
        nn.pad(operand.expr, widths) if number == 0.0 and scope.flip() else nn.pad(operand.expr, widths, mode, number)
    )
    return scope.emit(call, known.including(number))


def _numbers(dtype: str) -> tuple[float, ...]:
    if dtype == "bool" or dtype.startswith("uint"):
        return (0.0, 1.0)
    return (0.0, 1.0, -1.0, 2.0) if dtype in LOW_PRECISION or not is_float(dtype) else (0.0, 1.0, -1.5, 0.25)
