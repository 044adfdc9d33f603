"""Idioms of several matrix products: their order, and products side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tvm import relax

from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import (
    UNIT,
    added,
    fresh,
    hidden,
    joined,
    matrix,
    operand,
    product,
    relu,
    transposed,
    variable,
    width,
)
from strategies.scope.bounds import Bounds
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
