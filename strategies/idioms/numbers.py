"""Idioms of numbers at the ends: infinite, not a number, denormal; integers that wrap, and those that floats lose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax

from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import constant, fresh, hidden, joined, width
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

TABLE = IdiomTable()

_OF_CONSTANTS = ("FoldConstant", "LegalizeOps", "EliminateCommonSubexpr", "FuseOps", "BindParams", "ToMixedPrecision")

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]

_MOVES: tuple[Unary, ...] = (
    op.abs, op.negative, op.nn.relu, op.sign, op.floor, op.sqrt, op.exp, op.tanh, op.sigmoid, op.max, op.min,
    op.permute_dims, op.flatten, lambda x: op.clip(x, -1, 1), lambda x: op.cumsum(x, axis=0), op.sum, op.square,
    lambda x: op.astype(op.astype(x, "float64"), "float16"), lambda x: op.flip(x, axis=0), op.round, op.erf,
    lambda x: op.nn.softmax(x, axis=0), lambda x: op.nn.leakyrelu(x, 0.5), op.rsqrt, op.trunc,
)  # fmt: skip
"""Operators that are defined for every float."""

_MEETINGS: tuple[Binary, ...] = (
    op.maximum, op.minimum, op.add, op.multiply, op.equal, op.not_equal, op.less, op.greater_equal, op.subtract,
    lambda x, y: op.where(op.less(x, y), x, y), lambda x, y: op.concat([x, y], axis=0), op.divide,
)  # fmt: skip


def extremes(scope: Scope, shape: tuple[int, ...], dtype: str) -> Any:
    """Draw a constant array with infinities, NaN, denormal numbers, zeros of both signs and the greatest number."""
    info = np.finfo(dtype)
    numbers = (np.inf, -np.inf, np.nan, info.smallest_subnormal, -0.0, info.max, info.min, info.tiny, 1.0, -2.0)
    chosen = scope.subset(numbers)
    return relax.const(np.resize(np.array(chosen, dtype), shape), dtype)


@TABLE.idiom(also_for=_OF_CONSTANTS, needs=(Feature.CONSTANTS,))
def extreme_constant(scope: Scope) -> Value:
    """Plant operators on a constant of extreme floats, and on it and a value, and say what came out that is finite."""
    dtype = scope.pick(
        [each for each in ("float32", "float16", "float64") if scope.module.permits(each)] or ["float32"]
    )
    shape = (width(scope), width(scope))[: 1 + scope.index(2)]
    made = extremes(scope, shape, dtype)
    if scope.index(4):
        other = fresh(scope, list(shape), dtype).expr if scope.index(4) else extremes(scope, shape, dtype)
        pair = (made, other) if scope.index(2) else (other, made)
        made = hidden(scope, scope.emit(scope.pick(_MEETINGS)(*pair), Bounds(-1.0, 1.0))).expr
    for _ in range(scope.index(3)):
        if str(made.ty.dtype) == "bool" or not made.ty.ndim:
            break
        made = hidden(scope, scope.emit(scope.pick(_MOVES)(made), Bounds(-1.0, 1.0))).expr
    if str(made.ty.dtype) == "bool":
        return scope.emit(op.logical_not(made), Bounds(0, 1, True))
    dtype = str(made.ty.dtype)
    finite = hidden(scope, scope.emit(op.isfinite(made), Bounds(0, 1, True)))
    kept = hidden(scope, scope.emit(op.where(finite.expr, made, relax.const(0, dtype)), Bounds(-1.0, 1.0)))
    kept = scope.emit(op.clip(kept.expr, -2, 2), Bounds(-2.0, 2.0))
    unordered = scope.emit(op.astype(op.isnan(made), "float32"), Bounds(0, 1, True))
    return joined(scope, [kept, unordered])


_NARROW = ("int8", "uint8", "int16", "uint16", "uint32")
"""Integers that wrap: from 32 bits on TVM takes it that signed ones never do."""

_WRAPPING: tuple[Binary, ...] = (op.add, op.subtract, op.multiply, op.maximum, op.minimum)
_CHECKING: tuple[Binary, ...] = (op.greater, op.less, op.greater_equal, op.less_equal, op.equal)
_SHRINKING: tuple[Unary, ...] = (
    op.abs, op.negative, op.square, op.bitwise_not, op.nn.relu,
    lambda x: op.sum(x, 0), lambda x: op.max(x, 0), lambda x: op.prod(x, 0), lambda x: op.clip(x, 1, 100),
    lambda x: op.cumsum(x, 0), lambda x: op.cumprod(x, 0), lambda x: op.mean(op.astype(x, "float32"), 0),
    lambda x: op.astype(op.astype(x, "float32"), str(x.ty.dtype)), lambda x: op.astype(x, "int64"),
    lambda x: op.floor_divide(x, _one(x, 3)), lambda x: op.left_shift(x, _one(x, 1)),
    lambda x: op.right_shift(x, _one(x, 1)),
)  # fmt: skip


def _one(like: Any, number: int) -> Any:
    return relax.const(number, str(like.ty.dtype))


@TABLE.idiom(
    also_for=("LegalizeOps", "FoldConstant", "FuseOps", "FuseTIR"), needs=(Feature.CONSTANTS, Feature.INTEGERS)
)
def wrapping_integers(scope: Scope) -> Value:
    """Plant arithmetic of narrow and unsigned integers that wraps, and comparisons of a smaller with a larger."""
    dtype = scope.pick(_NARROW)
    shape = [width(scope), 1 + scope.index(3)]
    value = fresh(scope, list(shape), dtype, Bounds(0, 3, True)).expr
    # A constant with the ends of the dtype's range, and numbers between.
    info = np.iinfo(dtype)
    ends = np.array([info.max, info.min, info.max // 2 + 1, 1, 3, info.max - 1, 0, info.min + 1], dtype)
    other = relax.const(np.resize(np.roll(ends, scope.index(8)), shape), dtype)
    pair = (value, other) if scope.index(2) else (other, value)
    made = hidden(scope, scope.emit(scope.pick(_WRAPPING)(*pair), Bounds(0, 1, True))).expr
    for _ in range(scope.index(3)):
        if not made.ty.ndim or str(made.ty.dtype) not in _NARROW:
            break
        if (unary := scope.pick(_SHRINKING)) in (op.abs, op.negative) and str(made.ty.dtype)[0] == "u":
            continue  # defined for signed ones alone
        made = hidden(scope, scope.emit(unary(made), Bounds(0, 1, True))).expr
    dtype = str(made.ty.dtype)
    if dtype in _NARROW and scope.index(2):
        return scope.emit(scope.pick(_CHECKING)(made, relax.const(1 + scope.index(3), dtype)), Bounds(0, 1, True))
    return scope.emit(op.clip(made, 0, 3), Bounds(0, 3, "int" in dtype))


@TABLE.idiom(also_for=("LegalizeOps", "FoldConstant", "ToMixedPrecision"), needs=(Feature.CONSTANTS, Feature.INTEGERS))
def exact_integers(scope: Scope) -> Value:
    """Plant integers that float32 cannot hold, where they must stay exact: moved, compared, reduced, divided."""
    dtype = scope.pick(("int32", "int64", "uint32"))
    greatest = 2**24 if dtype != "int64" else scope.pick((2**24, 2**31, 2**53))
    shape = [width(scope), width(scope)]
    offset = constant(scope, shape, dtype, Bounds(0, 9, True)).expr
    large = relax.const(np.asarray(greatest + 1, dtype).item(), dtype)
    value = fresh(scope, list(shape), dtype, Bounds(0, 3, True)).expr
    base = hidden(scope, scope.emit(op.add(value, large), Bounds(0, 1, True))).expr
    full, sortable = scope.shape_expr(shape), dtype != "uint32"
    made = scope.pick(
        (
            op.sort(base, axis=0) if sortable else op.flip(base, axis=0),
            op.max(base, axis=[0], keepdims=True),
            op.floor_divide(base, relax.const(1, dtype)),
            op.take(base, relax.const(np.array([1, 0], "int64")), axis=0),
            op.multiply(base, op.full(full, relax.const(1, dtype), dtype)),
            op.clip(base, greatest + 2, greatest + 4),
            op.topk(base, 1, axis=0, ret_type="values") if sortable else op.min(base, axis=[0]),
            None,
            op.full(full, large, dtype),
            op.where(op.greater(base, large), base, large),
        )
    )
    if made is None:
        return scope.emit(op.floor_mod(op.cumsum(base, axis=0), relax.const(7, dtype)), Bounds(0, 6, True))
    made = hidden(scope, scope.emit(made, Bounds(0, 1, True))).expr
    rest = scope.emit(op.subtract(made, large), Bounds(-1, 20, True))
    if list(rest.shape) != shape:
        return rest
    return scope.emit(op.add(rest.expr, offset), Bounds(-1, 29, True))


@TABLE.idiom(also_for=("FoldConstant", "LegalizeOps", "VMShapeLower"), needs=(Feature.CONSTANTS, Feature.MATCH_CAST))
def shape_as_data(scope: Scope) -> Value:
    """Plant a constant that becomes a shape, or a shape that becomes a tensor."""
    # CodeGenVM has no tensor_to_shape.
    if scope.executable or scope.forbids(Feature.UNKNOWN_SHAPES) or scope.index(2):
        source = scope.tensor(ranks=(1, 2, 3))
        shape = scope.emit(op.shape_of(source.expr)) if scope.index(2) else scope.emit(scope.shape_expr(source.shape))
        return scope.emit(op.shape_to_tensor(shape.expr), Bounds(0, 4096, True))
    shape = scope.emit(op.tensor_to_shape(relax.const([1 + scope.index(3), width(scope)], "int64")))
    return scope.emit(op.broadcast_to(relax.const(1.0, "float32"), shape.expr), Bounds(1, 1, True))
