"""Shape hints: casts, tensors of known rank only, shape and primitive parameters, shapes computed from both."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.ir import PrimType

from relaxkit.ir.dims import symbols_of
from strategies.scope.bounds import Bounds, default_bounds
from strategies.scope.dims import SYMBOL_RANGE
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.scope import MAX_ELEMENTS, Scope
from strategies.scope.values import Dim, Value

op = relax.op


def unknown_parameter(scope: Scope) -> Value:
    """Draw a parameter of known rank and dtype but unknown shape."""
    rank = 1 + scope.index(3)
    dtype = scope.pick_dtype(None)
    ty = relax.TensorType(None, dtype, ndim=rank)
    return scope.parameter(ty, default_bounds(dtype))


def cast(scope: Scope) -> Value | None:
    """Bind a ``match_cast`` that holds: of a tensor of unknown shape where there is one, else to what is known."""
    unknown = [v for v in scope.values if v.dtype and v.rank >= 0 and v.dims is None]
    # The real shape must be known, or ours to choose: a parameter's, outside of branches (inputs are drawn by the casts
    # that every run passes).
    unknown = [v for v in unknown if v.actual is not None or (v.is_parameter and not scope.branches)]
    if unknown and scope.index(4) < 3:
        value = unknown[-1 - scope.index(len(unknown))]
        dims = scope.frame.casts.get(value.expr) or value.actual or cast_dims(scope, value.rank)
        scope.frame.casts[value.expr] = tuple(dims)
        return learn(scope, value, dims)
    tuples = [v for v in scope.values if v.parts and isinstance(v.expr, relax.Var)]
    if tuples and scope.index(3) == 2:
        return cast_tuple(scope, scope.pick(tuples[::-1]))
    value = scope.tensor()
    return learn(scope, value, _renamed(scope, value.shape))


def learn(scope: Scope, value: Value, dims: tuple[Dim, ...]) -> Value:
    """Bind ``match_cast`` of a tensor; symbolic dims of which nothing is known yet are defined by it.

    Raises:
        Infeasible: when the caller of ``ir_modules`` forbade casts.
    """
    made = scope.match_cast(value, dims)
    define(scope, dims)
    return made


def define(scope: Scope, dims: tuple[Dim, ...]) -> None:
    """Note the symbols that a cast to ``dims`` defines."""
    frame = scope.frame
    known = {*frame.symbol_list, *frame.shape_symbols, *frame.cast_symbols}
    frame.cast_symbols.extend(dim for dim in dict.fromkeys(dims) if isinstance(dim, tirx.Var) and dim not in known)


def cast_dims(scope: Scope, rank: int) -> tuple[Dim, ...]:
    """Return dims to cast a free tensor to: new symbols, known ones and numbers from 1 to 4."""
    dims: list[Dim] = []
    for _ in range(rank):
        way = scope.index(4)
        if way == 0 or not scope.has(Feature.SYMBOLIC_SHAPES):
            dims.append(1 + scope.index(4))
        elif way == 1 and scope.frame.symbol_list:
            dims.append(scope.pick(scope.frame.symbol_list))
        elif scope.has(Feature.CAST_SYMBOLS):
            dims.append(scope.frame.new_symbol(SYMBOL_RANGE))
        else:
            dims.append(1 + scope.index(4))
    return tuple(dims)


def _renamed(scope: Scope, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Return the same dims, some of them bound to new symbols (so that the cast has something to learn)."""
    renamed: list[Dim] = []
    for dim in dims:
        new = _nameable(scope, dim) and scope.index(3) == 2
        renamed.append(scope.frame.new_symbol(scope.dim_range(dim)) if new else dim)
    return tuple(renamed)


def _nameable(scope: Scope, dim: Dim) -> bool:
    """Say whether a cast may bind a new symbol to a known dim: one that operators can take for any other."""
    low, high = scope.dim_range(dim)
    return scope.has(Feature.CAST_SYMBOLS) and low >= SYMBOL_RANGE[0] and high <= SYMBOL_RANGE[1]


def cast_tuple(scope: Scope, value: Value) -> Value:
    """Bind ``match_cast`` of a tuple whose elements are known, some dims bound to new symbols.

    Raises:
        Infeasible: when the caller of ``ir_modules`` forbade casts.
    """
    if scope.forbids(Feature.MATCH_CAST):
        raise Infeasible("casts are forbidden")
    new: list[Dim] = []
    part = _recast(scope, value, new)
    scope.module.refuse(part.ty)
    var = scope.cast_variable(value.expr, part.ty)
    define(scope, tuple(new))
    return scope.see(Value(var, part.ty, parts=part.parts))


