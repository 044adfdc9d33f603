"""Idioms of bindings: constants to fold, aliases, casts and tuples to see through, repeated and dead code, blocks."""

from __future__ import annotations

from tvm import relax

from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.filler import elementwise
from strategies.frame import Unfit
from strategies.idioms.idiom import Idiom, NearMiss, Place
from strategies.idioms.parts import (
    UNIT,
    added,
    constant,
    dims,
    floats,
    hidden,
    joined,
    less,
    new_parameter,
    operand,
    turned,
)
from strategies.scope import Scope
from strategies.values import Value

op = relax.op


# -- constants ------------------------------------------------------------------------------------------------------


def folded_scalars(scope: Scope) -> Value:
    """Constants around a value: ``x + (1 + 2)``."""
    value = scope.tensor(dtypes=("float32", "int32"), bounds=Bounds(-3.0, 3.0))
    total = scope.emit(op.add(relax.const(1, value.dtype), relax.const(2, value.dtype)), Bounds(3, 3, True))
    hidden(scope, total)
    return scope.emit(op.add(value.expr, total.expr), Bounds(-0.0625, 6.125, value.dtype == "int32"))


def folded_tensors(scope: Scope) -> Value:
    """Operators on constant tensors, one behind the other, that meet a value at last."""
    value = floats(scope, ranks=(1, 2), static=True, bounds=UNIT)
    shape = [int(dim) for dim in dims(value)]
    left, right = constant(scope, shape, value.dtype), constant(scope, shape, value.dtype)
    way = scope.index(4)
    if way == 0:
        made = turned(scope, turned(scope, left))
    elif way == 1:
        made = elementwise(scope, hidden(scope, less(scope, left, right)))
    elif way == 2:
        made = scope.emit(op.concat([left.expr, right.expr], axis=0), UNIT)
        made = scope.emit(op.strided_slice(made.expr, [0], [0], [shape[0]], [1]), UNIT)
    else:
        ones = op.full(scope.shape_expr(shape), relax.const(1, value.dtype), value.dtype)
        made = hidden(scope, scope.emit(ones, Bounds(1, 1, True)))
        made = added(scope, made, left)
    return added(scope, value, made)


def half_constant(scope: Scope) -> Value:
    """Operators of which one operand alone is constant."""
    value = new_parameter(scope, (2, 3))
    first = added(scope, value, constant(scope, [int(dim) for dim in dims(value)], value.dtype))
    return less(scope, first, scope.scalar(1.0, value.dtype))


# -- names ----------------------------------------------------------------------------------------------------------


def aliases(scope: Scope) -> Value:
    """A variable bound to a variable, twice, and used under both names."""
    value = elementwise(scope, floats(scope))
    first = scope.emit(value.expr, value.bounds)
    second = scope.emit(first.expr, value.bounds)
    return added(scope, second, first)


def projected_tuple(scope: Scope) -> Value:
    """A tuple built and taken apart at once."""
    left = elementwise(scope, floats(scope))
    right = operand(scope, dims(left), left)
    whole = scope.emit(relax.Tuple([left.expr, right.expr]), parts=[left, right])
    parts = [scope.emit(relax.TupleGetItem(whole.expr, index), part_of=whole) for index in (1, 0)]
    return less(scope, *parts)


def rebuilt_tuple(scope: Scope) -> Value:
    """A tuple taken apart, and the same tuple built of its parts."""
    left = elementwise(scope, floats(scope))
    whole = scope.emit(relax.Tuple([left.expr, left.expr]), parts=[left, left])
    parts = [scope.emit(relax.TupleGetItem(whole.expr, index), part_of=whole) for index in (0, 1)]
    again = scope.emit(relax.Tuple([part.expr for part in parts]), parts=parts)
    return scope.emit(relax.TupleGetItem(again.expr, 1), part_of=again)


def needless_cast(scope: Scope) -> Value:
    """``match_cast`` to the type that the value has."""
    value = elementwise(scope, floats(scope))
    return scope.match_cast(value, dims(value))


def tuple_of_parameter(scope: Scope) -> Value:
    """Operators on distinct names, nothing to see through."""
    value = elementwise(scope, floats(scope))
    return added(scope, value, scope.emit(op.negative(value.expr), -value.known))


# -- repeated code --------------------------------------------------------------------------------------------------


