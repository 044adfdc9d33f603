"""Recursion: private functions that call themselves, or each other, as often as a counter says.

The function takes a counter in [0, 3] and some state; while the counter is positive, it calls itself (or its partner)
with one less and new state.  The state keeps within the bounds of its parameters, the result within those of what the
last call gives, so that both hold at every depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax
from tvm.ir import GlobalVar
from tvm.relax.expr import _update_type

from strategies.constructs import shapes
from strategies.constructs.calls import substitute
from strategies.constructs.local_functions import joined
from strategies.scope.body import FunctionBody
from strategies.scope.bounds import Bounds, default_bounds
from strategies.scope.choices import Draw
from strategies.scope.features import Feature
from strategies.scope.filler import filled_with
from strategies.scope.frame import CalleeSignature, FunctionFrame, ModuleFrame
from strategies.scope.results import as_tuple, bounds_like
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

DEPTH = 3
"""Most calls of the function by itself."""

Step = Callable[[Scope, int], None]


@dataclass(frozen=True, slots=True)
class _Half:
    """A function under construction: its scope, its counter and its state."""

    scope: Scope
    body: FunctionBody
    counter: Value
    state: tuple[Value, ...]
    condition: Value


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """The plan of the partner of a function."""

    frame: FunctionFrame
    state: tuple[Value, ...]
    result: Value


def build(draw: Draw, module: ModuleFrame, step: Step, *, mutual: bool) -> CalleeSignature:
    """Draw a recursive private function, or where ``mutual`` two that call each other, and add them to the module."""
    half = _begin(draw, module, FunctionFrame(max_parameters=6, deepest=2, pure_only=True))
    scope, counter = half.scope, half.counter
    _state(scope)
    half = _opened(half)
    base = _branch(half, step, lambda: _results(scope))
    result = _template(base[1])
    first = _declare(module, (counter, *half.state), result, "loop")
    mirrored = _mirrored(half, result) if mutual else None
    if mirrored is None:
        _finish(half, step, base, first, first, result)
        return _signature(half, first, result, frozenset({first.name_hint}), scope.frame.depth)
    second = _declare(module, (counter, *mirrored.state), mirrored.result, "pool")
    _finish(half, step, base, second, first, result)
    partner = _begin(draw, module, mirrored.frame, counter.dtype)
    for value in mirrored.state:
        _parameter(partner.scope, value)
    partner = _opened(partner)
    base = _branch(partner, step, lambda: _like(partner.scope, mirrored.result))
    _finish(partner, step, base, first, second, mirrored.result)
    depth = max(scope.frame.depth, mirrored.frame.depth)
    return _signature(half, first, result, frozenset({first.name_hint, second.name_hint}), depth)


def _signature(half: _Half, var: Any, result: Value, group: frozenset[str], depth: int) -> CalleeSignature:
    symbols = half.scope.frame.symbols
    return CalleeSignature(var, (half.counter, *half.state), result, symbols, {}, depth, private=True, group=group)


def _begin(draw: Draw, module: ModuleFrame, frame: FunctionFrame, dtype: str = "") -> _Half:
    """Return a function with nothing but a counter."""
    scope = Scope(draw, module, frame)
    module.builder.begin_scope([])
    dtype = dtype or scope.pick([dtype for dtype in ("int32", "int64", "float32") if module.permits(dtype)])
    counter = frame.add_parameter(relax.TensorType([], dtype), Bounds(0, DEPTH, True))
    return _Half(scope, FunctionBody(scope), scope.see(counter), (), counter)


def _mirrored(half: _Half, result: Value) -> _Mirrored | None:
    """Return the state and result of a partner, of its own dims; ``None`` where a dim cannot be rewritten."""
    frame = FunctionFrame(max_parameters=6, deepest=2, pure_only=True)
    renaming = {symbol: frame.new_symbol(limits) for symbol, limits in half.scope.frame.symbols.items()}
    state = [_renamed(value, renaming) for value in half.state]
    renamed = _renamed(result, renaming)
    if renamed is None or any(value is None for value in state):
        return None
    return _Mirrored(frame, tuple(value for value in state if value is not None), renamed)


def _state(scope: Scope) -> None:
    """Draw one or two tensors, or a tuple of them, that each call hands to the next."""
    if scope.has(Feature.TUPLES) and scope.index(3) == 2:
        scope.see(shapes.tuple_parameter(scope, 2))
        return
    for _ in range(1 + scope.index(2)):
        dtype = scope.pick_dtype(None)
        scope.parameter(scope.frame.tensor_type(scope.draw_shape(), dtype), default_bounds(dtype))


def _parameter(scope: Scope, value: Value) -> None:
    if value.is_tuple:
        scope.see(scope.frame.add_tuple_parameter(value.parts))
    else:
        scope.parameter(value.ty, value.bounds)


def _opened(half: _Half) -> _Half:
    """Return the function with its parameters complete, elements of tuples at hand, and the condition bound."""
    scope = half.scope
    scope.closed = True
    state = tuple(scope.frame.parameters[1:])
    half.body.open(False)
    for value in state:
        for index in range(len(value.parts)):
            scope.item(value, index)
    zero = relax.const(0, half.counter.dtype)
    way = scope.index(3)
    compare = op.less(zero, half.counter.expr) if way == 1 else op.greater(half.counter.expr, zero)
    if way == 2:
        compare = op.not_equal(half.counter.expr, zero)
    condition = scope.emit(compare, Bounds(0, 1, True))
    return _Half(scope, half.body, half.counter, state, condition)


def _branch(half: _Half, step: Step, results: Callable[[], list[Value]]) -> tuple[Any, list[Value]]:
    """Return one branch as a ``SeqExpr``, and the values that it gives; what it binds itself is gone afterwards."""
    scope = half.scope
    body = FunctionBody(scope)
    with scope.branch(), scope.symbols_in_scope():
        body.open(False)
        for _ in range(scope.index(3)):
            step(scope, 1)
        values = results()
        body.close()
    return body.sequence(values[0].expr if len(values) == 1 else as_tuple(values)), values


def _results(scope: Scope) -> list[Value]:
    """Return what the last call gives: the newest tensor, and sometimes another."""
    known = [value for value in scope.tensors() if value.device is None and _declarable(scope, value)]
    newest = known[-1] if known else scope.tensor(where=lambda value: _declarable(scope, value))
    if scope.has(Feature.TUPLES) and scope.index(3) == 2:
        return [newest, scope.tensor(where=lambda value: _declarable(scope, value))]
    return [newest]


def _declarable(scope: Scope, value: Value) -> bool:
    """Say whether the type may stand behind the arrow: its symbols are the parameters', not those of a cast inside."""
    return scope.definable(value.shape)


