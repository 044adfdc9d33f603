"""Idioms of matrix products: their order, products side by side, and what feeds one: sums, transposes and gathers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tvm import relax

from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import (
    UNIT,
    added,
    floats,
    fresh,
    hidden,
    joined,
    matrix,
    operand,
    product,
    relu,
    subtracted,
    transposed,
    variable,
    width,
)
from strategies.scope.bounds import Bounds
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

TABLE = IdiomTable()


def _triple(scope: Scope, middle: int, last: int, static: bool = False) -> tuple[Value, Value, Value]:
    # Of symbolic dims it can seldom be proved which order is cheaper.
    a = matrix(scope, static=static or scope.index(4) < 3)
    return a, operand(scope, [a.shape[-1], middle], a), operand(scope, [middle, last], a)


def _left_is_cheaper(a: Value, middle: int, last: int) -> bool | None:
    """Say whether ``(a @ b) @ c`` takes fewer products than ``a @ (b @ c)``; ``None`` where that is open."""
    rows, inner = a.shape
    if not isinstance(rows, int) or not isinstance(inner, int):
        return None
    left, right = rows * inner * middle + rows * middle * last, inner * middle * last + rows * inner * last
    return None if left == right else left < right


def _chain(scope: Scope, a: Value, b: Value, c: Value, left: bool) -> Value:
    if left:
        return product(scope, hidden(scope, product(scope, a, b)), c)
    return product(scope, a, hidden(scope, product(scope, b, c)))


@TABLE.idiom("AdjustMatmulOrder")
def matmul_chain(scope: Scope, best: bool = False) -> Value:
    """Plant ``(a @ b) @ c`` or ``a @ (b @ c)``, the dearer of them, or the cheaper one."""
    middle, last = (8, 1 + scope.index(3)) if scope.index(2) == 0 else (1 + scope.index(2), 7)
    a, b, c = _triple(scope, middle, last, static=best)
    cheaper = _left_is_cheaper(a, middle, last)
    if best:
        return _chain(scope, a, b, c, cheaper is not False)
    return _chain(scope, a, b, c, bool(scope.index(2)) if cheaper is None else not cheaper)


TABLE.near_miss("best_order")(partial(matmul_chain, best=True))


@TABLE.near_miss("something_between")
def something_between(scope: Scope) -> Value:
    """Plant an activation between the two products."""
    a, b, c = _triple(scope, 8, 1)
    return product(scope, relu(scope, product(scope, a, b)), c)


@TABLE.near_miss("mixed_dtype", defect="drops out_dtype: raises, the new operands do not agree")
def chain_of_mixed_dtypes(scope: Scope) -> Value:
    """Plant an inner product that widens: ``matmul(matmul(a, b, out_dtype="float64"), c)`` with ``c`` of float64."""
    a = matrix(scope, ("float32",))
    b = operand(scope, [a.shape[-1], 8], a)
    inner = product(scope, a, b, "float64")
    return product(scope, inner, scope.tensor(dtypes=("float64",), shape=[8, 1], bounds=UNIT))


@TABLE.idiom("AdjustMatmulOrder")
def permuted_chain(scope: Scope) -> Value:
    """Plant ``transpose(b @ a) @ c`` or ``a @ transpose(c @ b)``."""
    a = matrix(scope)
    rows, inner = a.shape
    if scope.index(2):
        b = operand(scope, [inner, 8], a)
        flipped = transposed(scope, hidden(scope, product(scope, a, b)))
        return product(scope, flipped, operand(scope, [rows, 1 + scope.index(2)], a))
    b, c = operand(scope, [8, inner], a), operand(scope, [1 + scope.index(2), 8], a)
    return product(scope, a, transposed(scope, hidden(scope, product(scope, c, b))))


@TABLE.idiom("AdjustMatmulOrder")
def shared_middle(scope: Scope) -> Value:
    """Plant a chain whose inner product is used a second time."""
    a, b, c = _triple(scope, 8, 1)
    inner = product(scope, a, b)
    return joined(scope, [product(scope, inner, c), relu(scope, inner)])


def _parallel(scope: Scope, finish: Callable[[Scope, Value, int], Value], same_width: bool = False) -> Value:
    x = variable(scope, matrix(scope, ranks=(2, 2, 3)))
    made: list[Value] = []
    count, first = 2 + scope.index(2), width(scope)
    for _ in range(count):
        columns = first if same_width else width(scope)
        # A constant weight makes CombineParallelMatmul raise (it casts every operand to a variable); one weight used
        # twice is left alone.
        shape = [x.shape[-1], columns]
        weight = variable(scope, fresh(scope, shape, x.dtype) if made else operand(scope, shape, x))
        made.append(finish(scope, product(scope, x, weight), columns))
    return joined(scope, made)


@TABLE.idiom("CombineParallelMatmul")
def parallel_matmuls(scope: Scope) -> Value:
    """Plant two or three products of one left side, bare, or each with a bias, an activation, or both."""
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


def _biased(scope: Scope, columns: bool) -> Value:
    """Plant parallel products with biases of shape ``(1,)``, or of one width with biases of shape ``(rows, 1)``."""

    def finish(scope: Scope, out: Value, _: int) -> Value:
        shape = [out.shape[-2], 1] if columns else [1]
        return added(scope, out, variable(scope, fresh(scope, shape, out.dtype)))

    return _parallel(scope, finish, same_width=columns)


for _name, _columns in (("broadcast_bias", False), ("column_bias", True)):
    TABLE.near_miss(_name, defect="raises: biases side by side no longer broadcast")(partial(_biased, columns=_columns))


@TABLE.near_miss("unlike_left")
def unlike_left_sides(scope: Scope) -> Value:
    """Plant products of two left sides with one right side."""
    x = matrix(scope)
    weight = variable(scope, operand(scope, [x.shape[-1], width(scope)], x))
    other = relu(scope, x)
    return joined(scope, [product(scope, x, weight), product(scope, other, weight)])


@TABLE.near_miss("mixed_out_dtype")
def parallel_out_dtypes(scope: Scope) -> Value:
    """Plant parallel products of which one widens by ``out_dtype``."""
    x = variable(scope, matrix(scope, ("float32",)))
    weights = [variable(scope, operand(scope, [x.shape[-1], width(scope)], x)) for _ in range(2)]
    return joined(scope, [product(scope, x, weights[0]), product(scope, x, weights[1], "float64")])


@TABLE.near_miss("unlike_ranks")
def parallel_ranks(scope: Scope) -> Value:
    """Plant products with right sides of two ranks."""
    x = variable(scope, matrix(scope, ranks=(2,)))
    flat = variable(scope, operand(scope, [x.shape[-1], 2], x))
    deep = variable(scope, operand(scope, [2, x.shape[-1], 3], x))
    return joined(scope, [product(scope, x, flat), product(scope, x, deep)])


@TABLE.idiom("ExpandMatmulOfSum")
def matmul_of_sum(scope: Scope) -> Value:
    """Plant ``x @ (a + b)``, or of the transposed sum."""
    x = matrix(scope, ranks=(2, 2, 3))
    inner, outer = x.shape[-1], width(scope)
    if scope.index(3) == 2:
        a, b = operand(scope, [outer, inner], x), operand(scope, [outer, inner], x)
        return product(scope, x, transposed(scope, added(scope, a, b)))
    a, b = operand(scope, [inner, outer], x), operand(scope, [inner, outer], x)
    return product(scope, x, added(scope, a, b))


@TABLE.near_miss("on_the_left")
def sum_on_the_left(scope: Scope) -> Value:
    """Plant ``(a + b) @ x``."""
    a = matrix(scope)
    total = added(scope, a, operand(scope, a.shape, a))
    return product(scope, total, fresh(scope, [a.shape[-1], width(scope)], a.dtype))


@TABLE.near_miss("difference")
def difference(scope: Scope) -> Value:
    """Plant ``x @ (a - b)``."""
    x = matrix(scope)
    shape = [x.shape[-1], width(scope)]
    return product(scope, x, subtracted(scope, operand(scope, shape, x), operand(scope, shape, x)))


@TABLE.near_miss("broadcast_addend", defect="multiplies the addend before it is broadcast")
def broadcast_addend(scope: Scope) -> Value:
    """Plant ``x @ (a + b)``, ``b`` a vector that broadcasts, as long as ``x`` is wide: ``x @ b`` would be defined."""
    x = scope.tensor(dtypes=("float32",), ranks=(2,), static=True, bounds=UNIT, where=_small_square)
    inner = x.shape[-1]
    a, b = operand(scope, [inner, inner], x), operand(scope, [inner], x)
    return product(scope, x, added(scope, a, b))


def _small_square(value: Value) -> bool:
    return all(isinstance(dim, int) and 1 < dim <= 8 for dim in value.shape)


@TABLE.near_miss("scalar_addend", defect="raises: a scalar is no operand of matmul")
def scalar_addend(scope: Scope) -> Value:
    """Plant ``x @ (a + 1)``."""
    x = matrix(scope)
    a = operand(scope, [x.shape[-1], width(scope)], x)
    return product(scope, x, added(scope, a, scope.scalar(1.0, x.dtype)))


@TABLE.near_miss("out_dtype", defect="drops out_dtype: the products are rounded")
def widened_sum(scope: Scope) -> Value:
    """Plant ``matmul(x, a + b, out_dtype="float64")`` of float32."""
    x = matrix(scope, ("float32",))
    shape = [x.shape[-1], width(scope)]
    return product(scope, x, added(scope, operand(scope, shape, x), operand(scope, shape, x)), "float64")


@TABLE.idiom("FuseTransposeMatmul")
def transposed_matmul(scope: Scope) -> Value:
    """Plant ``x @ w.T``; also batched, and with the axes written out."""
    x = matrix(scope, ranks=(2, 2, 3))
    inner, outer = x.shape[-1], width(scope)
    way = scope.index(3)
    if way == 2:
        w = operand(scope, [2, outer, inner], x) if x.rank == 2 else operand(scope, [x.shape[0], outer, inner], x)
        return product(scope, x, hidden(scope, transposed(scope, w, [0, 2, 1])))
    w = fresh(scope, [outer, inner], x.dtype)
    return product(scope, x, hidden(scope, transposed(scope, w, [1, 0] if way else None)))


@TABLE.near_miss("wrong_axes")
def wrong_axes(scope: Scope) -> Value:
    """Plant a permutation of other axes: ``x @ permute_dims(w, [1, 0, 2])``."""
    x = matrix(scope)
    return product(scope, x, transposed(scope, operand(scope, [x.shape[-1], 2, width(scope)], x), [1, 0, 2]))


@TABLE.near_miss("identity")
def no_permutation(scope: Scope) -> Value:
    """Plant ``x @ permute_dims(w, [0, 1])``."""
    x = matrix(scope)
    return product(scope, x, transposed(scope, operand(scope, [x.shape[-1], width(scope)], x), [0, 1]))


@TABLE.near_miss("on_the_left")
def transposed_left(scope: Scope) -> Value:
    """Plant ``w.T @ x``."""
    w = matrix(scope)
    return product(scope, transposed(scope, w), fresh(scope, [w.shape[0], width(scope)], w.dtype))


@TABLE.near_miss("used_twice", defect="raises: the fused function returns a tuple")
def transposed_twice(scope: Scope) -> Value:
    """Plant a transposed value that two products use."""
    x = matrix(scope)
    right = transposed(scope, operand(scope, [width(scope), x.shape[-1]], x))
    return joined(scope, [product(scope, x, right), product(scope, relu(scope, x), right)])


@TABLE.near_miss("own_transpose", defect="raises: the fused function has one parameter")
def own_transpose(scope: Scope) -> Value:
    """Plant ``x @ x.T``."""
    x = matrix(scope)
    return product(scope, x, hidden(scope, transposed(scope, x)))


@TABLE.idiom("FuseTransposeMatmul")
def widened_transpose(scope: Scope) -> Value:
    """Plant ``matmul(x, w.T, out_dtype="float64")`` of float32."""
    x = matrix(scope, ("float32",))
    w = fresh(scope, [width(scope), x.shape[-1]], x.dtype)
    return product(scope, x, hidden(scope, transposed(scope, w)), "float64")


def _indices(scope: Scope, count: int, table: int) -> Value:
    dtype = scope.pick(("int64", "int32"))
    return scope.tensor(dtypes=(dtype,), shape=(count,), bounds=Bounds(0, table - 1, True))


@TABLE.idiom("ReorderTakeAfterMatmul")
def take_then_matmul(scope: Scope) -> Value:
    """Plant ``x @ take(w, i, axis=1)``."""
    x = matrix(scope, ranks=(2, 2, 3))
    w = operand(scope, [x.shape[-1], 4], x)
    taken = scope.emit(op.take(w.expr, _indices(scope, 1 + scope.index(5), 4).expr, axis=1), w.bounds)
    return product(scope, x, taken)


@TABLE.near_miss("wrong_axis")
def take_of_rows(scope: Scope) -> Value:
    """Plant ``x @ take(w, i, axis=0)``."""
    x = matrix(scope, static=True)
    w = operand(scope, [4, width(scope)], x)
    count = int(x.shape[-1])
    return product(scope, x, scope.emit(op.take(w.expr, _indices(scope, count, 4).expr, axis=0), w.bounds))


@TABLE.near_miss("on_the_left")
def take_on_the_left(scope: Scope) -> Value:
    """Plant ``take(x, i, axis=0) @ w``."""
    x = fresh(scope, [4, width(scope)], "float32")
    taken = scope.emit(op.take(x.expr, _indices(scope, 3, 4).expr, axis=0), x.bounds)
    return product(scope, taken, fresh(scope, [x.shape[-1], 2], "float32"))


@TABLE.near_miss("vector", defect="gathers along an axis that the product has consumed")
def take_of_vector(scope: Scope) -> Value:
    """Plant ``x @ take(w, i, axis=0)`` with a vector ``w``, in which the last axis is the one that is summed over."""
    x = scope.tensor(dtypes=("float32",), ranks=(2,), static=True, bounds=UNIT, where=_small_square)
    inner = int(x.shape[-1])
    w = operand(scope, [inner], x)
    return product(scope, x, scope.emit(op.take(w.expr, _indices(scope, inner, inner).expr, axis=0), w.bounds))


@TABLE.idiom("ReorderTakeAfterMatmul")
def batched_take(scope: Scope) -> Value:
    """Plant a table of matrices, one for each batch: ``x @ take(w, i, axis=0)``."""
    x = matrix(scope, ranks=(3,), static=True)
    batch, _, inner = x.shape
    w = operand(scope, [3, inner, width(scope)], x)
    taken = scope.emit(op.take(w.expr, _indices(scope, int(batch), 3).expr, axis=0), w.bounds)
    return product(scope, x, taken)


@TABLE.idiom("ReorderTakeAfterMatmul")
def broadcast_take(scope: Scope) -> Value:
    """Plant a left side of one batch that broadcasts over several taken matrices."""
    inner = width(scope)
    x, w = fresh(scope, [1, 2, inner], "float32"), fresh(scope, [3, inner, 2], "float32")
    taken = scope.emit(op.take(w.expr, _indices(scope, 2, 3).expr, axis=0), w.bounds)
    return product(scope, x, taken)


@TABLE.idiom("ToMixedPrecision")
def float32_matmul(scope: Scope) -> Value:
    """Plant a product of float32, and an elementwise tail."""
    x = matrix(scope, ("float32",), ranks=(2, 2, 3))
    out = product(scope, x, operand(scope, [x.shape[-1], width(scope)], x))
    return relu(scope, out) if scope.index(2) else out


@TABLE.near_miss("no_product")
def no_product(scope: Scope) -> Value:
    """Plant float32 without any product."""
    value = floats(scope)
    if value.dtype != "float32":
        raise Infeasible("float32 only")
    return relu(scope, added(scope, value, value))
