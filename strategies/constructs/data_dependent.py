"""Shapes that depend on data: what ``unique``, ``nonzero`` and slices with computed ends give, and shapes read from a
tensor; with a cast behind that names the dims where the features of the case allow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from strategies.constructs import shapes
from strategies.scope.bounds import Bounds
from strategies.scope.dims import Range
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

op = relax.op

MOST = 24
"""Most elements of a tensor whose elements are counted: the count is a dim of what follows."""

_SOURCES = ("float32", "int64", "int32")


def draw(scope: Scope) -> Value | None:
    """Bind a value whose shape depends on data, cast to what is known of it.

    Raises:
        Infeasible: when what it would be is forbidden.
    """
    return scope.pick(_WAYS)(scope)


def _unique(scope: Scope) -> Value:
    """Bind ``unique``, perhaps with index, inverse and counts, whose tuple is then cast as a whole."""
    source = _counted(scope, (1, 2))
    size = scope.most_elements(source.shape)
    flags = [scope.index(4) == 3, source.rank == 1 and scope.index(4) == 3, scope.index(4) == 3]
    # Of a source of rank 2 the runtime's inverse has rank 2 where the type says 1 (NumPy 2 changed it).
    count: Range = (1, size)
    call = op.unique(source.expr, True, *flags)
    if not any(flags):
        return _learn(scope, scope.emit(call, source.bounds), [count])
    expr = scope.builder.normalize(call)
    place = Bounds(0, max(size, 1), True)
    parts = [Value(None, expr.ty.fields[0], source.bounds)]
    parts += [Value(None, ty, place) for ty in expr.ty.fields[1:]]
    whole = scope.emit(expr, parts=parts)
    if not (scope.has(Feature.CAST_SYMBOLS) and scope.has(Feature.TUPLES) and scope.index(2)):
        return _learn(scope, scope.item(whole, 0), [count])
    symbol = scope.frame.new_symbol(count)
    inverse = source.shape
    dims: list[Sequence[Dim]] = [(symbol,)]
    dims += [inverse if number == 1 else (symbol,) for number, flag in enumerate(flags) if flag]
    types = [relax.TensorType(list(own), part.dtype) for own, part in zip(dims, parts, strict=True)]
    known = [Value(None, ty, part.bounds) for ty, part in zip(types, parts, strict=True)]
    var = scope.cast_variable(whole.expr, relax.TupleType(types))
    shapes.define(scope, (symbol,))
    cast = scope.see(Value(var, var.ty, parts=tuple(known)))
    return scope.item(cast, scope.index(len(known)))


def _nonzero(scope: Scope) -> Value:
    """Bind ``nonzero``: one row a dim, as many columns as there are elements that are not zero."""
    source = _counted(scope, (1, 2, 3))
    places = scope.emit(
        op.nonzero(source.expr), Bounds(0, (max(scope.dim_range(dim)[1] for dim in source.shape)) - 1, True)
    )
    return _learn(scope, places, [(source.rank, source.rank), (0, scope.most_elements(source.shape))])


def _selected(scope: Scope) -> Value:
    """Bind the elements that are not zero: ``nonzero``, and ``gather_nd`` of its columns."""
    if not _casts(scope):
        return _nonzero(scope)
    places = _nonzero(scope)
    rank = int((places.dims or (1,))[0])
    rows = scope.emit(op.permute_dims(places.expr), places.bounds)
    extent = int(places.known.hi) + 1
    source = scope.tensor(shape=(extent,) * rank)
    return scope.emit(op.gather_nd(source.expr, rows.expr), source.bounds)


def _sliced(scope: Scope) -> Value:
    """Bind ``dynamic_strided_slice`` from zero to ends that another tensor says."""
    source = scope.tensor(ranks=(1, 2, 3), static=True, where=lambda v: 0 not in v.shape)
    rank, dims = source.rank, [int(dim) for dim in source.shape]
    drawn = scope.tensor(dtypes=("int64",), shape=(rank,))
    least = scope.emit(op.maximum(drawn.expr, relax.const(1, "int64")), drawn.known.maximum(Bounds(1, 1, True)))
    size = scope.emit(op.shape_to_tensor(scope.shape_expr(dims)), Bounds(min(dims), max(dims), True))
    ends = scope.emit(op.minimum(least.expr, size.expr), Bounds(1, max(dims), True))
    begin = relax.const(np.zeros(rank, "int64"), "int64")
    stride = relax.const(np.ones(rank, "int64"), "int64")
    sliced = op.dynamic_strided_slice(source.expr, begin, ends.expr, stride)
    return _learn(scope, scope.emit(sliced, source.bounds), [(1, dim) for dim in dims])


def _reshaped(scope: Scope) -> Value:
    """Bind ``reshape`` to a shape that is computed as a tensor: the dims in reverse order, or all in one."""
    source = scope.tensor(ranks=(1, 2, 3))
    dims = list(source.shape)
    bounds = Bounds(0, max(scope.dim_range(dim)[1] for dim in dims), True)
    extents = scope.emit(op.shape_to_tensor(scope.emit(op.shape_of(source.expr)).expr), bounds)
    if scope.index(2):
        product = scope.most_elements(dims)
        extents = scope.emit(op.prod(extents.expr, 0, True), Bounds(0, product, True))
        flat = dims[0]
        for dim in dims[1:]:
            flat = flat * dim
        actual: list[Dim] = [flat]
    else:
        extents = scope.emit(op.flip(extents.expr, 0), bounds)
        actual = dims[::-1]
    shape = scope.emit(op.tensor_to_shape(extents.expr))
    made = scope.emit(op.reshape(source.expr, shape.expr), source.bounds)
    if not scope.has(Feature.MATCH_CAST):
        return shape  # a type that speaks of a bound shape is understood nowhere else
    if not scope.has(Feature.SHAPE_EXPRESSIONS) and any(
        (not isinstance(dim, int) and hasattr(dim, "a")) for dim in actual
    ):
        return _learn(scope, made, [scope.dim_range(dim) for dim in actual]) if _casts(scope) else shape
    return shapes.learn(scope, made, tuple(actual))


def _spread(scope: Scope) -> Value:
    """Draw a tensor broadcast to, or filled of, a shape that holds a computed number of 1 to 4."""
    other = 1 + scope.index(3)
    drawn = scope.tensor(dtypes=("int64",), shape=(1,), bounds=Bounds(1, 4, True))
    extents = scope.emit(
        op.concat([drawn.expr, relax.const(np.array([other]), "int64")], 0), Bounds(1, max(4, other), True)
    )
    shape = scope.emit(op.tensor_to_shape(extents.expr))
    low, high = int(drawn.known.lo), int(drawn.known.hi)
    if not _casts(scope):
        scope.emit(op.full(shape.expr, relax.const(1, "float32"), "float32"), Bounds(1, 1, True))
        return shape
    symbol = scope.frame.new_symbol((low, high))
    ty = relax.ShapeType([symbol, other])
    var = scope.cast_variable(shape.expr, ty)
    shapes.define(scope, (symbol,))
    scope.see(Value(var, ty))
    row = scope.tensor(shape=(1, other))
    return scope.emit(op.broadcast_to(row.expr, scope.shape_expr([symbol, other])), row.bounds)


_WAYS: tuple[Callable[[Scope], Value], ...] = (_unique, _nonzero, _selected, _sliced, _reshaped, _spread)


def _casts(scope: Scope) -> bool:
    return scope.has(Feature.CAST_SYMBOLS)


def _counted(scope: Scope, ranks: Sequence[int]) -> Value:
    """Draw a tensor with a few elements, at least one."""

    def few(value: Value) -> bool:
        dims = value.shape
        return scope.most_elements(dims) <= MOST and all(scope.dim_range(dim)[0] > 0 for dim in dims)

    return scope.tensor(dtypes=_SOURCES, ranks=ranks, where=few)


def _learn(scope: Scope, value: Value, ranges: Sequence[Range]) -> Value:
    """Return the value cast to dims within ``ranges``: numbers where there is one choice, else new symbols."""
    if not _casts(scope):
        return value
    dims: list[Any] = [low if low == high else scope.frame.new_symbol((low, high)) for low, high in ranges]
    if scope.forbids(Feature.EMPTY_TENSORS) and 0 in dims:
        raise Infeasible("empty tensors are forbidden")
    return shapes.learn(scope, value, tuple(dims))
