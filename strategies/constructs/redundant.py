"""Redundant code: aliases, calls that are bound twice, and code that nothing uses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tvm import relax

from relaxkit.ir.edits import is_impure
from relaxkit.ir.lowered import ALLOCATIONS
from relaxkit.ir.walk import operator_of
from strategies.constructs import calls
from strategies.scope.features import Feature
from strategies.scope.filler import joined_with
from strategies.scope.frame import Infeasible, setting
from strategies.scope.results import as_tuple
from strategies.scope.scope import Scope
from strategies.scope.values import Value


def repeatable(scope: Scope, value: Value) -> Any:
    """Return the call that a value is bound to, when all that it takes is visible here; else ``None``.

    An allocation counts as pure (its ``FPurity``), but another one is memory that no kernel fills, not the value.
    """
    if value.is_parameter or not isinstance(value.expr, relax.Var):
        return None
    expr = scope.builder.lookup_binding(value.expr)
    if not isinstance(expr, relax.Call) or "inplace" in str(expr.op) or is_impure(expr):
        return None
    if getattr(expr.op, "name", "") in ALLOCATIONS:
        return None
    frame = scope.frame
    visible = {v.expr for v in scope.values if isinstance(v.expr, relax.Var)}
    visible.update(frame.symbol_list, frame.shape_symbols, frame.cast_symbols)
    return expr if all(var in visible for var in relax.analysis.free_vars(expr)) else None


op = relax.op


def alias(scope: Scope) -> Value:
    """Draw a variable bound to a variable (a tuple, an element of one, a parameter, an alias), or to a constant."""
    if scope.has(Feature.CONSTANTS) and scope.index(4) == 3:
        made = scope.constant((2,), "float32")
        return scope.emit(made.expr, made.bounds)
    known = [v for v in reversed(scope.values) if not v.is_function]
    if scope.index(4) == 3:  # what was given: a dataflow output that is a parameter, a result that is one
        known = [v for v in known if v.is_parameter] or known
    value = scope.pick(known or [scope.tensor()])
    if isinstance(value.expr, relax.Tuple):
        value = scope.tensor()
    for _ in range(scope.index(3)):
        value = _again(scope, value)
    return _again(scope, value)


def _again(scope: Scope, value: Value) -> Value:
    return scope.emit(value.expr, value.bounds, parts=value.parts, device=value.device)


def duplicate(scope: Scope) -> Value | None:
    """Draw a call once more, of any block that is still visible; of an operator when nothing can be repeated.

    Half of the time the operator is drawn once more, of the same operands or of all but one, with attributes of its
    own: a pass that looks for equal calls may take the two for equal.
    """
    bound = [(v, e) for v in reversed(scope.values[-24:]) if (e := repeatable(scope, v)) is not None]
    if not bound:
        return _twice(scope)[1]
    value, expr = scope.pick([each for each in bound if operator_of(each[1]) in scope.module.aimed] or bound)
    near = _nearly(scope, expr) if scope.flip() else None
    return near or scope.emit(expr, value.bounds, parts=value.parts, device=value.device)


def _nearly(scope: Scope, call: Any) -> Value | None:
    """Draw the operator of a call of the same operands, or of all but one; nothing where this module draws none."""
    row = next((row for row in scope.module.rows if row is not None and row.name == operator_of(call)), None)
    operands = [each for each in call.args if isinstance(each, relax.Var)]
    if row is None or not operands:
        return None
    other = scope.index(len(operands) + 1) if len(operands) > 1 else len(operands)
    kept = tuple(each for place, each in enumerate(operands) if place != other)
    with setting(scope, again=kept):
        drawn: Value | None = row.draw(scope)
    return drawn


def duplicate_in_use(scope: Scope, draw: Callable[[Scope], Value | None]) -> Value:
    """Draw two equal calls of a drawn operator, both of them used, and perhaps a third that is nearly equal."""
    with contextlib.suppress(Infeasible):
        value = draw(scope)
        expr = None if value is None or not value.is_tensor else repeatable(scope, value)
        if value is not None and expr is not None:
            again = scope.emit(expr, value.bounds, parts=value.parts, device=value.device)
            if scope.flip():
                _nearly(scope, expr)
            return joined_with(scope, value, again, value.device)
    return joined_with(scope, *_twice(scope))


def _twice(scope: Scope) -> tuple[Value, Value]:
    value = scope.tensor()
    expr = _no_op(value)
    return scope.emit(expr, value.bounds), scope.emit(expr, value.bounds)


def dead(scope: Scope) -> Value | None:
    """Draw code that nothing uses, out of sight at once: one binding, a chain, a tuple, a call or an ``If``."""
    ways: list[Callable[[Scope], object]] = [_one, _chain, _tuple]
    if scope.has(Feature.MULTIPLE_FUNCTIONS):
        ways.append(calls.draw_call)
    if scope.has(Feature.IF) and not scope.in_dataflow and not scope.branches:
        ways.append(_if)
    way = scope.pick(ways)
    before = list(scope.values)
    try:
        way(scope)
    finally:
        _hide(scope, before)
    return None


def dead_binding(scope: Scope) -> Value | None:
    """Bind one value that nothing uses: what every place has room for."""
    before = list(scope.values)
    _one(scope)
    _hide(scope, before)
    return None


def _hide(scope: Scope, before: list[Value]) -> None:
    """Take what was bound since out of sight; parameters that came with it stay."""
    scope.values = before + [value for value in scope.values if value.is_parameter and value not in before]


def _one(scope: Scope) -> None:
    value = scope.tensor()
    scope.emit(_no_op(value), value.bounds)


def _chain(scope: Scope) -> None:
    """Bind two or three values of which each takes the one before."""
    value = scope.tensor()
    for _ in range(2 + scope.index(2)):
        value = scope.emit(_no_op(value), value.bounds)


def _tuple(scope: Scope) -> None:
    """Bind a tuple, and an element of it."""
    if not scope.has(Feature.TUPLES):
        raise Infeasible("tuples are off")
    parts = [scope.tensor(), scope.tensor()]
    whole = scope.emit(as_tuple(parts), parts=parts)
    scope.item(whole, scope.index(2))


def _if(scope: Scope) -> None:
    """Bind an ``If`` of a condition at hand whose branches are calls."""
    condition = scope.tensor(dtypes=("bool",), shape=())
    value = scope.tensor()
    branches = []
    for _ in range(2):
        builder = scope.builder
        builder._begin_binding_block()
        made = builder.emit(_no_op(value))
        branches.append(relax.SeqExpr([builder._end_block()], made))
    with scope.symbols_in_scope():
        scope.emit(relax.If(condition.expr, *branches), value.bounds)


def _no_op(value: Value) -> Any:
    """Return a call that gives the same tensor."""
    return op.permute_dims(value.expr, list(range(value.rank)))
