"""Idioms of bindings: constants to fold, aliases, casts and tuples to see through, repeated and dead code, blocks."""

from __future__ import annotations

from tvm import relax

from strategies.idioms.idiom import BlockKind, IdiomTable
from strategies.idioms.parts import (
    UNIT,
    added,
    constant,
    floats,
    hidden,
    joined,
    new_parameter,
    operand,
    subtracted,
    transposed,
)
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.filler import elementwise
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

TABLE = IdiomTable()


@TABLE.idiom("FoldConstant")
def folded_scalars(scope: Scope) -> Value:
    """Plant constants around a value: ``x + (1 + 2)``."""
    value = scope.tensor(dtypes=("float32", "int32"), bounds=Bounds(-3.0, 3.0))
    total = scope.emit(op.add(relax.const(1, value.dtype), relax.const(2, value.dtype)), Bounds(3, 3, True))
    hidden(scope, total)
    return scope.emit(op.add(value.expr, total.expr), Bounds(-0.0625, 6.125, value.dtype == "int32"))


@TABLE.idiom("FoldConstant", needs=(Feature.CONSTANTS,))
def folded_tensors(scope: Scope) -> Value:
    """Plant operators on constant tensors, one behind the other, that meet a value at last."""
    value = floats(scope, ranks=(1, 2), static=True, bounds=UNIT)
    shape = [int(dim) for dim in value.shape]
    left, right = constant(scope, shape, value.dtype), constant(scope, shape, value.dtype)
    way = scope.index(4)
    if way == 0:
        made = transposed(scope, transposed(scope, left))
    elif way == 1:
        made = elementwise(scope, hidden(scope, subtracted(scope, left, right)))
    elif way == 2:
        made = scope.emit(op.concat([left.expr, right.expr], axis=0), UNIT)
        made = scope.emit(op.strided_slice(made.expr, [0], [0], [shape[0]], [1]), UNIT)
    else:
        ones = op.full(scope.shape_expr(shape), relax.const(1, value.dtype), value.dtype)
        made = hidden(scope, scope.emit(ones, Bounds(1, 1, True)))
        made = added(scope, made, left)
    return added(scope, value, made)


@TABLE.near_miss("half_constant")
def half_constant(scope: Scope) -> Value:
    """Plant operators of which one operand alone is constant."""
    value = new_parameter(scope, (2, 3))
    first = added(scope, value, constant(scope, [int(dim) for dim in value.shape], value.dtype))
    return subtracted(scope, first, scope.scalar(1.0, value.dtype))


@TABLE.idiom("CanonicalizeBindings", needs=(Feature.ALIASES,))
def aliases(scope: Scope) -> Value:
    """Plant a variable bound to a variable, twice, and used under both names."""
    value = elementwise(scope, floats(scope))
    first = scope.emit(value.expr, value.bounds)
    second = scope.emit(first.expr, value.bounds)
    return added(scope, second, first)


@TABLE.near_miss("no_alias")
def tuple_of_parameter(scope: Scope) -> Value:
    """Plant operators on distinct names, nothing to see through."""
    value = elementwise(scope, floats(scope))
    return added(scope, value, scope.emit(op.negative(value.expr), -value.known))


@TABLE.idiom("CanonicalizeBindings", needs=(Feature.TUPLES,))
def projected_tuple(scope: Scope) -> Value:
    """Plant a tuple built and taken apart at once."""
    left = elementwise(scope, floats(scope))
    right = operand(scope, left.shape, left)
    whole = scope.emit(relax.Tuple([left.expr, right.expr]), parts=[left, right])
    parts = [scope.item(whole, index) for index in (1, 0)]
    return subtracted(scope, *parts)


@TABLE.idiom("CanonicalizeBindings", needs=(Feature.TUPLES,))
def rebuilt_tuple(scope: Scope) -> Value:
    """Plant a tuple taken apart, and the same tuple built of its parts."""
    left = elementwise(scope, floats(scope))
    whole = scope.emit(relax.Tuple([left.expr, left.expr]), parts=[left, left])
    parts = [scope.item(whole, index) for index in (0, 1)]
    again = scope.emit(relax.Tuple([part.expr for part in parts]), parts=parts)
    return scope.item(again, 1)