def _recast(scope: Scope, value: Value, new: list[Dim]) -> Value:
    """Draw a part of a tuple as the cast sees it; the dims of its tensors go to ``new``."""
    if value.parts:
        parts = tuple(_recast(scope, part, new) for part in value.parts)
        return Value(None, relax.TupleType([part.ty for part in parts]), parts=parts)
    if value.dims is None or not value.dtype:
        return Value(None, value.ty, value.bounds, value.parts, value.actual, value.device)
    dims = _renamed(scope, value.dims)
    new.extend(dims)
    ty = relax.TensorType(list(dims), value.dtype, value.ty.vdevice)
    return Value(None, ty, value.bounds, device=value.device)


def cast_symbol(scope: Scope) -> Value:
    """Draw a symbolic dim that only a cast defines, and something whose type uses it.

    Raises:
        Infeasible: in a branch: the values of what is cast there are gone behind it.
    """
    if scope.branches:
        raise Infeasible("a cast in a branch leaves nothing behind")
    source = _free(scope)
    dims = [scope.frame.new_symbol(SYMBOL_RANGE), *(cast_dims(scope, 1) * (source.rank - 1))]
    scope.frame.casts[source.expr] = tuple(dims)
    learn(scope, source, tuple(dims))
    return used(scope, dims[0])


def _free(scope: Scope) -> Value:
    """Draw a parameter of unknown shape that nothing was cast from yet, or a filled tensor that can be cast."""
    free = [v for v in scope.values if v.is_parameter and v.rank > 0 and v.dims is None and v.dtype]
    free = [v for v in free if v.expr not in scope.frame.casts and v.actual is None]
    if free:
        return free[-1]
    if scope.can_add_parameter():
        return unknown_parameter(scope)
    return filled(scope, [2], scope.pick_dtype(None))


def loose_symbols(scope: Scope) -> list[Any]:
    """Return the symbolic dims that no tensor parameter defines, seen here."""
    return scope.frame.shape_symbols + scope.frame.cast_symbols


def use_symbol(scope: Scope) -> Value:
    """Bind something whose type, or shape argument, has a symbolic dim that no tensor parameter defines.

    Raises:
        Infeasible: without such a symbol.
    """
    loose = loose_symbols(scope)
    if not loose:
        raise Infeasible("no symbol but those of tensor parameters")
    return used(scope, loose[-1 - scope.index(len(loose))])


def used(scope: Scope, symbol: Any) -> Value:
    """Bind something whose type, or shape argument, has a symbolic dim."""
    way = scope.index(8)
    high = scope.dim_range(symbol)[1]
    other = 1 + scope.index(3)
    if way == 1 and scope.has(Feature.SHAPE_EXPRESSIONS):
        return filled(scope, [scope.pick((symbol + 1, symbol * 2, symbol * other + 1))], scope.pick_dtype(None))
    if way == 2 and scope.module.permits("int64"):
        return scope.emit(op.arange(symbol), Bounds(0, high, True))
    if way == 3:
        row = scope.tensor(shape=(other,))
        return scope.emit(op.broadcast_to(row.expr, scope.shape_expr([symbol, other])), row.bounds)
    if way == 4:
        return scope.emit(scope.shape_expr([symbol, other]))
    if way == 5:
        return scope.emit(symbol * other + 1)
    if way == 6:
        row = scope.tensor(shape=(1,))
        column = scope.emit(op.broadcast_to(row.expr, scope.shape_expr([symbol])), row.bounds)
        return scope.emit(op.concat([column.expr, row.expr], 0), row.bounds)
    if way == 7:
        spread = filled(scope, [symbol, other], "float32")
        return scope.emit(op.reshape(spread.expr, scope.shape_expr([symbol * other])), spread.bounds)
    return filled(scope, [symbol, other], scope.pick_dtype(None))


def expression_dim(scope: Scope) -> Any:
    """Draw a dim computed from symbols: ``n + 1``, ``n * 2 + 1``, ``n * m``, of three and more too; at least 1."""
    n, m, k = (scope.pick(scope.frame.symbol_list) for _ in range(3))
    dims = (
        n * 2 + 1, n + 1, n * 2, n + m, n * m, tirx.max(n, 2), n + m + k, n * m + k, n + m * k * 2, (n + m) * k,
        (n + m + k) // 2, n + m % 3 + k, tirx.max(n, m) + tirx.min(m, k), n * (k + 1) + m - 1,
    )  # fmt: skip
    return dims[scope.index(len(dims))]


def expression_tensor(scope: Scope) -> Value:
    """Draw a tensor one of whose dims is an expression: a parameter, or computed."""
    if not scope.frame.symbol_list:
        symbol_parameter(scope)
    dims: list[Dim] = [expression_dim(scope), 1 + scope.index(3)][: 1 + scope.index(2)]
    dtype = scope.pick_dtype(None)
    if scope.can_add_parameter() and scope.index(2):
        return scope.parameter(scope.frame.tensor_type(dims, dtype), default_bounds(dtype))
    return filled(scope, dims, dtype)