def repeated_call(scope: Scope) -> Value:
    """Two equal calls, both used; sometimes of several operators each."""
    value = floats(scope)
    other = operand(scope, dims(value), value)
    made = []
    deep = scope.index(2)
    for _ in range(2):
        total = added(scope, value, other)
        made.append(scope.emit(op.abs(total.expr), total.known.absolute()) if deep else total)
    return scope.emit(op.maximum(made[0].expr, made[1].expr), made[0].known.union(made[1].known))


def swapped_operands(scope: Scope) -> Value:
    """``a - b`` and ``b - a``."""
    value = floats(scope)
    other = scope.make(dims(value), value.dtype)
    left, right = less(scope, value, other), less(scope, other, value)
    return scope.emit(op.maximum(left.expr, right.expr), left.known.union(right.known))


def unlike_attributes(scope: Scope) -> Value:
    """Two calls with equal operands and other attributes."""
    value = scope.tensor(dtypes=("float32",), shape=(3, 3), bounds=UNIT)
    left = scope.emit(op.cumsum(value.expr, axis=0), Bounds(-6.5, 6.5))
    right = scope.emit(op.cumsum(value.expr, axis=1), Bounds(-6.5, 6.5))
    return scope.emit(op.minimum(left.expr, right.expr), Bounds(-6.5, 6.5))


def unlike_operands(scope: Scope) -> Value:
    """Calls of one operator on other operands."""
    value = floats(scope)
    left = added(scope, value, value)
    right = added(scope, value, left)
    return scope.emit(op.minimum(left.expr, right.expr), left.known.union(right.known))


def dead_code(scope: Scope) -> Value:
    """Operators whose result nothing uses, in front of one that is used."""
    value = floats(scope)
    last = elementwise(scope, value)
    unused = hidden(scope, added(scope, value, value))
    for _ in range(scope.index(3)):
        unused = hidden(scope, scope.emit(op.negative(unused.expr), -unused.known))
    return last


def live_code(scope: Scope) -> Value:
    """Operators that are all used."""
    value = elementwise(scope, floats(scope))
    return joined(scope, [value, scope.emit(op.negative(value.expr), -value.known)])


# -- blocks ---------------------------------------------------------------------------------------------------------


def ordinary_run(scope: Scope) -> Value:
    """Three pure bindings outside of any dataflow block."""
    value = elementwise(scope, floats(scope))
    negated = scope.emit(op.negative(value.expr), -value.known)
    return added(scope, negated, value)


def unmerged_blocks(scope: Scope) -> Value:
    """Bindings in two ordinary blocks side by side, which the function keeps apart."""
    if scope.branches:
        raise Unfit("blocks of a branch are not split")
    scope.frame.split_blocks = True
    return ordinary_run(scope)


ROWS = (
    Idiom("folded_scalars", folded_scalars, ("FoldConstant",)),
    Idiom(
        "folded_tensors",
        folded_tensors,
        ("FoldConstant",),
        (NearMiss("half_constant", half_constant),),
        needs=(Feature.CONSTANTS,),
    ),
    Idiom(
        "aliases",
        aliases,
        ("CanonicalizeBindings",),
        (NearMiss("no_alias", tuple_of_parameter),),
        needs=(Feature.ALIASES,),
    ),
    Idiom("projected_tuple", projected_tuple, ("CanonicalizeBindings",), needs=(Feature.TUPLES,)),
    Idiom("rebuilt_tuple", rebuilt_tuple, ("CanonicalizeBindings",), needs=(Feature.TUPLES,)),
    Idiom("needless_cast", needless_cast, ("CanonicalizeBindings",), needs=(Feature.MATCH_CAST,), top_level=True),
    Idiom(
        "repeated_call",
        repeated_call,
        ("EliminateCommonSubexpr",),
        (
            NearMiss("swapped", swapped_operands),
            NearMiss("attributes", unlike_attributes),
            NearMiss("operands", unlike_operands),
        ),
        needs=(Feature.DUPLICATE_CODE,),
        place=Place.ANYWHERE,
    ),
    Idiom(
        "dead_code",
        dead_code,
        ("DeadCodeElimination",),
        (NearMiss("live", live_code),),
        needs=(Feature.DEAD_CODE,),
        place=Place.ANYWHERE,
    ),
    Idiom(
        "ordinary_run",
        ordinary_run,
        ("ConvertToDataflow",),
        needs=(Feature.ORDINARY_BLOCKS,),
        place=Place.ORDINARY,
    ),
    Idiom(
        "unmerged_blocks",
        unmerged_blocks,
        ("Normalize",),
        needs=(Feature.ORDINARY_BLOCKS,),
        place=Place.ORDINARY,
        top_level=True,
    ),
)