@TABLE.idiom(also_for=("DataflowUseInplaceCalls", "StaticPlanBlockMemory", "KillAfterLastUse"), needs=(Feature.TUPLES,))
def held_by_tuple(scope: Scope) -> Value:
    """Plant a tuple, nested or not, that holds a value beyond its own last use."""
    held = elementwise(scope, floats(scope))
    whole = scope.emit(relax.Tuple([held.expr]), parts=[held])
    if scope.has(Feature.NESTED_TUPLES) and scope.index(2):
        whole = scope.emit(relax.Tuple([whole.expr, held.expr]), parts=[whole, held])
    last = elementwise(scope, added(scope, held, held))
    while whole.parts:
        whole = scope.item(whole, 0)
    return subtracted(scope, last, whole)


@TABLE.idiom("CanonicalizeBindings", needs=(Feature.MATCH_CAST,), top_level=True)
def needless_cast(scope: Scope) -> Value:
    """Plant ``match_cast`` to the type that the value has."""
    value = elementwise(scope, floats(scope))
    return scope.match_cast(value, value.shape)


@TABLE.idiom("EliminateCommonSubexpr", needs=(Feature.DUPLICATE_CODE,), place=BlockKind.ANYWHERE)
def repeated_call(scope: Scope) -> Value:
    """Plant two equal calls, both used; sometimes of several operators each."""
    value = floats(scope)
    other = operand(scope, value.shape, value)
    made = []
    deep = scope.index(2)
    for _ in range(2):
        total = added(scope, value, other)
        made.append(scope.emit(op.abs(total.expr), total.known.absolute()) if deep else total)
    return scope.emit(op.maximum(made[0].expr, made[1].expr), made[0].known.union(made[1].known))


@TABLE.near_miss("swapped")
def swapped_operands(scope: Scope) -> Value:
    """Plant ``a - b`` and ``b - a``."""
    value = floats(scope)
    other = scope.make(value.shape, value.dtype)
    left, right = subtracted(scope, value, other), subtracted(scope, other, value)
    return scope.emit(op.maximum(left.expr, right.expr), left.known.union(right.known))


@TABLE.near_miss("attributes")
def unlike_attributes(scope: Scope) -> Value:
    """Plant two calls with equal operands and other attributes."""
    value = scope.tensor(dtypes=("float32",), shape=(3, 3), bounds=UNIT)
    left = scope.emit(op.cumsum(value.expr, axis=0), Bounds(-6.5, 6.5))
    right = scope.emit(op.cumsum(value.expr, axis=1), Bounds(-6.5, 6.5))
    return scope.emit(op.minimum(left.expr, right.expr), Bounds(-6.5, 6.5))


@TABLE.near_miss("operands")
def unlike_operands(scope: Scope) -> Value:
    """Plant calls of one operator on other operands."""
    value = floats(scope)
    left = added(scope, value, value)
    right = added(scope, value, left)
    return scope.emit(op.minimum(left.expr, right.expr), left.known.union(right.known))


@TABLE.idiom("DeadCodeElimination", needs=(Feature.DEAD_CODE,), place=BlockKind.ANYWHERE)
def dead_code(scope: Scope) -> Value:
    """Plant operators whose result nothing uses, in front of one that is used."""
    value = floats(scope)
    last = elementwise(scope, value)
    unused = hidden(scope, added(scope, value, value))
    for _ in range(scope.index(3)):
        unused = hidden(scope, scope.emit(op.negative(unused.expr), -unused.known))
    return last


@TABLE.near_miss("live")
def live_code(scope: Scope) -> Value:
    """Plant operators that are all used."""
    value = elementwise(scope, floats(scope))
    return joined(scope, [value, scope.emit(op.negative(value.expr), -value.known)])


@TABLE.idiom("ConvertToDataflow", needs=(Feature.ORDINARY_BLOCKS,), place=BlockKind.ORDINARY)
def ordinary_run(scope: Scope) -> Value:
    """Plant three pure bindings outside of any dataflow block."""
    value = elementwise(scope, floats(scope))
    negated = scope.emit(op.negative(value.expr), -value.known)
    return added(scope, negated, value)


@TABLE.idiom("Normalize", needs=(Feature.ORDINARY_BLOCKS,), place=BlockKind.ORDINARY, top_level=True)
def unmerged_blocks(scope: Scope) -> Value:
    """Plant bindings in two ordinary blocks side by side, which the function keeps apart."""
    if scope.branches:
        raise Infeasible("blocks of a branch are not split")
    scope.frame.split_blocks = True
    return ordinary_run(scope)
