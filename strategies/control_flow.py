"""Control flow: ``If`` with blocks, temporaries and nesting in its branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax

from strategies.body import Body
from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.frame import Unfit
from strategies.results import as_tuple
from strategies.scope import Scope
from strategies.values import Value

MAX_DEPTH = 2

Step = Callable[[Scope, int], None]


def draw_if(scope: Scope, step: Step, depth: int = 0) -> Value:
    """Emit an ``If`` (never call this inside a dataflow block) and return its value.

    Both branches give a tensor, or a tuple of up to three, of the same types; what they bind themselves is gone
    afterwards. ``step(scope, depth)`` emits something in a branch.
    """
    condition = _condition(scope)
    scope.renew()
    with scope.symbols_in_scope():
        return _draw_if(scope, step, depth, condition)


def _draw_if(scope: Scope, step: Step, depth: int, condition: Value) -> Value:
    count = 1 + (scope.index(3) if scope.has(Feature.TUPLES) else 0)
    then_branch, then_values = _branch(scope, step, depth, lambda: [_result(scope, index) for index in range(count)])
    scope.renew()
    else_branch, else_values = _branch(
        scope, step, depth, lambda: [scope.tensor(dtypes=(v.dtype,), shape=v.dims) for v in then_values]
    )
    bounds = [_union(a, b) for a, b in zip(then_values, else_values, strict=True)]
    expr = relax.If(condition.expr, then_branch, else_branch)
    if count == 1:
        return scope.emit(expr, bounds[0])
    parts = [Value(None, a.ty, known) for a, known in zip(then_values, bounds, strict=True)]
    whole = scope.emit(expr, parts=parts)
    scope.emit(relax.TupleGetItem(whole.expr, scope.index(count)), None, part_of=whole)
    return whole


def _condition(scope: Scope) -> Value:
    """A boolean scalar: one at hand, a new one, or one computed from a tensor."""
    if scope.index(4) == 3:
        source = scope.tensor(dtypes=("int32", "int64", "float32"), ranks=(0, 1, 2))
        total = relax.op.max(source.expr) if source.rank and _nonempty(scope, source) else None
        if total is not None:
            scalar = scope.emit(total, source.bounds)
            limit = relax.const(1, source.dtype)
            return scope.emit(relax.op.greater(scalar.expr, limit), Bounds(0, 1, True))
    return scope.tensor(dtypes=("bool",), shape=())


def _nonempty(scope: Scope, value: Value) -> bool:
    return all(scope.dim_range(dim)[0] > 0 for dim in value.dims or ())


def _branch(scope: Scope, step: Step, depth: int, results: Callable[[], list[Value]]) -> tuple[Any, list[Value]]:
    """One branch as a ``SeqExpr``, and the values that it gives."""
    before, mark = scope.values, len(scope.values)
    keep = scope.keep_outputs
    scope.values = list(before)
    scope.branches += 1
    body = Body(scope)
    try:
        values = _fill(scope, body, step, depth, results)
    except Unfit:
        body.abandon()
        scope.values = before
        raise
    finally:
        scope.keep_outputs = keep
        scope.branches -= 1
    parameters = [value for value in scope.values[mark:] if value.is_parameter]
    scope.values = before + parameters
    return body.sequence(values[0].expr if len(values) == 1 else as_tuple(values)), values


def _fill(scope: Scope, body: Body, step: Step, depth: int, results: Callable[[], list[Value]]) -> list[Value]:
    """The blocks of a branch, and the values that it gives."""
    dataflow = scope.index(3) == 2
    scope.keep_outputs = False
    body.open(dataflow)
    for _ in range(scope.index(3)):
        step(scope, depth + 1)
    if dataflow:
        scope.keep_outputs = True
        step(scope, MAX_DEPTH)
        scope.keep_outputs = False
        body.close()
        body.open(False)
    values = results()
    body.close()
    return values


def _result(scope: Scope, index: int) -> Value:
    """What a branch gives: usually the newest tensor, else any."""
    known = scope.tensors()
    if index == 0 and known:
        return known[-1]
    return scope.tensor()


def _union(left: Value, right: Value) -> Bounds | None:
    if left.bounds is None or right.bounds is None:
        return None
    return left.bounds.union(right.bounds)
