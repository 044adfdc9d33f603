"""Weights: parameters known early (``num_input``), and work on them alone, which LiftTransformParams moves."""

from __future__ import annotations

from tvm import relax

from strategies.scope.bounds import Bounds, default_bounds
from strategies.scope.dims import SYMBOL_RANGE
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value, elements

op = relax.op

_SHAPES = ((2, 3), (3, 2), (2, 2), (4,), (2, 3, 4), (3, 2, 1, 1), (1, 3))


def weight(scope: Scope) -> Value:
    """Draw a new weight: mostly a tensor of a static shape; seldom one of symbolic dims, a shape, or a tuple, of which
    an element is given."""
    frame = scope.frame
    way = scope.index(16)
    if way == 14 and scope.has(Feature.SHAPE_PARAMS) and scope.has(Feature.SYMBOLIC_SHAPES):
        symbol = frame.new_symbol(SYMBOL_RANGE)
        _weigh(scope, frame.add_parameter(relax.ShapeType([symbol, 2]), None, name=f"w{len(frame.weights)}"))
        return scope.emit(
            op.full(scope.shape_expr([symbol, 2]), relax.const(1, "float32"), "float32"), Bounds(1, 1, True)
        )
    if way == 15 and scope.has(Feature.TUPLES):
        parts = [
            Value(None, frame.tensor_type(scope.pick(_SHAPES), "float32"), default_bounds("float32")) for _ in "ab"
        ]
        return scope.item(_weigh(scope, frame.add_tuple_parameter(parts)), scope.index(2))
    dtype = "float32" if scope.index(4) else scope.pick_dtype(None)
    dims = scope.pick(_SHAPES)
    if way in (12, 13) and scope.has(Feature.SYMBOLIC_SHAPES):
        dims = (scope.symbol(), *dims[1:])
    ty = frame.tensor_type(dims, dtype)
    return _weigh(scope, frame.add_parameter(ty, default_bounds(dtype), name=f"w{len(frame.weights)}"))


def _weigh(scope: Scope, value: Value) -> Value:
    scope.frame.weights.append(value)
    return scope.see(value)


def draw_weight_work(scope: Scope) -> Value:
    """Bind an operator whose operands are weights or made of weights; sometimes followed by ``stop_lift_params``."""
    visible = {id(value) for value in scope.values}
    at_hand = [v for v in scope.frame.weights + scope.frame.weight_work if id(v) in visible and v.is_tensor]
    source = at_hand[-1 - scope.index(len(at_hand))] if at_hand else weight(scope)
    way = scope.index(4)
    if way == 0 and source.rank > 1:
        made = scope.emit(op.permute_dims(source.expr), source.bounds)
    elif way == 1 and source.dtype != "bool" and source.bounds is not None and source.bounds.magnitude < 64:
        made = scope.emit(op.add(source.expr, source.expr), (source.bounds + source.bounds).rounded())
    elif way == 2:
        made = scope.emit(op.reshape(source.expr, scope.shape_expr([elements(source)])), source.bounds)
    elif source.dtype == "bool":
        made = scope.emit(op.logical_not(source.expr), Bounds(0, 1, True))
    else:
        made = scope.emit(
            op.maximum(source.expr, relax.const(0, source.dtype)),
            (source.bounds.maximum(Bounds(0, 0, True)) if source.bounds else None),
        )
    if scope.has(Feature.STOP_LIFT) and scope.index(2):
        made = stop_lift(scope, made)
    scope.frame.weight_work.append(made)
    return made


def stop_lift(scope: Scope, value: Value | None = None) -> Value:
    """Bind ``builtin.stop_lift_params`` of a value (default: work on weights)."""
    source = value or draw_weight_work(scope)
    return scope.emit(op.builtin.stop_lift_params(source.expr), source.bounds)