def symbol_parameter(scope: Scope) -> Value:
    """Draw a parameter with at least one symbolic dim."""
    dtype = scope.pick_dtype(None)
    dims: list[Dim] = [scope.symbol(), *(scope.small_dim() for _ in range(scope.index(3)))]
    return scope.parameter(scope.frame.tensor_type(dims, dtype), default_bounds(dtype))


def filled(scope: Scope, dims: list[Dim], dtype: str) -> Value:
    """Bind ``full``, ``ones`` or ``zeros`` of given dims."""
    way = scope.index(3) if dtype != "bool" else 0
    shape = scope.shape_expr(dims)
    if way == 1:
        return scope.emit(op.ones(shape, dtype), Bounds(1, 1, True))
    if way == 2:
        return scope.emit(op.zeros(shape, dtype), Bounds(0, 0, True))
    return scope.emit(op.full(shape, relax.const(1, dtype), dtype), Bounds(1, 1, True))


def shape_parameter(scope: Scope) -> Value:
    """Draw a Shape parameter; its dims are symbols of the function, new ones among them."""
    dims: list[Dim] = []
    for _ in range(1 + scope.index(2)):
        if not scope.has(Feature.SYMBOLIC_SHAPES):
            dims.append(1 + scope.index(4))
        elif scope.has(Feature.SHAPE_SYMBOLS) and scope.index(2):
            dims.append(scope.frame.new_symbol(SYMBOL_RANGE))
        else:
            dims.append(scope.symbol())
    return scope.parameter(relax.ShapeType(dims))


def tuple_parameter(scope: Scope, count: int) -> Value:
    """Make a parameter that is a tuple of tensors of static shapes, which no step sees yet."""
    return scope.frame.add_tuple_parameter([_static_tensor(scope) for _ in range(count)])


def _static_tensor(scope: Scope) -> Value:
    dtype = scope.pick_dtype(None)
    ty = relax.TensorType(list(scope.draw_shape((1, 2), static=True)), dtype)
    return Value(None, ty, default_bounds(dtype))


def shape_symbol(scope: Scope) -> Value:
    """Draw a symbolic dim that only a Shape parameter defines, and something whose type uses it."""
    known = scope.frame.shape_symbols
    if known:
        return used(scope, scope.pick(known[::-1]))
    if scope.closed:
        raise Infeasible("no parameter can be added")
    symbol = scope.frame.new_symbol(SYMBOL_RANGE)
    scope.parameter(relax.ShapeType([symbol, 1 + scope.index(4)][: 1 + scope.index(2)]))
    return used(scope, symbol)


def prim_parameter(scope: Scope) -> Value:
    """Draw a primitive int64 parameter; the default domain is [1, 4]."""
    value = scope.parameter(PrimType("int64"))
    scope.frame.symbols[value.expr] = SYMBOL_RANGE
    return value


def use_shape(scope: Scope) -> Value | None:
    """Use a shape value or parameter: fill a tensor of it, reshape to it, take a tensor's shape, or compute one."""
    way = scope.index(4)
    shapes = [v for v in scope.values if v.is_shape and v.ty.values is not None]
    prims = [v for v in scope.values if v.is_prim and v.is_parameter and v.expr in scope.frame.symbols]
    dtype = "float32"
    if way == 0 and shapes:
        shape = shapes[-1 - scope.index(len(shapes))]
        if scope.most_elements(shape_dims(shape)) <= MAX_ELEMENTS:
            made = scope.emit(op.full(shape.expr, relax.const(1, dtype), dtype), Bounds(1, 1, True))
            return scope.match_cast(made, shape_dims(shape)) if scope.has(Feature.MATCH_CAST) else made
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


def shape_dims(value: Value) -> list[Dim]:
    """Return the dims of a shape value that are known by its type, static ones as ``int``."""
    return [int(dim) if isinstance(dim, tirx.IntImm) else dim for dim in value.ty.values]


def leaves(value: Value, inner: set[Any]) -> bool:
    """Say whether a value may leave a branch: its type speaks of none of the symbols that were defined inside."""
    if not inner:
        return True
    if value.parts:
        return all(leaves(part, inner) for part in value.parts)
    dims = (
        value.dims
        if value.dims is not None
        else shape_dims(value)
        if (value.is_shape and value.ty.values is not None)
        else ()
    )
    return not any(symbol in inner for dim in dims if not isinstance(dim, int) for symbol in symbols_of(dim))
