"""Idioms of several matrix products: their order, and products side by side."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from strategies.bounds import Bounds
from strategies.idioms.idiom import Idiom, NearMiss
from strategies.idioms.parts import (
    UNIT,
    added,
    dims,
    fresh,
    hidden,
    joined,
    matrix,
    operand,
    product,
    relu,
    turned,
    variable,
    width,
)
from strategies.scope import Scope
from strategies.values import Value

op = relax.op


# -- chains ---------------------------------------------------------------------------------------------------------


def _triple(scope: Scope, middle: int, last: int) -> tuple[Value, Value, Value]:
    a = matrix(scope, static=scope.index(4) < 3)  # of symbolic dims it can seldom be proved which order is cheaper
    return a, operand(scope, [dims(a)[-1], middle], a), operand(scope, [middle, last], a)


def _left_is_cheaper(a: Value, middle: int, last: int) -> bool | None:
    """Whether ``(a @ b) @ c`` takes fewer products than ``a @ (b @ c)``; ``None`` where that depends or they tie."""
    rows, inner = dims(a)
    if not isinstance(rows, int) or not isinstance(inner, int):
        return None
    left, right = rows * inner * middle + rows * middle * last, inner * middle * last + rows * inner * last
    return None if left == right else left < right


def _chain(scope: Scope, a: Value, b: Value, c: Value, left: bool) -> Value:
    if left:
        return product(scope, hidden(scope, product(scope, a, b)), c)
    return product(scope, a, hidden(scope, product(scope, b, c)))


def matmul_chain(scope: Scope) -> Value:
    """``(a @ b) @ c`` or ``a @ (b @ c)``, the dearer of them."""
    middle, last = (8, 1 + scope.index(3)) if scope.index(2) == 0 else (1 + scope.index(2), 7)
    a, b, c = _triple(scope, middle, last)
    cheaper = _left_is_cheaper(a, middle, last)
    return _chain(scope, a, b, c, bool(scope.index(2)) if cheaper is None else not cheaper)


def best_order(scope: Scope) -> Value:
    """The cheaper order already."""
    middle, last = (8, 1 + scope.index(3)) if scope.index(2) == 0 else (1 + scope.index(2), 7)
    a = matrix(scope, static=True)
    b, c = operand(scope, [dims(a)[-1], middle], a), operand(scope, [middle, last], a)
    cheaper = _left_is_cheaper(a, middle, last)
    return _chain(scope, a, b, c, cheaper is not False)


def something_between(scope: Scope) -> Value:
    """An activation between the two products."""
    a, b, c = _triple(scope, 8, 1)
    return product(scope, relu(scope, product(scope, a, b)), c)


def chain_of_mixed_dtypes(scope: Scope) -> Value:
    """The inner product widens: ``matmul(matmul(a, b, out_dtype="float64"), c)`` with ``c`` of float64."""
    a = matrix(scope, ("float32",))
    b = operand(scope, [dims(a)[-1], 8], a)
    inner = product(scope, a, b, "float64")
    return product(scope, inner, scope.tensor(dtypes=("float64",), shape=[8, 1], bounds=UNIT))


def permuted_chain(scope: Scope) -> Value:
    """``transpose(b @ a) @ c`` or ``a @ transpose(c @ b)``."""
    a = matrix(scope)
    rows, inner = dims(a)
    if scope.index(2):
        b = operand(scope, [inner, 8], a)
        flipped = turned(scope, hidden(scope, product(scope, a, b)))
        return product(scope, flipped, operand(scope, [rows, 1 + scope.index(2)], a))
    b, c = operand(scope, [8, inner], a), operand(scope, [1 + scope.index(2), 8], a)
    return product(scope, a, turned(scope, hidden(scope, product(scope, c, b))))


def shared_middle(scope: Scope) -> Value:
    """A chain whose inner product is used a second time."""
    a, b, c = _triple(scope, 8, 1)
    inner = product(scope, a, b)
    return joined(scope, [product(scope, inner, c), relu(scope, inner)])


# -- parallel products ----------------------------------------------------------------------------------------------


def _parallel(scope: Scope, finish: Callable[[Scope, Value, int], Value], same_width: bool = False) -> Value:
    x = variable(scope, matrix(scope, ranks=(2, 2, 3)))
    made: list[Value] = []
    count, first = 2 + scope.index(2), width(scope)
    for _ in range(count):
        columns = first if same_width else width(scope)
        # A constant weight makes CombineParallelMatmul raise (it casts every operand to a variable); one weight used
        # twice is left alone.
        shape = [dims(x)[-1], columns]
        weight = variable(scope, fresh(scope, shape, x.dtype) if made else operand(scope, shape, x))
        made.append(finish(scope, product(scope, x, weight), columns))
    return joined(scope, made)


def parallel_matmuls(scope: Scope) -> Value:
    """Two or three products of one left side, bare, or each with a bias, an activation, or both."""
    way = scope.index(4)
    activation = scope.pick((op.nn.relu, op.nn.gelu, op.nn.silu))

    def finish(scope: Scope, out: Value, columns: int) -> Value:
        if way in (1, 3):
            out = added(scope, out, variable(scope, fresh(scope, [columns], out.dtype)))  # one bias twice is no pattern
        if way in (2, 3):
            low = min(-1.0, out.known.lo)
            out = scope.emit(activation(out.expr), Bounds(low, max(1.0, out.known.hi)).rounded())
        return out

    return _parallel(scope, finish)


def broadcast_biases(scope: Scope) -> Value:
    """Parallel products with biases that broadcast: ``(1,)`` onto each, which cannot be put side by side."""
    return _parallel(
        scope, lambda scope, out, columns: added(scope, out, variable(scope, fresh(scope, [1], out.dtype)))
    )


def column_biases(scope: Scope) -> Value:
    """Parallel products of one width with biases of shape ``(rows, 1)``."""

    def finish(scope: Scope, out: Value, columns: int) -> Value:
        return added(scope, out, variable(scope, fresh(scope, [dims(out)[-2], 1], out.dtype)))

    return _parallel(scope, finish, same_width=True)


def unlike_left_sides(scope: Scope) -> Value:
    """Products of two left sides with one right side."""
    x = matrix(scope)
    weight = variable(scope, operand(scope, [dims(x)[-1], width(scope)], x))
    other = relu(scope, x)
    return joined(scope, [product(scope, x, weight), product(scope, other, weight)])


def parallel_out_dtypes(scope: Scope) -> Value:
    """Parallel products of which one widens by ``out_dtype``."""
    x = variable(scope, matrix(scope, ("float32",)))
    weights = [variable(scope, operand(scope, [dims(x)[-1], width(scope)], x)) for _ in range(2)]
    return joined(scope, [product(scope, x, weights[0]), product(scope, x, weights[1], "float64")])


def parallel_ranks(scope: Scope) -> Value:
    """Products with right sides of two ranks."""
    x = variable(scope, matrix(scope, ranks=(2,)))
    flat = variable(scope, operand(scope, [dims(x)[-1], 2], x))
    deep = variable(scope, operand(scope, [2, dims(x)[-1], 3], x))
    return joined(scope, [product(scope, x, flat), product(scope, x, deep)])


ROWS = (
    Idiom(
        "matmul_chain",
        matmul_chain,
        ("AdjustMatmulOrder",),
        (
            NearMiss("best_order", best_order),
            NearMiss("something_between", something_between),
            NearMiss(
                "mixed_dtype", chain_of_mixed_dtypes, defect="drops out_dtype: raises, the new operands do not agree"
            ),
        ),
    ),
    Idiom("permuted_chain", permuted_chain, ("AdjustMatmulOrder",)),
    Idiom("shared_middle", shared_middle, ("AdjustMatmulOrder",)),
    Idiom(
        "parallel_matmuls",
        parallel_matmuls,
        ("CombineParallelMatmul",),
        (
            NearMiss("broadcast_bias", broadcast_biases, defect="raises: biases side by side no longer broadcast"),
            NearMiss("column_bias", column_biases, defect="raises: biases side by side no longer broadcast"),
            NearMiss("unlike_left", unlike_left_sides),
            NearMiss("mixed_out_dtype", parallel_out_dtypes),
            NearMiss("unlike_ranks", parallel_ranks),
        ),
    ),
)
