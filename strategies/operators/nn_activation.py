"""Activations, softmax, dropout and padding."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import FLOAT_LIMIT, Bounds, is_float
from strategies.operators.drawing import (
    FLOATS,
    NUMBERS,
    axis,
    bounds_of,
    emit,
    keep,
    nonempty,
    project,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

nn = relax.op.nn


def _dip(least: float) -> Callable[[Bounds], Bounds]:
    """Functions between the identity and ``least`` below zero."""
    return lambda bounds: Bounds(max(least, min(bounds.lo, 0.0)), max(bounds.hi, 0.0) * 1.0625)


def _selu(bounds: Bounds) -> Bounds:
    """Slopes of at most 1.7581 below zero, where it levels off at -1.7581, and of 1.0507 above."""
    return Bounds(max(-1.78125, min(bounds.lo, 0.0) * 1.78125), max(bounds.hi, 0.0) * 1.0625)


def _softplus(bounds: Bounds) -> Bounds:
    return Bounds(0.0, max(bounds.hi, 0.0) + 1.5)


@dataclass(frozen=True, slots=True)
class Activation:
    """An elementwise activation with at most one drawn attribute."""

    name: str
    call: Callable[..., Any]
    dtypes: tuple[str, ...]
    result: Callable[[Bounds], Bounds]
    limit: float = FLOAT_LIMIT / 2
    attributes: tuple[tuple[Any, ...], ...] = ((),)

    def draw(self, scope: Scope) -> Value | None:
        """Draw the operand and the attribute and emit the call."""
        operand = scope.tensor(dtypes=self.dtypes)
        if is_float(operand.dtype):
            operand = keep(scope, operand, -self.limit, self.limit)
        call = self.call(operand.expr, *scope.pick(self.attributes))
        return emit(scope, call, self.result(bounds_of(operand)), operand.dtype)

    def row(self) -> OperatorRow:
        """The row of the operator table."""
        return OperatorRow(f"relax.nn.{self.name}", Family.ACTIVATION, self.draw)


ACTIVATIONS = (
    Activation("relu", nn.relu, NUMBERS, lambda bounds: bounds.clipped(0.0, FLOAT_LIMIT * 1e6)),
    Activation("gelu", nn.gelu, FLOATS, _dip(-0.25)),
    # x ** 3 inside: 30 ** 3 is within float16.
    Activation("gelu_tanh", nn.gelu_tanh, FLOATS, _dip(-0.25), limit=30.0),
    Activation("silu", nn.silu, FLOATS, _dip(-0.375), limit=10.0),
    Activation("selu", nn.selu, FLOATS, _selu, limit=8.0),
    # The threshold bounds the exponent: exp(beta * x) with beta * x <= 20 overflows float16, so stay below.
    Activation("softplus", nn.softplus, FLOATS, _softplus, limit=4.0, attributes=((), (2.0, 20.0), (0.5, 2.0))),
    Activation("leakyrelu", nn.leakyrelu, FLOATS, lambda b: b.including(0.0), attributes=((), (0.125,), (0.5,))),
)


def draw_prelu(scope: Scope) -> Value | None:
    """``prelu`` with a slope for each element of an axis."""
    # Its kernel takes static shapes alone ("Expect value to be constant int") and no negative axis.
    operand = scope.tensor(dtypes=FLOATS, ranks=(2, 3, 4, 1), static=scope.executable)
    where = axis(scope, operand.rank)
    if scope.executable:
        where %= operand.rank
    operand = keep(scope, operand, -FLOAT_LIMIT / 4, FLOAT_LIMIT / 4)
    slope = scope.tensor(dtypes=(operand.dtype,), shape=(shape_of(operand)[where],), bounds=Bounds(-2.0, 2.0))
    known = bounds_of(operand).union(bounds_of(operand) * bounds_of(slope)).including(0.0)
    return emit(scope, nn.prelu(operand.expr, slope.expr, where), known, operand.dtype)


def draw_softmax(scope: Scope) -> Value | None:
    """``softmax`` along an axis; the kernel subtracts the maximum, so nothing overflows."""
    operand = scope.tensor(dtypes=FLOATS, ranks=(2, 1, 3, 4), where=nonempty(scope))
    return emit(scope, nn.softmax(operand.expr, axis(scope, operand.rank)), Bounds(0.0, 1.0), operand.dtype)


def draw_log_softmax(scope: Scope) -> Value | None:
    """``log_softmax`` along an axis: at most the width of the operand plus the logarithm of the extent below zero."""
    operand = scope.tensor(dtypes=FLOATS, ranks=(2, 1, 3, 4), where=nonempty(scope))
    where = axis(scope, operand.rank)
    known, extent = bounds_of(operand), scope.most_elements([shape_of(operand)[where]])
    least = -(known.hi - known.lo) - math.log(max(extent, 1)) - 0.125
    return emit(scope, nn.log_softmax(operand.expr, where), Bounds(least, 0.0078125), operand.dtype)


def draw_dropout(scope: Scope) -> Value | None:
    """``dropout``: at inference the tensor itself and a mask of ones."""
    operand = scope.tensor(dtypes=FLOATS)
    call = nn.dropout(operand.expr, scope.pick((0.5, 0.25, 0.0)))
    return project(scope, call, (bounds_of(operand), Bounds(1, 1, True)))


def draw_pad(scope: Scope) -> Value | None:
    """``pad`` by a constant, or by what lies inside: reflected, replicated or wrapped around (below the extent)."""
    operand = scope.tensor(
        dtypes=NUMBERS, ranks=(2, 3, 1, 4), static=True, where=lambda value: 0 not in shape_of(value)
    )
    mode = scope.pick(("constant", "constant", "reflect", "replicate", "circular"))
    widths = []
    for dim in shape_of(operand):
        limit = 2 if mode in ("constant", "replicate") else min(2, int(dim) - 1)
        widths += [scope.integer(0, limit), scope.integer(0, limit)]
    number = scope.pick((0.0, 1.0)) if mode == "constant" else 0.0
    known = bounds_of(operand)
    call = nn.pad(operand.expr, widths, mode, number)
    return emit(scope, call, known.including(number) if mode == "constant" else known, operand.dtype)


ROWS = (
    *(activation.row() for activation in ACTIVATIONS),
    OperatorRow("relax.nn.prelu", Family.ACTIVATION, draw_prelu),
    OperatorRow("relax.nn.softmax", Family.ACTIVATION, draw_softmax),
    OperatorRow("relax.nn.log_softmax", Family.ACTIVATION, draw_log_softmax),
    OperatorRow("relax.nn.dropout", Family.ACTIVATION, draw_dropout),
    OperatorRow("relax.nn.pad", Family.SHAPE, draw_pad),
)
