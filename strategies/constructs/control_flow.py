"""Control flow: ``If`` with blocks, temporaries and nesting in its branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax
from tvm.ir import PrimType

from strategies.constructs.redundant import repeatable
from strategies.constructs.shapes import leaves, loose_symbols
from strategies.scope.body import FunctionBody
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.filler import filled_with
from strategies.scope.frame import Infeasible
from strategies.scope.results import as_tuple
from strategies.scope.scope import Scope
from strategies.scope.values import Value

MAX_DEPTH = 2
_MOST_RESULTS = 3

Step = Callable[[Scope, int], None]


def draw_if(scope: Scope, step: Step, depth: int = 0, *, inner: bool = False) -> Value:
    """Emit an ``If`` (never call this inside a dataflow block) and return its value.

    Both branches give a tensor, or a tuple of up to three, of the same types; what they bind themselves is gone
    afterwards. ``step(scope, depth)`` emits something in a branch; ``inner`` says that one holds another ``If``.
    """
    condition = _condition(scope)
    scope.renew()
    with scope.symbols_in_scope():
        return _draw_if(scope, step, depth, condition, inner)


def _draw_if(scope: Scope, step: Step, depth: int, condition: Any, inner: bool) -> Value:
    whole = None if inner else _whole_tuple(scope)
    if whole is not None:
        return _of_tuples(scope, step, depth, condition, whole)
    count = 1 + (scope.index(3) if scope.has(Feature.TUPLES) else 0)
    repeated: list[Value] = []
    outside = {id(value) for value in scope.values}

    def results(inside: set[Any]) -> list[Value]:
        repeated.extend(v for v in scope.values if not v.is_parameter and isinstance(v.expr, relax.Var))
        fresh = _unused(scope, outside, inside) if scope.module.aimed else []
        return fresh or [_result(scope, index, inside) for index in range(count)]

    then_branch, then_values = _branch(scope, step, depth, results, inner)
    scope.renew()

    also = inner and scope.index(3) == 2
    else_branch, else_values = _branch(scope, step, depth, _likes(scope, then_values), also, repeated)
    bounds = [_union(a, b) for a, b in zip(then_values, else_values, strict=True)]
    branches = (then_branch, else_branch)
    expr = relax.If(condition, *(branches[::-1] if scope.module.aimed and scope.flip() else branches))
    if len(bounds) == 1:
        made = scope.emit(expr, bounds[0])
    else:
        made = _taken(scope, scope.emit_tuple(expr, [value.ty for value in then_values], bounds))
    if scope.module.aimed and not scope.branches:
        scope.frame.planted.append(made)
    return made


def _likes(scope: Scope, values: Sequence[Value]) -> Callable[[set[Any]], list[Value]]:
    """Return what gives the like of values in a branch: what is asked for by its dims has no symbols from inside."""
    return lambda _: [scope.tensor_like(value) for value in values]


def _taken(scope: Scope, whole: Value) -> Value:
    """Bind an element of the tuple, and return the tuple."""
    scope.item(whole, scope.index(len(whole.parts)))
    return whole


def _whole_tuple(scope: Scope) -> Value | None:
    """Draw a tuple of tensors at hand that a branch is to give as it is; mostly ``None``."""
    if not scope.has(Feature.TUPLES) or scope.index(4) < 3:
        return None
    fit = [v for v in scope.values if v.parts and isinstance(v.expr, relax.Var) and all(p.is_tensor for p in v.parts)]
    return scope.pick(fit[::-1]) if fit else None


def _of_tuples(scope: Scope, step: Step, depth: int, condition: Any, whole: Value) -> Value:
    """Draw an ``If`` of which one branch is a tuple at hand and nothing else, and the other one builds its like."""
    built, values = _branch(scope, step, depth, _likes(scope, whole.parts), False, tupled=True)
    bare = relax.SeqExpr([], whole.expr)
    bounds = [_union(a, b) for a, b in zip(whole.parts, values, strict=True)]
    branches = (built, bare) if scope.index(2) else (bare, built)
    types = [part.ty for part in whole.parts]
    return _taken(scope, scope.emit_tuple(relax.If(condition, *branches), types, bounds))


def _condition(scope: Scope) -> Any:
    """Draw a boolean scalar: a tensor at hand, a new one, or one computed from a tensor; or a primitive one."""
    way = scope.index(8)
    if way == 3:
        source = scope.tensor(dtypes=("int32", "int64", "float32"), ranks=(0, 1, 2))
        if source.rank and scope.nonempty(source):
            greatest = scope.emit(relax.op.max(source.expr), source.bounds)
            limit = relax.const(1, source.dtype)
            return scope.emit(relax.op.greater(greatest.expr, limit), Bounds(0, 1, True)).expr
    if way > 4 and (primitive := _primitive(scope, way)) is not None:
        return primitive
    return scope.tensor(dtypes=("bool",), shape=()).expr


def _primitive(scope: Scope, way: int) -> Any:
    """Draw a primitive boolean: a comparison with a symbolic dim or a parameter, as it is or bound, or a parameter."""
    frame = scope.frame
    prims = [v.expr for v in scope.values if v.is_prim and str(v.ty.dtype) == "int64" and v.is_parameter]
    numbers = frame.symbol_list + loose_symbols(scope) + prims
    if numbers and way < 7:
        compared = scope.pick(numbers[::-1]) > 1 + scope.index(3)
        return compared if scope.index(2) else scope.emit(compared).expr
    if not scope.has(Feature.PRIM_PARAMS):
        return None
    given = [v.expr for v in scope.values if v.is_prim and str(v.ty.dtype) == "bool"]
    if given:
        return scope.pick(given[::-1])
    return scope.parameter(PrimType("bool")).expr if scope.can_add_parameter() else None


def _branch(
    scope: Scope,
    step: Step,
    depth: int,
    results: Callable[[set[Any]], list[Value]],
    inner: bool,
    repeated: list[Value] | None = None,
    tupled: bool = False,
) -> tuple[Any, list[Value]]:
    """Draw one branch as a ``SeqExpr``, and the values that it gives.

    Args:
        scope: What is visible.
        step: Emits something.
        depth: In how many branches this ``If`` stands.
        results: Gives the values, of the symbols that only this branch knows.
        inner: Whether another ``If`` must be in it.
        repeated: What the other branch bound, some of which is bound here once more.
        tupled: Whether a single value is a tuple of one.
    """
    body = FunctionBody(scope)
    with scope.branch():
        try:
            values = _fill(scope, body, step, depth, results, inner, repeated or [])
        except Infeasible:
            body.abandon()
            raise
    single = len(values) == 1 and not tupled
    return body.sequence(values[0].expr if single else as_tuple(values)), values


def _fill(
    scope: Scope,
    body: FunctionBody,
    step: Step,
    depth: int,
    results: Callable[[set[Any]], list[Value]],
    inner: bool,
    repeated: list[Value],
) -> list[Value]:
    """Return the blocks of a branch, and the values that it gives."""
    outside = set(scope.frame.cast_symbols)
    dataflow = scope.index(3) == 2
    scope.keep_outputs = bool(scope.module.aimed) and scope.index(4) > 0
    body.open(dataflow)
    for _ in range(scope.index(3)):
        step(scope, depth + 1)
    if repeated and scope.has(Feature.DUPLICATE_CODE) and scope.index(2):
        _repeat(scope, repeated)
    if dataflow:
        scope.keep_outputs = True
        step(scope, MAX_DEPTH)
        scope.keep_outputs = False
        body.close()
        body.open(False)
    if inner:
        filled_with(scope, scope.tensor())  # a temporary
        draw_if(scope, step, depth + 1)  # what it gives is the newest tensor now
    values = results(set(scope.frame.cast_symbols) - outside)
    body.close()
    return values


def _repeat(scope: Scope, made: list[Value]) -> None:
    """Bind a call of the other branch once more, where what it takes is visible here."""
    visible = {v.expr for v in scope.values if isinstance(v.expr, relax.Var)}
    for value in reversed(made):
        expr = None if value.expr in visible or value.parts else repeatable(scope, value)
        if expr is not None:
            scope.emit(expr, value.bounds, device=value.device)
            return


def _unused(scope: Scope, outside: set[int], inside: set[Any]) -> list[Value]:
    """Return what the calls of a branch give and none of them takes, the newest first, so that they are not dead."""
    made = [value for value in scope.tensors() if id(value) not in outside and value.expr not in scope.frame.used]
    fit = [value for value in made[::-1] if not value.is_parameter and value.device is None and leaves(value, inside)]
    return fit[: _MOST_RESULTS if scope.has(Feature.TUPLES) else 1]


def _result(scope: Scope, index: int, inside: set[Any]) -> Value:
    """Return what a branch gives: usually the newest tensor; none whose type nobody outside understands."""
    known = [value for value in scope.tensors() if value.device is None and leaves(value, inside)]
    if index == 0 and known:
        return known[-1]
    return scope.tensor(where=lambda value: leaves(value, inside))


def _union(left: Value, right: Value) -> Bounds | None:
    if left.bounds is None or right.bounds is None:
        return None
    return left.bounds.union(right.bounds)
