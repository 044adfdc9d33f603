"""Shape hints: casts, tensors of known rank only, shape and primitive parameters, shapes computed from both."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.ir import PrimType

from strategies.bounds import Bounds, default_bounds
from strategies.dims import SYMBOL_RANGE
from strategies.features import Feature
from strategies.scope import Scope
from strategies.values import Dim, Value

op = relax.op


def unknown_parameter(scope: Scope) -> Value:
    """A parameter of known rank and dtype but unknown shape."""
    rank = 1 + scope.index(3)
    dtype = scope.pick_dtype(None)
    ty = relax.TensorType(None, dtype, ndim=rank)
    return scope.parameter(ty, default_bounds(dtype))


def cast(scope: Scope) -> Value | None:
    """Bind a ``match_cast`` that holds: of a tensor of unknown shape where there is one, else to what is known."""
    unknown = [v for v in scope.values if v.dtype and v.rank >= 0 and v.dims is None and _castable(scope, v)]
    if unknown and scope.index(4) < 3:
        value = unknown[-1 - scope.index(len(unknown))]
        dims = scope.frame.casts.get(value.expr) or value.actual or cast_dims(scope, value.rank)
        scope.frame.casts[value.expr] = tuple(dims)
        return scope.match_cast(value, dims)
    value = scope.tensor()
    return scope.match_cast(value, _renamed(scope, value.dims or ()))


def _castable(scope: Scope, value: Value) -> bool:
    """Whether the real shape is known, or is ours to choose: a parameter's, outside of branches (inputs are drawn by
    the casts that every run passes)."""
    return value.actual is not None or (value.is_parameter and not scope.branches)


def cast_dims(scope: Scope, rank: int) -> tuple[Dim, ...]:
    """Dims to cast a free tensor to: new symbols, known ones and numbers from 1 to 4."""
    dims: list[Dim] = []
    for _ in range(rank):
        way = scope.index(4)
        if way == 0 or not scope.has(Feature.SYMBOLIC_SHAPES):
            dims.append(1 + scope.index(4))
        elif way == 1 and scope.frame.symbol_list:
            dims.append(scope.pick(scope.frame.symbol_list))
        else:
            dims.append(scope.frame.new_symbol(SYMBOL_RANGE, listed=False))
    return tuple(dims)


def _renamed(scope: Scope, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The same dims, some of them bound to new symbols (so that the cast has something to learn)."""
    renamed: list[Dim] = []
    for dim in dims:
        low, high = scope.dim_range(dim)
        free = scope.has(Feature.SYMBOLIC_SHAPES) and low >= SYMBOL_RANGE[0] and high <= SYMBOL_RANGE[1]
        new = free and not scope.branches and not scope.in_dataflow and scope.index(3) == 2
        renamed.append(scope.frame.new_symbol(SYMBOL_RANGE, listed=False) if new else dim)
    return tuple(renamed)


def expression_dim(scope: Scope) -> Any:
    """A dim computed from symbols: ``n + 1``, ``n * 2 + 1``, ``n * m`` and the like; at least 1."""
    n = scope.pick(scope.frame.symbol_list)
    m = scope.pick(scope.frame.symbol_list)
    way = scope.index(6)
    if way == 0:
        return n * 2 + 1
    if way == 1:
        return n + 1
    if way == 2:
        return n * 2
    if way == 3:
        return n + m
    if way == 4:
        return n * m
    return tirx.max(n, 2)


def expression_tensor(scope: Scope) -> Value:
    """A tensor one of whose dims is an expression: a parameter, or computed."""
    if not scope.frame.symbol_list:
        symbol_parameter(scope)
    dims: list[Dim] = [expression_dim(scope), 1 + scope.index(3)][: 1 + scope.index(2)]
    dtype = scope.pick_dtype(None)
    if scope.can_add_parameter() and scope.index(2):
        return scope.parameter(scope.frame.tensor_type(dims, dtype), default_bounds(dtype))
    return filled(scope, dims, dtype)


def symbol_parameter(scope: Scope) -> Value:
    """A parameter with at least one symbolic dim."""
    dtype = scope.pick_dtype(None)
    dims: list[Dim] = [scope.symbol(), *(scope.small_dim() for _ in range(scope.index(3)))]
    return scope.parameter(scope.frame.tensor_type(dims, dtype), default_bounds(dtype))


def filled(scope: Scope, dims: list[Dim], dtype: str) -> Value:
    """``full``, ``ones`` or ``zeros`` of given dims."""
    way = scope.index(3) if dtype != "bool" else 0
    shape = scope.shape_expr(dims)
    if way == 1:
        return scope.emit(op.ones(shape, dtype), Bounds(1, 1, True))
    if way == 2:
        return scope.emit(op.zeros(shape, dtype), Bounds(0, 0, True))
    return scope.emit(op.full(shape, relax.const(1, dtype), dtype), Bounds(1, 1, True))


def shape_parameter(scope: Scope) -> Value:
    """A Shape parameter; its dims are symbols of the function, new ones among them."""
    dims: list[Dim] = []
    for _ in range(1 + scope.index(2)):
        if scope.has(Feature.SYMBOLIC_SHAPES):
            dims.append(scope.symbol())
        else:
            dims.append(1 + scope.index(4))
    return scope.parameter(relax.ShapeType(dims))


def prim_parameter(scope: Scope) -> Value:
    """A primitive int64 parameter; the default domain is [1, 4]."""
    value = scope.parameter(PrimType("int64"))
    scope.frame.symbols[value.expr] = SYMBOL_RANGE
    return value


def use_shape(scope: Scope) -> Value | None:
    """Use a shape value or parameter: fill a tensor of it, reshape to it, take a tensor's shape, or compute one."""
    way = scope.index(4)
    shapes = [v for v in scope.values if v.is_shape and v.ty.values is not None]
    prims = [v for v in scope.values if v.is_prim and v.is_parameter]
    dtype = "float32"
    if way == 0 and shapes:
        shape = shapes[-1 - scope.index(len(shapes))]
        if scope.most_elements(_shape_dims(shape)) <= 1024:
            made = scope.emit(op.full(shape.expr, relax.const(1, dtype), dtype), Bounds(1, 1, True))
            return scope.match_cast(made, _shape_dims(shape)) if scope.has(Feature.MATCH_CAST) else made
    if way == 1 and prims and scope.has(Feature.SYMBOLIC_SHAPES):
        return filled(scope, [prims[-1].expr, 1 + scope.index(3)], dtype)
    if way == 2:
        source = scope.tensor()
        shape = scope.emit(op.shape_of(source.expr))
        if scope.module.strict or scope.index(4) < 3:
            return shape
        # LegalizeOps has no lowering for a target that shape_of bound to a variable.
        return scope.emit(op.reshape(source.expr, shape.expr), source.bounds)
    if scope.frame.symbol_list and scope.has(Feature.SHAPE_EXPRESSIONS):
        return scope.emit(relax.ShapeExpr([expression_dim(scope)]))
    return scope.emit(scope.shape_expr([1 + scope.index(4), 1 + scope.index(3)]))


def _shape_dims(value: Value) -> list[Dim]:
    return [int(dim) if isinstance(dim, tirx.IntImm) else dim for dim in value.ty.values]
