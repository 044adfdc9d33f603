"""Idioms of elementwise code: fusion, in-place calls, approximations, memory reuse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import relax

from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import (
    FLOATS,
    UNIT,
    added,
    floats,
    hidden,
    joined,
    new_parameter,
    operand,
    relu,
    shaped,
    small,
    subtracted,
    times,
    transposed,
)
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op


_CALLED = (Feature.MULTIPLE_FUNCTIONS, Feature.COMPOSITE, Feature.LOCAL_FUNCTIONS, Feature.PACKED_CALLS)
"""FastMathTransform asks the callee of every call for its ``name``, which only operators have."""

TABLE = IdiomTable()


@TABLE.idiom("FuseOps", "FuseTIR")
def elementwise_chain(scope: Scope) -> Value:
    """Plant two to four elementwise operators, each used by the next alone."""
    value = floats(scope)
    for _ in range(2 + scope.index(3)):
        way = scope.index(4)
        if way == 0:
            value = relu(scope, hidden(scope, value) if not value.is_parameter else value)
        elif way == 1:
            value = added(scope, value, operand(scope, value.shape, value))
        elif way == 2:
            value = times(scope, value, scope.scalar(2.0, value.dtype))
        else:
            value = scope.emit(op.abs(value.expr), value.known.absolute())
    return value


@TABLE.near_miss("lone")
def lone_operator(scope: Scope) -> Value:
    """Plant one operator, with nothing to be fused with."""
    return relu(scope, floats(scope))


@TABLE.near_miss("opaque_between")
def opaque_between(scope: Scope) -> Value:
    """Plant two elementwise operators with a sort between them."""
    value = relu(scope, floats(scope, ranks=(1, 2)))
    order = scope.emit(op.sort(value.expr, axis=-1), value.bounds)
    return added(scope, order, order)


@TABLE.idiom("FuseOps", "FuseTIR")
def broadcast_chain(scope: Scope) -> Value:
    """Plant an elementwise operator, and one with an operand that broadcasts."""
    value = floats(scope, ranks=(2, 3))
    first = hidden(scope, relu(scope, value))
    *outer, last = value.shape
    shape = scope.pick(([last], [1], [1] * len(outer) + [last], [*outer, 1]))
    return added(scope, first, operand(scope, shape, first))


@TABLE.idiom("FuseOps", "FuseTIR")
def injective_chain(scope: Scope) -> Value:
    """Plant an elementwise operator between two that move data."""
    value = floats(scope, ranks=(2, 3))
    moved = hidden(scope, transposed(scope, value))
    scaled = hidden(scope, added(scope, moved, moved))
    return shaped(scope, scaled, [1, *scaled.shape])


@TABLE.idiom("FuseOps", "FuseTIR")
def reduction_tail(scope: Scope) -> Value:
    """Plant elementwise operators into a reduction, and on behind it."""
    value = floats(scope, ranks=(2, 3))
    doubled = hidden(scope, added(scope, value, value))
    total = hidden(scope, scope.emit(op.max(doubled.expr, axis=-1, keepdims=True), doubled.bounds))
    return subtracted(scope, total, scope.scalar(1.0, value.dtype))


@TABLE.idiom("FuseOps", "FuseTIR")
def diamond(scope: Scope) -> Value:
    """Plant two ways from one value that meet again."""
    value = hidden(scope, relu(scope, floats(scope)))
    left, right = hidden(scope, added(scope, value, value)), hidden(scope, scope.emit(op.abs(value.expr), value.bounds))
    return added(scope, left, right)


@TABLE.idiom("FuseOps", "FuseTIR", "ToMixedPrecision")
def matmul_epilogue(scope: Scope) -> Value:
    """Plant a product, a bias and an activation."""
    x = floats(scope, ranks=(2,), bounds=UNIT)
    w = operand(scope, [x.shape[-1], 3], x)
    depth = scope.dim_range(x.shape[-1])[1]
    out = hidden(scope, scope.emit(op.matmul(x.expr, w.expr), Bounds(-4.0 * depth, 4.0 * depth).rounded()))
    return relu(scope, hidden(scope, added(scope, out, operand(scope, [3], out))))


@TABLE.idiom("DataflowUseInplaceCalls")
def in_place_food(scope: Scope) -> Value:
    """Plant elementwise operators on temporaries that die at once."""
    value = floats(scope, bounds=UNIT)
    first = hidden(scope, scope.emit(op.add(value.expr, value.expr), Bounds(-4.0625, 4.0625)))
    second = hidden(scope, scope.emit(op.multiply(first.expr, value.expr), Bounds(-8.25, 8.25)))
    if scope.index(2):
        return relu(scope, second)
    return scope.emit(op.subtract(second.expr, value.expr), Bounds(-10.5, 10.5))


@TABLE.near_miss("growing")
def in_place_growing(scope: Scope) -> Value:
    """Plant a temporary that is smaller than the result."""
    value = floats(scope, ranks=(2,), static=True, bounds=UNIT)
    row = hidden(scope, scope.emit(op.max(value.expr, axis=0, keepdims=True), value.bounds))
    other = operand(scope, [3, 1], value)
    if value.shape[1] == 1:
        return scope.emit(op.maximum(row.expr, other.expr), UNIT)
    return scope.emit(op.add(other.expr, row.expr), Bounds(-4.0625, 4.0625))


@TABLE.near_miss("still_live")
def in_place_of_live(scope: Scope) -> Value:
    """Plant an operand that is used once more, afterwards."""
    value = floats(scope, bounds=UNIT)
    first = scope.emit(op.abs(value.expr), Bounds(0.0, 2.0))
    second = scope.emit(op.add(first.expr, first.expr), Bounds(0.0, 4.0625))
    return joined(scope, [second, scope.emit(op.negative(first.expr), Bounds(-2.0, 0.0))])


@TABLE.near_miss("parameter")
def in_place_of_parameter(scope: Scope) -> Value:
    """Plant an operand that is the caller's."""
    value = _parameter(scope)
    return scope.emit(op.add(value.expr, value.expr), Bounds(-4.0625, 4.0625))


