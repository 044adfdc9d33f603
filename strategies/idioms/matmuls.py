"""Idioms of a matrix product and what feeds it: sums, transposes and gathers; of several: ``matmul_chains``."""

from __future__ import annotations

from tvm import relax

from strategies.bounds import Bounds
from strategies.frame import Unfit
from strategies.idioms.idiom import Idiom, NearMiss
from strategies.idioms.parts import (
    UNIT,
    added,
    dims,
    floats,
    fresh,
    hidden,
    joined,
    less,
    matrix,
    operand,
    product,
    relu,
    turned,
    width,
)
from strategies.scope import Scope
from strategies.values import Value

op = relax.op


# -- sums -----------------------------------------------------------------------------------------------------------


def matmul_of_sum(scope: Scope) -> Value:
    """``x @ (a + b)``, or of the transposed sum."""
    x = matrix(scope, ranks=(2, 2, 3))
    inner, outer = dims(x)[-1], width(scope)
    if scope.index(3) == 2:
        a, b = operand(scope, [outer, inner], x), operand(scope, [outer, inner], x)
        return product(scope, x, turned(scope, added(scope, a, b)))
    a, b = operand(scope, [inner, outer], x), operand(scope, [inner, outer], x)
    return product(scope, x, added(scope, a, b))


def sum_on_the_left(scope: Scope) -> Value:
    """``(a + b) @ x``."""
    a = matrix(scope)
    total = added(scope, a, operand(scope, dims(a), a))
    return product(scope, total, fresh(scope, [dims(a)[-1], width(scope)], a.dtype))


def difference(scope: Scope) -> Value:
    """``x @ (a - b)``."""
    x = matrix(scope)
    shape = [dims(x)[-1], width(scope)]
    return product(scope, x, less(scope, operand(scope, shape, x), operand(scope, shape, x)))


def broadcast_addend(scope: Scope) -> Value:
    """``x @ (a + b)`` with ``b`` a vector that broadcasts, as long as ``x`` is wide: ``x @ b`` would be defined."""
    x = scope.tensor(dtypes=("float32",), ranks=(2,), static=True, bounds=UNIT, where=_square_food)
    inner = dims(x)[-1]
    a, b = operand(scope, [inner, inner], x), operand(scope, [inner], x)
    return product(scope, x, added(scope, a, b))


def _square_food(value: Value) -> bool:
    return all(isinstance(dim, int) and 1 < dim <= 8 for dim in value.dims or ())


def scalar_addend(scope: Scope) -> Value:
    """``x @ (a + 1)``."""
    x = matrix(scope)
    a = operand(scope, [dims(x)[-1], width(scope)], x)
    return product(scope, x, added(scope, a, scope.scalar(1.0, x.dtype)))


def widened_sum(scope: Scope) -> Value:
    """``matmul(x, a + b, out_dtype="float64")`` of float32."""
    x = matrix(scope, ("float32",))
    shape = [dims(x)[-1], width(scope)]
    return product(scope, x, added(scope, operand(scope, shape, x), operand(scope, shape, x)), "float64")


# -- transposes -----------------------------------------------------------------------------------------------------


def transposed_matmul(scope: Scope) -> Value:
    """``x @ w.T``; also batched, and with the axes written out."""
    x = matrix(scope, ranks=(2, 2, 3))
    inner, outer = dims(x)[-1], width(scope)
    way = scope.index(3)
    if way == 2:
        w = operand(scope, [2, outer, inner], x) if x.rank == 2 else operand(scope, [dims(x)[0], outer, inner], x)
        return product(scope, x, hidden(scope, turned(scope, w, [0, 2, 1])))
    w = fresh(scope, [outer, inner], x.dtype)
    return product(scope, x, hidden(scope, turned(scope, w, [1, 0] if way else None)))


def wrong_axes(scope: Scope) -> Value:
    """A permutation of other axes: ``x @ permute_dims(w, [1, 0, 2])``."""
    x = matrix(scope)
    return product(scope, x, turned(scope, operand(scope, [dims(x)[-1], 2, width(scope)], x), [1, 0, 2]))


def no_permutation(scope: Scope) -> Value:
    """``x @ permute_dims(w, [0, 1])``."""
    x = matrix(scope)
    return product(scope, x, turned(scope, operand(scope, [dims(x)[-1], width(scope)], x), [0, 1]))


def transposed_left(scope: Scope) -> Value:
    """``w.T @ x``."""
    w = matrix(scope)
    return product(scope, turned(scope, w), fresh(scope, [dims(w)[0], width(scope)], w.dtype))


def transposed_twice(scope: Scope) -> Value:
    """A transposed value that two products use."""
    x = matrix(scope)
    right = turned(scope, operand(scope, [width(scope), dims(x)[-1]], x))
    return joined(scope, [product(scope, x, right), product(scope, relu(scope, x), right)])


def widened_transpose(scope: Scope) -> Value:
    """``matmul(x, w.T, out_dtype="float64")`` of float32."""
    x = matrix(scope, ("float32",))
    w = fresh(scope, [width(scope), dims(x)[-1]], x.dtype)
    return product(scope, x, hidden(scope, turned(scope, w)), "float64")


def own_transpose(scope: Scope) -> Value:
    """``x @ x.T``."""
    x = matrix(scope)
    return product(scope, x, hidden(scope, turned(scope, x)))