def _template(values: list[Value]) -> Value:
    """Return what is known of the result: its type and its bounds."""
    # Without a vdevice: an If of which only one branch names it has none either.
    types = [relax.TensorType(list(value.shape), value.dtype) for value in values]
    parts = tuple(Value(None, ty, value.bounds) for ty, value in zip(types, values, strict=True))
    return parts[0] if len(parts) == 1 else Value(None, relax.TupleType([part.ty for part in parts]), parts=parts)


def _like(scope: Scope, template: Value) -> list[Value]:
    """Return values of the types and within the bounds of a result."""
    wanted = template.parts or (template,)
    return [scope.tensor_like(value, bounds=value.bounds) for value in wanted]


def _declare(module: ModuleFrame, parameters: tuple[Value, ...], result: Value, stem: str) -> Any:
    """Return the variable of a function whose body is yet to come."""
    var = GlobalVar(module.fresh_name(stem))
    _update_type(var, relax.FuncType([value.ty for value in parameters], result.ty, True))
    return var


def _finish(half: _Half, step: Step, base: tuple[Any, list[Value]], target: Any, var: Any, result: Value) -> None:
    """Bind the ``If`` and add the function."""
    scope, builder = half.scope, half.scope.builder
    again, _ = _branch(half, step, lambda: _again(half, step, target, result))
    with scope.symbols_in_scope():
        whole = scope.emit(relax.If(half.condition.expr, again, base[0]))
    half.body.close()
    builder.end_scope()
    parameters = [value.expr for value in (half.counter, *half.state)]
    builder.begin_scope(parameters)
    sequence = builder.normalize(half.body.sequence(whole.expr))
    builder.end_scope()
    builder.update_func(var, relax.Function(parameters, sequence, result.ty))


def _again(half: _Half, step: Step, target: Any, result: Value) -> list[Value]:
    """Return the call with one less, and what becomes of its result."""
    scope = half.scope
    one = relax.const(1, half.counter.dtype)
    less = scope.emit(op.subtract(half.counter.expr, one), Bounds(0, DEPTH - 1, True))
    arguments: list[Any] = [less.expr]
    for value in half.state:
        step(scope, 1)
        parts = [_changed(scope, v) for v in value.parts or (value,)]
        arguments.append(as_tuple(parts) if value.parts else parts[0].expr)
    called = scope.emit(relax.Call(target, arguments))
    scope.values.remove(called)
    known = bounds_like(called.ty, result)
    value = scope.see(Value(called.expr, called.ty, known.bounds, known.parts))
    if scope.index(2) == 0:
        return [value]
    if value.parts:
        items = [scope.item(value, i) for i in range(len(value.parts))]
        return [items[0], *_like(scope, Value(None, result.ty, parts=result.parts))[1:]]
    (other,) = _like(scope, result)
    return [joined(scope, value, other)]


def _changed(scope: Scope, value: Value) -> Value:
    """Draw what becomes of a part of the state: something of its type; half of the time computed anew."""
    made = scope.tensor_like(value, bounds=value.bounds)
    return scope.guard(filled_with(scope, made, plain=True), value.bounds) if scope.index(2) else made


def _renamed(value: Value, renaming: dict[Any, Any]) -> Value | None:
    """Return the value's type with other symbolic dims, and its bounds; ``None`` where a dim cannot be rewritten."""
    if value.parts:
        parts = [_renamed(part, renaming) for part in value.parts]
        if any(part is None for part in parts):
            return None
        whole = tuple(part for part in parts if part is not None)
        return Value(None, relax.TupleType([part.ty for part in whole]), parts=whole)
    if value.dims is None:
        return None
    dims = [dim if isinstance(dim, int) else substitute(dim, renaming) for dim in value.dims]
    if any(dim is None for dim in dims):
        return None
    return Value(None, relax.TensorType(dims, value.dtype), value.bounds)