def _parameter(scope: Scope) -> Value:
    given = [v for v in scope.tensors() if v.is_parameter and v.dtype in FLOATS and v.device is None]
    if not given:
        return new_parameter(scope, (2, 3))
    return given[scope.index(len(given))]


Bounded = tuple[tuple[Callable[[Any], Any], Bounds], ...]
_REPLACED: Bounded = (
    (op.exp, Bounds(0.125, 8.0)),
    (op.tanh, Bounds(-1.0, 1.0)),
    (op.erf, Bounds(-1.015625, 1.015625)),
    (op.nn.softmax, Bounds(0.0, 1.015625)),
)
_KIN: Bounded = (
    (op.sigmoid, Bounds(0.0, 1.0)), (op.cos, Bounds(-1.0, 1.0)), (op.nn.log_softmax, Bounds(-16.0, 0.0625)),
)  # fmt: skip


@TABLE.idiom("FastMathTransform", clears=_CALLED)
def approximated(scope: Scope, calls: Bounded = _REPLACED) -> Value:
    """Plant what FastMathTransform replaces."""
    value = scope.tensor(dtypes=("float32",), ranks=(1, 2, 3), bounds=UNIT, where=lambda v: small(scope, v))
    call, bounds = scope.pick(calls)
    return scope.emit(call(value.expr), bounds)


TABLE.near_miss("kin")(partial(approximated, calls=_KIN))


@TABLE.idiom("FastMathTransform", clears=_CALLED)
def used_twice(scope: Scope) -> Value:
    """Plant a call whose result is used twice."""
    value = floats(scope, bounds=UNIT)
    made = scope.emit(op.tanh(value.expr), Bounds(-1.0, 1.0))
    left = scope.emit(op.add(made.expr, value.expr), Bounds(-3.25, 3.25))
    return scope.emit(op.multiply(left.expr, made.expr), Bounds(-3.5, 3.5))


@TABLE.idiom("StaticPlanBlockMemory", "KillAfterLastUse")
def dying_temporaries(scope: Scope) -> Value:
    """Plant three and more temporaries of one size, each dead when the next but one is made."""
    value = floats(scope, static=True)
    for _ in range(3 + scope.index(2)):
        value = hidden(scope, scope.emit(op.negative(value.expr), -value.known))
    return scope.emit(op.abs(value.expr), value.known.absolute())


@TABLE.idiom("TopologicalSort")
def independent_chains(scope: Scope) -> Value:
    """Plant two chains whose operators alternate, in an order that no traversal gives."""
    value = floats(scope)
    left, right = relu(scope, value), scope.emit(op.negative(value.expr), -value.known)
    right2 = scope.emit(op.abs(right.expr), right.known.absolute())
    left2 = scope.emit(op.negative(left.expr), -left.known)
    third = relu(scope, right2)
    return joined(scope, [left2, third, scope.emit(op.abs(left2.expr), left2.known.absolute())])


@TABLE.near_miss("one_chain")
def one_chain(scope: Scope) -> Value:
    """Plant a chain that has one order."""
    value = relu(scope, floats(scope))
    return scope.emit(op.negative(value.expr), -value.known)
