"""Idioms: small pieces of code that make particular passes act, planted among random code."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax, tirx

from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.results import as_tuple
from strategies.scope import Scope
from strategies.values import Dim, Value

op = relax.op

FLOATS = ("float32", "float64")
_UNIT = Bounds(-2.0, 2.0)


def plant(scope: Scope) -> Value:
    """Plant one idiom."""
    idiom = scope.pick(IDIOMS)
    scope.renew()
    return idiom(scope)


def _matrix(scope: Scope) -> Value:
    return scope.tensor(dtypes=FLOATS, ranks=(2,), bounds=_UNIT, where=lambda v: _plain(scope, v))


def _plain(scope: Scope, value: Value) -> bool:
    return all(scope.dim_range(dim)[0] > 0 and scope.dim_range(dim)[1] <= 16 for dim in value.dims or ())


def _with(scope: Scope, dims: list[Dim], like: Value) -> Value:
    """A matrix of given dims, a weight where the function has some that fit."""
    return scope.tensor(dtypes=(like.dtype,), shape=dims, bounds=_UNIT)


def _product(scope: Scope, left: Value, right: Value) -> Value:
    """``matmul`` with the bounds of a sum of products."""
    depth = scope.dim_range((left.dims or (1,))[-1])[1]
    return scope.emit(op.matmul(left.expr, right.expr), (left.known * right.known).up_to(depth).rounded())


def _dims(value: Value) -> tuple[Dim, ...]:
    return value.dims or ()


def matmul_chain(scope: Scope) -> Value:
    """``(a @ b) @ x`` or ``a @ (b @ x)`` with a narrow middle (AdjustMatmulOrder)."""
    a = _matrix(scope)
    b = _with(scope, [_dims(a)[1], 8], a)
    c = _with(scope, [8, 1 + scope.index(3)], a)
    if scope.index(2):
        return _product(scope, _product(scope, a, b), c)
    return _product(scope, a, _product(scope, b, c))


def parallel_matmuls(scope: Scope) -> Value:
    """Two or three matmuls of one left side, with or without bias (CombineParallelMatmul)."""
    x = _matrix(scope)
    biased = scope.index(2) == 1
    made = []
    for _ in range(2 + scope.index(2)):
        width = 1 + scope.index(4)
        out = _product(scope, x, _with(scope, [_dims(x)[1], width], x))
        if biased:
            bias = _with(scope, [width], x)
            out = scope.emit(op.add(out.expr, bias.expr), (out.known + bias.known).rounded())
        made.append(out)
    if scope.index(2) and scope.has(Feature.TUPLES):
        return scope.emit(as_tuple(made), parts=made)
    return made[-1]


def matmul_of_sum(scope: Scope) -> Value:
    """``x @ (a + b)`` (ExpandMatmulOfSum)."""
    x = _matrix(scope)
    a = _with(scope, [_dims(x)[1], 3], x)
    b = _with(scope, [_dims(x)[1], 3], x)
    return _product(scope, x, scope.emit(op.add(a.expr, b.expr), (a.known + b.known).rounded()))


def transposed_matmul(scope: Scope) -> Value:
    """``x @ w.T``, the transposed value used once or twice (FuseTransposeMatmul)."""
    x = _matrix(scope)
    w = _with(scope, [3, _dims(x)[1]], x)
    turned = scope.emit(op.permute_dims(w.expr), w.bounds)
    out = _product(scope, x, turned)
    if scope.index(3) < 2:
        scope.values.remove(turned)
    return out


def take_then_matmul(scope: Scope) -> Value:
    """``x @ take(w, i, axis=1)`` (ReorderTakeAfterMatmul)."""
    x = _matrix(scope)
    w = _with(scope, [_dims(x)[1], 4], x)
    indices = scope.tensor(dtypes=("int64",), shape=(2,), bounds=Bounds(0, 3, True))
    return _product(scope, x, scope.emit(op.take(w.expr, indices.expr, axis=1), w.bounds))


def concat_of_permutes(scope: Scope) -> Value:
    """``concat`` of transposed matrices (ReorderPermuteDimsAfterConcat)."""
    a = _matrix(scope)
    b = _with(scope, list(_dims(a)), a)
    turned = [scope.emit(op.permute_dims(v.expr, [1, 0]), v.bounds) for v in (a, b)]
    bounds = a.known.union(b.known)
    return scope.emit(op.concat([v.expr for v in turned], axis=scope.index(2)), bounds)


def reshape_twice(scope: Scope) -> Value:
    """Reshape of a reshape, or to the same shape (RemoveRedundantReshape)."""
    value = scope.tensor(ranks=(1, 2, 3), where=lambda v: _plain(scope, v))
    size: Dim = 1
    for dim in _dims(value):
        size = size * dim
    flat = scope.emit(op.reshape(value.expr, relax.ShapeExpr([size])), value.bounds)
    back = relax.ShapeExpr(list(_dims(value)))
    made = scope.emit(op.reshape(flat.expr, back), value.bounds)
    return scope.emit(op.reshape(made.expr, back), value.bounds) if scope.index(2) else made


def conv_and_norm(scope: Scope) -> Value:
    """``conv2d`` and ``batch_norm`` for inference, with constants or parameters (FoldBatchnormToConv2D)."""
    channels = 1 + scope.index(3)
    data = scope.tensor(dtypes=("float32",), shape=(1, 2, 4, 4), bounds=_UNIT)
    constant = scope.has(Feature.CONSTANTS)

    def get(shape: list[int], bounds: Bounds) -> Value:
        if constant:
            return scope.constant(shape, "float32", bounds)
        return scope.tensor(dtypes=("float32",), shape=shape, bounds=bounds)

    kernel = get([channels, 2, 3, 3], Bounds(-1.0, 1.0))
    padding = scope.index(2)
    out = scope.emit(op.nn.conv2d(data.expr, kernel.expr, padding=(padding, padding)), Bounds(-40.0, 40.0))
    scale, shift, mean = (get([channels], Bounds(-1.0, 1.0)) for _ in range(3))
    variance = get([channels], Bounds(0.5, 2.0))
    normed = op.nn.batch_norm(
        out.expr, scale.expr, shift.expr, mean.expr, variance.expr, axis=1, epsilon=1e-5, training=False
    )
    parts = [
        Value(None, ty.ty, b)
        for ty, b in ((out, Bounds(-64.0, 64.0)), (mean, mean.bounds), (variance, variance.bounds))
    ]
    whole = scope.emit(normed, parts=parts)
    return scope.emit(relax.TupleGetItem(whole.expr, 0), part_of=whole)


def layout_pair(scope: Scope) -> Value:
    """``layout_transform`` and its inverse (OptimizeLayoutTransform)."""
    value = scope.tensor(ranks=(2,), dtypes=("float32", "int32"), static=True)
    turn = tirx.IndexMap.from_func(lambda i, j: (j, i), index_dtype="int64")
    there = scope.emit(op.layout_transform(value.expr, index_map=turn), value.bounds)
    return scope.emit(op.layout_transform(there.expr, index_map=turn), value.bounds)


def used_twice(scope: Scope) -> Value:
    """A call whose result is used twice."""
    value = scope.tensor(dtypes=FLOATS, bounds=_UNIT)
    made = scope.emit(op.tanh(value.expr), Bounds(-1.0, 1.0))
    left = scope.emit(op.add(made.expr, value.expr), Bounds(-3.25, 3.25))
    return scope.emit(op.multiply(left.expr, made.expr), Bounds(-3.5, 3.5))


def approximated(scope: Scope) -> Value:
    """What FastMathTransform replaces: exp, tanh, softmax."""
    value = scope.tensor(dtypes=("float32",), ranks=(1, 2, 3), bounds=_UNIT, where=lambda v: _plain(scope, v))
    way = scope.index(3)
    if way == 0:
        return scope.emit(op.exp(value.expr), Bounds(0.125, 8.0))
    if way == 1:
        return scope.emit(op.tanh(value.expr), Bounds(-1.0, 1.0))
    return scope.emit(op.nn.softmax(value.expr, axis=-1), Bounds(0.0, 1.015625))


def in_place_food(scope: Scope) -> Value:
    """Elementwise operators on temporaries that die at once (DataflowUseInplaceCalls)."""
    value = scope.tensor(dtypes=FLOATS, bounds=_UNIT)
    first = scope.emit(op.add(value.expr, value.expr), Bounds(-4.0625, 4.0625))
    scope.values.remove(first)
    second = scope.emit(op.multiply(first.expr, value.expr), Bounds(-8.25, 8.25))
    scope.values.remove(second)
    return scope.emit(op.subtract(second.expr, value.expr), Bounds(-10.5, 10.5))


def folded_scalars(scope: Scope) -> Value:
    """Constants to fold around a value: ``x + (1 + 2)``."""
    value = scope.tensor(dtypes=("float32", "int32"), bounds=Bounds(-3.0, 3.0))
    total = scope.emit(op.add(relax.const(1, value.dtype), relax.const(2, value.dtype)), Bounds(3, 3, True))
    return scope.emit(op.add(value.expr, total.expr), Bounds(-0.015625, 6.0625, value.dtype == "int32"))


def explicit_dims(scope: Scope) -> Value:
    """Uses a dim of the function explicitly, as legalized private functions do (InlinePrivateFunctions)."""
    value = scope.tensor(dtypes=FLOATS, ranks=(1, 2), bounds=_UNIT)
    filled = scope.emit(
        op.full(relax.ShapeExpr(list(_dims(value))), relax.const(1, value.dtype), value.dtype), Bounds(1, 1, True)
    )
    return scope.emit(op.add(value.expr, filled.expr), Bounds(-1.0625, 3.0625))


IDIOMS: tuple[Callable[[Scope], Value], ...] = (
    used_twice,
    matmul_chain,
    parallel_matmuls,
    matmul_of_sum,
    transposed_matmul,
    take_then_matmul,
    concat_of_permutes,
    reshape_twice,
    conv_and_norm,
    layout_pair,
    approximated,
    in_place_food,
    folded_scalars,
    explicit_dims,
)
