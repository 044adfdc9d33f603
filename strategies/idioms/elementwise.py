"""Idioms of elementwise code: fusion, in-place calls, approximations, memory reuse."""

from __future__ import annotations

from tvm import relax

from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.idioms.idiom import Idiom, NearMiss
from strategies.idioms.parts import (
    FLOATS,
    UNIT,
    added,
    dims,
    floats,
    hidden,
    joined,
    less,
    new_parameter,
    operand,
    relu,
    shaped,
    small,
    times,
    turned,
)
from strategies.scope import Scope
from strategies.values import Value

op = relax.op


# -- fusion ---------------------------------------------------------------------------------------------------------


def elementwise_chain(scope: Scope) -> Value:
    """Two to four elementwise operators, each used by the next alone."""
    value = floats(scope)
    for _ in range(2 + scope.index(3)):
        way = scope.index(4)
        if way == 0:
            value = relu(scope, hidden(scope, value) if not value.is_parameter else value)
        elif way == 1:
            value = added(scope, value, operand(scope, dims(value), value))
        elif way == 2:
            value = times(scope, value, scope.scalar(2.0, value.dtype))
        else:
            value = scope.emit(op.abs(value.expr), value.known.absolute())
    return value


def broadcast_chain(scope: Scope) -> Value:
    """An elementwise operator, and one with an operand that broadcasts."""
    value = floats(scope, ranks=(2, 3))
    first = hidden(scope, relu(scope, value))
    *outer, last = dims(value)
    shape = scope.pick(([last], [1], [1] * len(outer) + [last], [*outer, 1]))
    return added(scope, first, operand(scope, shape, first))


def injective_chain(scope: Scope) -> Value:
    """An elementwise operator between two that move data."""
    value = floats(scope, ranks=(2, 3))
    moved = hidden(scope, turned(scope, value))
    scaled = hidden(scope, added(scope, moved, moved))
    return shaped(scope, scaled, [1, *dims(scaled)])


def reduction_tail(scope: Scope) -> Value:
    """Elementwise operators into a reduction, and on behind it."""
    value = floats(scope, ranks=(2, 3))
    doubled = hidden(scope, added(scope, value, value))
    total = hidden(scope, scope.emit(op.max(doubled.expr, axis=-1, keepdims=True), doubled.bounds))
    return less(scope, total, scope.scalar(1.0, value.dtype))


def diamond(scope: Scope) -> Value:
    """Two ways from one value that meet again."""
    value = hidden(scope, relu(scope, floats(scope)))
    left, right = hidden(scope, added(scope, value, value)), hidden(scope, scope.emit(op.abs(value.expr), value.bounds))
    return added(scope, left, right)


def matmul_epilogue(scope: Scope) -> Value:
    """A product, a bias and an activation."""
    x = floats(scope, ranks=(2,), bounds=UNIT)
    w = operand(scope, [dims(x)[-1], 3], x)
    depth = scope.dim_range(dims(x)[-1])[1]
    out = hidden(scope, scope.emit(op.matmul(x.expr, w.expr), Bounds(-4.0 * depth, 4.0 * depth).rounded()))
    return relu(scope, hidden(scope, added(scope, out, operand(scope, [3], out))))


def lone_operator(scope: Scope) -> Value:
    """One operator, with nothing to be fused with."""
    return relu(scope, floats(scope))


def opaque_between(scope: Scope) -> Value:
    """Two elementwise operators with a sort between them."""
    value = relu(scope, floats(scope, ranks=(1, 2)))
    order = scope.emit(op.sort(value.expr, axis=-1), value.bounds)
    return added(scope, order, order)


# -- in place -------------------------------------------------------------------------------------------------------


def in_place_food(scope: Scope) -> Value:
    """Elementwise operators on temporaries that die at once."""
    value = floats(scope, bounds=UNIT)
    first = hidden(scope, scope.emit(op.add(value.expr, value.expr), Bounds(-4.0625, 4.0625)))
    second = hidden(scope, scope.emit(op.multiply(first.expr, value.expr), Bounds(-8.25, 8.25)))
    if scope.index(2):
        return relu(scope, second)
    return scope.emit(op.subtract(second.expr, value.expr), Bounds(-10.5, 10.5))


def in_place_growing(scope: Scope) -> Value:
    """The temporary is smaller than the result."""
    value = floats(scope, ranks=(2,), static=True, bounds=UNIT)
    row = hidden(scope, scope.emit(op.max(value.expr, axis=0, keepdims=True), value.bounds))
    other = operand(scope, [3, 1], value)
    if (value.dims or ())[1] == 1:
        return scope.emit(op.maximum(row.expr, other.expr), UNIT)
    return scope.emit(op.add(other.expr, row.expr), Bounds(-4.0625, 4.0625))


def in_place_of_live(scope: Scope) -> Value:
    """The operand is used once more, afterwards."""
    value = floats(scope, bounds=UNIT)
    first = scope.emit(op.abs(value.expr), Bounds(0.0, 2.0))
    second = scope.emit(op.add(first.expr, first.expr), Bounds(0.0, 4.0625))
    return joined(scope, [second, scope.emit(op.negative(first.expr), Bounds(-2.0, 0.0))])