# -- gathers --------------------------------------------------------------------------------------------------------


def _indices(scope: Scope, count: int, table: int) -> Value:
    dtype = scope.pick(("int64", "int32"))
    return scope.tensor(dtypes=(dtype,), shape=(count,), bounds=Bounds(0, table - 1, True))


def take_then_matmul(scope: Scope) -> Value:
    """``x @ take(w, i, axis=1)``."""
    x = matrix(scope, ranks=(2, 2, 3))
    w = operand(scope, [dims(x)[-1], 4], x)
    taken = scope.emit(op.take(w.expr, _indices(scope, 1 + scope.index(5), 4).expr, axis=1), w.bounds)
    return product(scope, x, taken)


def batched_take(scope: Scope) -> Value:
    """A table of matrices, one for each batch: ``x @ take(w, i, axis=0)``."""
    x = matrix(scope, ranks=(3,), static=True)
    batch, _, inner = dims(x)
    w = operand(scope, [3, inner, width(scope)], x)
    taken = scope.emit(op.take(w.expr, _indices(scope, int(batch), 3).expr, axis=0), w.bounds)
    return product(scope, x, taken)


def take_of_rows(scope: Scope) -> Value:
    """``x @ take(w, i, axis=0)``."""
    x = matrix(scope, static=True)
    w = operand(scope, [4, width(scope)], x)
    count = int(dims(x)[-1])
    return product(scope, x, scope.emit(op.take(w.expr, _indices(scope, count, 4).expr, axis=0), w.bounds))


def take_on_the_left(scope: Scope) -> Value:
    """``take(x, i, axis=0) @ w``."""
    x = fresh(scope, [4, width(scope)], "float32")
    taken = scope.emit(op.take(x.expr, _indices(scope, 3, 4).expr, axis=0), x.bounds)
    return product(scope, taken, fresh(scope, [dims(x)[-1], 2], "float32"))


def take_of_vector(scope: Scope) -> Value:
    """``x @ take(w, i, axis=0)`` with a vector ``w``, in which the last axis is the one that is summed over."""
    x = scope.tensor(dtypes=("float32",), ranks=(2,), static=True, bounds=UNIT, where=_square_food)
    inner = int(dims(x)[-1])
    w = operand(scope, [inner], x)
    return product(scope, x, scope.emit(op.take(w.expr, _indices(scope, inner, inner).expr, axis=0), w.bounds))


def take_for_one_batch(scope: Scope) -> Value:
    """A left side of one batch that broadcasts over several taken matrices."""
    inner = width(scope)
    x, w = fresh(scope, [1, 2, inner], "float32"), fresh(scope, [3, inner, 2], "float32")
    taken = scope.emit(op.take(w.expr, _indices(scope, 2, 3).expr, axis=0), w.bounds)
    return product(scope, x, taken)


# -- precision ------------------------------------------------------------------------------------------------------


def float32_matmul(scope: Scope) -> Value:
    """A product of float32, and an elementwise tail."""
    x = matrix(scope, ("float32",), ranks=(2, 2, 3))
    out = product(scope, x, operand(scope, [dims(x)[-1], width(scope)], x))
    return relu(scope, out) if scope.index(2) else out


def no_product(scope: Scope) -> Value:
    """Float32 without any product."""
    value = floats(scope)
    if value.dtype != "float32":
        raise Unfit("float32 only")
    return relu(scope, added(scope, value, value))


ROWS = (
    Idiom(
        "matmul_of_sum",
        matmul_of_sum,
        ("ExpandMatmulOfSum",),
        (
            NearMiss("on_the_left", sum_on_the_left),
            NearMiss("difference", difference),
            NearMiss("broadcast_addend", broadcast_addend, defect="multiplies the addend before it is broadcast"),
            NearMiss("scalar_addend", scalar_addend, defect="raises: a scalar is no operand of matmul"),
            NearMiss("out_dtype", widened_sum, defect="drops out_dtype: the products are rounded"),
        ),
    ),
    Idiom(
        "transposed_matmul",
        transposed_matmul,
        ("FuseTransposeMatmul",),
        (
            NearMiss("wrong_axes", wrong_axes),
            NearMiss("identity", no_permutation),
            NearMiss("on_the_left", transposed_left),
            NearMiss("used_twice", transposed_twice, defect="raises: the fused function returns a tuple"),
            NearMiss("own_transpose", own_transpose, defect="raises: the fused function has one parameter"),
        ),
    ),
    Idiom("widened_transpose", widened_transpose, ("FuseTransposeMatmul",)),
    Idiom(
        "take_then_matmul",
        take_then_matmul,
        ("ReorderTakeAfterMatmul",),
        (
            NearMiss("wrong_axis", take_of_rows),
            NearMiss("on_the_left", take_on_the_left),
            NearMiss("vector", take_of_vector, defect="gathers along an axis that the product has consumed"),
        ),
    ),
    Idiom("batched_take", batched_take, ("ReorderTakeAfterMatmul",)),
    Idiom("broadcast_take", take_for_one_batch, ("ReorderTakeAfterMatmul",)),
    Idiom(
        "float32_matmul",
        float32_matmul,
        ("ToMixedPrecision",),
        (NearMiss("no_product", no_product),),
    ),
)
