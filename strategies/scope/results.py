"""Results and tuples: packing values, taking them apart, and choosing what a function returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax

from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

MAX_PARTS = 4


def as_tuple(values: Sequence[Value]) -> Any:
    """Return a ``relax.Tuple`` expression of values."""
    return relax.Tuple([value.expr for value in values])


def pack(scope: Scope) -> Value:
    """Bind a tuple of one to three values, sometimes nested; what it holds may be of any kind, and the same twice."""
    parts = [_member(scope) for _ in range(1 + scope.index(3))]
    if scope.index(6) == 5:
        parts.append(parts[0])
    return scope.emit(as_tuple(parts), parts=parts)


def pack_nested(scope: Scope) -> Value:
    """Bind a tuple that holds a tuple."""
    inner = pack(scope)
    parts = (scope.tensor(), inner)
    return scope.emit(as_tuple(parts), parts=parts)


def _member(scope: Scope) -> Value:
    if scope.has(Feature.NESTED_TUPLES) and scope.index(4) == 3:
        inner = [value for value in scope.values if value.is_tuple]
        if inner:
            return scope.pick(inner)
        parts = (scope.tensor(), scope.tensor())[: 2 * (scope.index(6) < 5)]  # rarely the empty tuple
        expr = as_tuple(parts)
        return Value(expr, relax.TupleType([part.ty for part in parts]), parts=parts)
    if scope.has(Feature.CONSTANTS) and scope.index(8) == 7:
        return scope.constant(scope.draw_shape((0, 1, 2), static=True), scope.pick_dtype(None))
    if scope.index(4) == 3:
        known = [v for v in scope.values if not v.is_tuple and not v.is_function]
        if known:
            return scope.pick(known)
    return scope.tensor()


def project(scope: Scope) -> Value | None:
    """Bind an element of a tuple at hand; ``None`` without one."""
    tuples = [value for value in scope.values if value.parts]
    if not tuples:
        return None
    made = tuples[-1 - scope.index(len(tuples))]
    while True:
        made = scope.item(made, scope.index(len(made.parts)))
        if not made.parts or scope.index(2) == 0:
            return made


def choose_result(scope: Scope, wanted: Sequence[Value] = (), *, single: bool = False) -> Value:
    """Return what a function returns: a value, a tuple, or a nested tuple; ``wanted`` values are always in it.

    Called with every block closed: only what is visible then can be returned.

    Args:
        scope: What is visible.
        wanted: Values that must be part of it.
        single: Whether one value that is no tuple is preferred.
    """
    visible = {id(value) for value in scope.values}
    chosen = [v for v in wanted if id(v) in visible or not isinstance(v.expr, relax.Var)]
    candidates = [v for v in scope.values if not v.is_function]
    if not candidates and not chosen:
        chosen.append(scope.tensor())
        candidates = [chosen[0]]
    if not scope.has(Feature.NESTED_TUPLES) and (chosen or not scope.forbids(Feature.NESTED_TUPLES)):
        candidates = [v for v in candidates if not v.is_tuple] or candidates[:0]
    if single or not scope.has(Feature.TUPLES):
        chosen = chosen or [value for value in reversed(candidates) if not value.is_tuple][:1] or [scope.tensor()]
        if len(chosen) == 1:
            return chosen[0]
        return _packed(chosen)
    shape = scope.index(4)
    if not chosen or shape:
        # Newest first, because that is what the rest of the function led to.
        if scope.forbids(Feature.NESTED_TUPLES):
            candidates = [v for v in candidates if not v.is_tuple]
        newest = [value for value in reversed(candidates) if value not in chosen][: MAX_PARTS if shape > 1 else 1]
        chosen = newest + chosen
    if shape == 0 and len(chosen) == 1:
        return chosen[0]
    if shape == 3 and scope.has(Feature.NESTED_TUPLES) and len(chosen) > 1:
        inner = _packed(chosen[1:])
        deeper = scope.index(4)
        if deeper == 3:
            return _packed([_packed([inner, chosen[0]]), chosen[0], inner])
        return _packed([_packed(chosen[:1]), inner] if deeper == 2 else [chosen[0], inner])
    return _packed(chosen or [scope.tensor()])


def ready(scope: Scope, wanted: Sequence[Value], *, single: bool = False) -> list[Value]:
    """Prepare values for :func:`choose_result` where the caller forbade tuples in tuples, or tuples altogether.

    Called with a block open. Without tuples, tensors are joined into one scalar, and what is no tensor of known shape
    stands for itself when it is alone.
    """
    values = list(wanted)
    single = single or scope.forbids(Feature.TUPLES)
    if single or scope.forbids(Feature.NESTED_TUPLES):
        flat: list[Value] = []
        for value in values:
            if value.is_tuple and value.parts:
                items = [scope.item(value, i) for i in range(len(value.parts))]
                values.extend(item for item in items if item.is_tuple)
                flat.extend(item for item in items if not item.is_tuple)
            elif not value.is_tuple:
                flat.append(value)
        values = flat
    if single and len(values) > 1:
        tensors = [_scalar(scope, value) for value in values if value.is_tensor]
        joined = tensors[0] if tensors else values[0]
        for other in tensors[1:]:
            joined = scope.emit(relax.op.maximum(joined.expr, other.expr), joined.bounds)
        return [joined]
    return values


def _scalar(scope: Scope, value: Value) -> Value:
    """Draw a float32 scalar that depends on a tensor, empty or not."""
    real = scope.emit(relax.op.astype(value.expr, "float32"), value.bounds)
    limited = scope.emit(relax.op.clip(real.expr, -1, 1), Bounds(-1.0, 1.0))
    return scope.emit(relax.op.sum(limited.expr), Bounds(-4096.0, 4096.0))


def _packed(parts: Sequence[Value]) -> Value:
    return Value(as_tuple(parts), relax.TupleType([part.ty for part in parts]), parts=tuple(parts))


def bounds_like(ty: Any, template: Value | None) -> Value:
    """Return a value of a type without an expression, whose bounds are those of ``template`` part by part."""
    if template is None:
        return Value(None, ty)
    if isinstance(ty, relax.TupleType) and len(template.parts) == len(ty.fields):
        parts = tuple(bounds_like(field, part) for field, part in zip(ty.fields, template.parts, strict=True))
        return Value(None, ty, parts=parts)
    bounds: Bounds | None = template.bounds
    return Value(None, ty, bounds)