def in_place_of_parameter(scope: Scope) -> Value:
    """The operand is the caller's."""
    value = _parameter(scope)
    return scope.emit(op.add(value.expr, value.expr), Bounds(-4.0625, 4.0625))


def _parameter(scope: Scope) -> Value:
    given = [v for v in scope.tensors() if v.is_parameter and v.dtype in FLOATS and v.device is None]
    if not given:
        return new_parameter(scope, (2, 3))
    return given[scope.index(len(given))]


# -- approximation --------------------------------------------------------------------------------------------------


def approximated(scope: Scope) -> Value:
    """What FastMathTransform replaces: exp, tanh, erf, softmax."""
    value = scope.tensor(dtypes=("float32",), ranks=(1, 2, 3), bounds=UNIT, where=lambda v: small(scope, v))
    way = scope.index(4)
    if way == 0:
        return scope.emit(op.exp(value.expr), Bounds(0.125, 8.0))
    if way == 1:
        return scope.emit(op.tanh(value.expr), Bounds(-1.0, 1.0))
    if way == 2:
        return scope.emit(op.erf(value.expr), Bounds(-1.015625, 1.015625))
    return scope.emit(op.nn.softmax(value.expr, axis=-1), Bounds(0.0, 1.015625))


def not_approximated(scope: Scope) -> Value:
    """Its kin that stays: sigmoid, log_softmax, cos, rsqrt."""
    value = scope.tensor(dtypes=("float32",), ranks=(1, 2, 3), bounds=UNIT, where=lambda v: small(scope, v))
    way = scope.index(3)
    if way == 0:
        return scope.emit(op.sigmoid(value.expr), Bounds(0.0, 1.0))
    if way == 1:
        return scope.emit(op.cos(value.expr), Bounds(-1.0, 1.0))
    return scope.emit(op.nn.log_softmax(value.expr, axis=-1), Bounds(-16.0, 0.0625))


# -- use and reuse --------------------------------------------------------------------------------------------------


def used_twice(scope: Scope) -> Value:
    """A call whose result is used twice."""
    value = floats(scope, bounds=UNIT)
    made = scope.emit(op.tanh(value.expr), Bounds(-1.0, 1.0))
    left = scope.emit(op.add(made.expr, value.expr), Bounds(-3.25, 3.25))
    return scope.emit(op.multiply(left.expr, made.expr), Bounds(-3.5, 3.5))


def dying_temporaries(scope: Scope) -> Value:
    """Three and more temporaries of one size, each dead when the next but one is made."""
    value = floats(scope, static=True)
    for _ in range(3 + scope.index(2)):
        value = hidden(scope, scope.emit(op.negative(value.expr), -value.known))
    return scope.emit(op.abs(value.expr), value.known.absolute())


def independent_chains(scope: Scope) -> Value:
    """Two chains whose operators alternate, in an order that no traversal gives."""
    value = floats(scope)
    left, right = relu(scope, value), scope.emit(op.negative(value.expr), -value.known)
    right2 = scope.emit(op.abs(right.expr), right.known.absolute())
    left2 = scope.emit(op.negative(left.expr), -left.known)
    third = relu(scope, right2)
    return joined(scope, [left2, third, scope.emit(op.abs(left2.expr), left2.known.absolute())])


def one_chain(scope: Scope) -> Value:
    """A chain that has one order."""
    value = relu(scope, floats(scope))
    return scope.emit(op.negative(value.expr), -value.known)


_CALLED = (Feature.MULTIPLE_FUNCTIONS, Feature.COMPOSITE, Feature.LOCAL_FUNCTIONS, Feature.PACKED_CALLS)
"""FastMathTransform asks the callee of every call for its ``name``, which only operators have."""

ROWS = (
    Idiom(
        "elementwise_chain",
        elementwise_chain,
        ("FuseOps", "FuseTIR"),
        (NearMiss("lone", lone_operator), NearMiss("opaque_between", opaque_between)),
    ),
    Idiom("broadcast_chain", broadcast_chain, ("FuseOps", "FuseTIR")),
    Idiom("injective_chain", injective_chain, ("FuseOps", "FuseTIR")),
    Idiom("reduction_tail", reduction_tail, ("FuseOps", "FuseTIR")),
    Idiom("diamond", diamond, ("FuseOps", "FuseTIR")),
    Idiom("matmul_epilogue", matmul_epilogue, ("FuseOps", "FuseTIR", "ToMixedPrecision")),
    Idiom(
        "in_place_food",
        in_place_food,
        ("DataflowUseInplaceCalls",),
        (
            NearMiss("growing", in_place_growing),
            NearMiss("still_live", in_place_of_live),
            NearMiss("parameter", in_place_of_parameter),
        ),
    ),
    Idiom(
        "approximated",
        approximated,
        ("FastMathTransform",),
        (NearMiss("kin", not_approximated),),
        clears=_CALLED,
    ),
    Idiom("used_twice", used_twice, ("FastMathTransform",), clears=_CALLED),
    Idiom("dying_temporaries", dying_temporaries, ("StaticPlanBlockMemory", "KillAfterLastUse")),
    Idiom("independent_chains", independent_chains, ("TopologicalSort",), (NearMiss("one_chain", one_chain),)),
)
