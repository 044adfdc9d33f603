"""Losses: public functions of one dataflow block that end in a float scalar, of operators that have a gradient."""

from __future__ import annotations

import contextlib
from typing import Any

from tvm import relax

from strategies.constructs.differentiable import differentiable_operators
from strategies.operators import OPERATORS
from strategies.scope.bounds import FLOAT8, FLOAT_LIMIT, Bounds, is_float
from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, Infeasible, setting
from strategies.scope.scope import NothingAtHand, Scope
from strategies.scope.values import Value

op = relax.op

MOST_STEPS = 6
DTYPES = ("float32", "float32", "float32", "float64")
TRIES = 4


class LossScope(Scope):
    """A scope whose guards have a derivative other than zero, where that can be had."""

    smooth = True
    """Whether only operators with a gradient are drawn."""

    takes = False
    """Whether ``take`` may be drawn: in TVM 0.27 its gradient writes beyond its buffer (``docs/bugs.md``), and what
    that does to the process looks like any other defect.  Some keep an eye on it."""

    def chance(self, parts: int) -> bool:
        """Draw what a share decides: never, where it may be an operand brought to a shape by any operator."""
        drawn = super().chance(parts)
        return drawn and not self.smooth

    def guard(self, value: Value, bounds: Bounds | None) -> Value:
        """Return a float in bounds by ``tanh`` and an affine map; anything else as usual."""
        if bounds is None or (value.bounds is not None and bounds.contains(value.bounds)):
            return value
        squashable = is_float(value.dtype) and value.dtype not in FLOAT8  # tanh takes no floats of eight bits
        if not squashable or bounds.integral or bounds.hi - bounds.lo < 2.0**-4:
            return super().guard(value, bounds)
        middle, half = (bounds.lo + bounds.hi) / 2, (bounds.hi - bounds.lo) / 2
        half = min(half * 0.9375, 4.0)
        squashed = self.emit(op.tanh(value.expr), Bounds(-1.0, 1.0))
        scaled = self.emit(op.multiply(squashed.expr, relax.const(half, value.dtype)), Bounds(-half, half))
        inside = Bounds(max(bounds.lo, middle - half * 1.03125), min(bounds.hi, middle + half * 1.03125))
        return self.emit(op.add(scaled.expr, relax.const(middle, value.dtype)), inside)


def draw_loss(scope: Scope, steps: int, differentiable: bool = True) -> Any:
    """Add a loss to the module; gives its global variable.

    Args:
        scope: Where the idiom is planted.
        steps: How many operators it holds before it is reduced to a scalar.
        differentiable: Whether only operators with a gradient are drawn.

    Raises:
        Infeasible: when the module has no room for a function.
    """
    module, builder = scope.module, scope.builder
    if any(scope.forbids(feature) for feature in (Feature.DEAD_CODE, Feature.ALIASES)):
        raise Infeasible("steps that the loss does not take are dead code, and outputs other names of them")
    module.take_room()
    frame = FunctionFrame(max_parameters=6, called=False, pure_only=True)
    inner = LossScope(scope.draw, module, frame)
    builder.begin_scope([])
    builder._begin_dataflow_block()
    inner.loosens = 0  # Gradient refuses casts
    inner.in_dataflow, inner.smooth, inner.takes = True, differentiable, inner.index(16) == 15
    dtype = next((d for d in (inner.pick(DTYPES), "float32", "float64") if module.permits(d)), "")
    try:
        if not dtype:
            raise Infeasible("no float that a difference can be taken of is permitted")
        inner.parameter(frame.tensor_type(inner.draw_shape((2, 1, 3, 4)), dtype), Bounds(-2.0, 2.0))
        for _ in range(steps):
            with contextlib.suppress(Infeasible):
                _step(inner)
        result = _result(inner)
    finally:
        block = builder._end_block()
        builder.end_scope()
    parameters = [value.expr for value in frame.parameters]
    builder.begin_scope(parameters)
    sequence = builder.normalize(relax.SeqExpr([block], result))
    builder.end_scope()
    name = module.fresh_name("loss")
    function = relax.Function(parameters, sequence).with_attr("global_symbol", name)
    return builder.add_func(function, name)


def _step(scope: LossScope) -> None:
    """Draw one operator that takes a float computed before, if possible."""
    known = differentiable_operators()
    rows = tuple(
        row
        if row.executable
        and (scope.takes or row.name != "relax.take")
        and (row.name in known or not scope.smooth)
        and row.feature in (None, *scope.features)
        else None
        for row in OPERATORS
    )
    for attempt in range(TRIES):
        row = scope.pick_steadily(rows)
        scope.renew()
        with contextlib.suppress(NothingAtHand), setting(scope, eager=attempt < TRIES - 1):
            row.draw(scope)
            return


def _result(scope: LossScope) -> Any:
    """Emit the loss: what no operator took yet, reduced and added up; sometimes with another result beside it."""
    loose = [v for v in scope.tensors() if v.dtype in ("float32", "float64") and v.expr not in scope.frame.used]
    chosen = loose[-3:] or [v for v in scope.tensors() if v.dtype in ("float32", "float64")][-1:]
    if not chosen:
        raise Infeasible("nothing that a loss could be made of")
    total: Value | None = None
    for value in chosen:
        part = _reduced(scope, value)
        if total is None:
            total = part
        elif part.dtype == total.dtype:
            total = scope.emit(op.add(total.expr, part.expr))
        else:
            cast = scope.emit(op.astype(part.expr, total.dtype))
            total = scope.emit(op.add(total.expr, cast.expr))
    assert total is not None
    out = scope.builder.emit_output(total.expr, "gv")
    if not scope.has(Feature.TUPLES) or scope.index(3) < 2:
        return out
    other = scope.builder.emit_output(chosen[0].expr, "gv")
    return relax.Tuple([out, other] if scope.index(4) < 3 else [other, out])


def _reduced(scope: LossScope, value: Value) -> Value:
    """Draw a scalar in which every element counts, each by its own weight or by its square."""
    way = scope.index(4)
    squared = value.known.magnitude**2 < FLOAT_LIMIT if value.bounds is not None else False
    if way == 1 and squared:
        value = scope.emit(op.multiply(value.expr, value.expr))
    elif way >= 2 and value.rank and value.dims is not None and scope.definable(value.dims):
        weight = scope.tensor(dtypes=(value.dtype,), shape=value.dims, bounds=Bounds(-2.0, 2.0))
        value = scope.emit(op.multiply(value.expr, weight.expr))
    # TVM defect: the mean of no elements is a division of numbers by zero, and legalizing it fails.
    if way == 3 and value.is_static and 0 not in value.shape:
        return scope.emit(op.mean(value.expr)) if value.rank else value
    return scope.emit(op.sum(value.expr)) if value.rank else value
