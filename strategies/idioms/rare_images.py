"""A rare idiom for ConvertLayout: a convolution, and operators that ask which layout their operand has."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from strategies.constructs import shapes
from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import UNIT, added, joined, relu, tensor, times
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

TABLE = IdiomTable()

_SIDE = 4
"""Rows and columns of images."""
_IMAGES = ((1, 4, _SIDE, _SIDE), (1, 8, _SIDE, _SIDE))
_REACH = Bounds(-4.0, 4.0).rounded()


Step = Callable[[Scope, Value], Value]


def _same(call: Callable[[object], object]) -> Step:
    """Return a step whose elements are those of its operand."""
    return lambda scope, value: scope.emit(call(value.expr), value.bounds)


def _softmax(scope: Scope, value: Value) -> Value:
    return scope.emit(op.nn.softmax(value.expr, axis=scope.pick((1, -1))), Bounds(0.0, 1.0).rounded())


def _broadcast(scope: Scope, value: Value) -> Value:
    """Bind the sum, or the greater one, of an image and what is spread over it."""
    channels = int(value.shape[1])
    beside = ((1, channels, 1, 1), (channels, 1, 1), (1,), (_SIDE,), (1, 1, _SIDE, _SIDE), (1, channels, _SIDE, _SIDE))
    shape = scope.pick(beside)
    if any(a not in (1, b) for a, b in zip(shape[::-1], tuple(value.shape)[::-1], strict=False)):
        return relu(scope, value)
    other = tensor(scope, shape)
    if scope.flip():
        return scope.emit(op.maximum(other.expr, value.expr), value.known.union(other.known))
    return added(scope, value, other) if scope.flip() else added(scope, other, value)


def _selected(scope: Scope, value: Value) -> Value:
    """Bind ``where`` of an image, its comparison and a scalar."""
    if scope.forbids(Feature.BOOLEANS):
        return relu(scope, value)
    mask = scope.emit(op.greater(value.expr, relax.const(0.0, "float32")))
    return scope.emit(op.where(mask.expr, value.expr, relax.const(0.5, "float32")), value.known.including(0.5))


def _normalized(scope: Scope, value: Value) -> Value:
    channels = int(value.shape[1])
    if scope.flip():
        axes = scope.pick(([-2, -1], [1], [-1]))
        dims = [int(value.shape[axis]) for axis in axes]
        call = op.nn.layer_norm(value.expr, tensor(scope, dims).expr, tensor(scope, dims).expr, axes=axes, epsilon=0.5)
        return scope.emit(call, Bounds(-16.0, 16.0))
    value = scope.guard(value, UNIT)
    scale, shift, mean = (tensor(scope, [channels]) for _ in range(3))
    variance = tensor(scope, [channels], Bounds(0.5, 2.0))
    call = op.nn.batch_norm(value.expr, scale.expr, shift.expr, mean.expr, variance.expr, axis=1, training=False)
    reach = Bounds(-16.0, 16.0)
    parts = [Value(None, value.ty, reach), Value(None, mean.ty, mean.bounds), Value(None, mean.ty, variance.bounds)]
    return scope.item(scope.emit(call, parts=parts), 0)


def _joined(scope: Scope, value: Value) -> Value:
    """Bind an image beside another one, or its halves in turn."""
    axis = scope.pick((1, 1, 2, -1))
    both = scope.emit(op.concat([value.expr, relu(scope, value).expr], axis), value.known.including(0.0))
    if scope.index(3) == 2:
        return both
    types = [Value(None, value.ty, both.bounds)] * 2
    halves = scope.emit(op.split(both.expr, 2, axis), parts=types)
    return added(scope, scope.item(halves, 0), scope.item(halves, 1))


def _cut(scope: Scope, value: Value) -> Value:
    """Bind a part of an image, its bounds known or computed."""
    if scope.flip():
        cut = op.strided_slice(value.expr, [scope.pick((1, 2, 3))], [0], [2], [1])
        return scope.emit(cut, value.bounds)
    begin, end, step = (relax.const(row, "int64") for row in ([0, 0, 0, 0], [1, 4, 2, 4], [1, 1, 1, 2]))
    return scope.emit(op.dynamic_strided_slice(value.expr, begin, end, step), value.bounds)


def _repeated(scope: Scope, value: Value) -> Value:
    axis = scope.pick((1, 3, None))
    if scope.flip():
        return scope.emit(op.repeat(value.expr, 2, axis), value.bounds)
    return scope.emit(op.tile(value.expr, scope.pick(((2, 1, 1), (1, 1, 2, 1), (2, 1, 1, 1, 1)))), value.bounds)


def _written(scope: Scope, value: Value) -> Value:
    """Bind an image of which some elements are replaced, or picked."""
    shape = [int(dim) for dim in value.shape]
    way = scope.index(3)
    if way == 0:
        indices = relax.const([[0, 1], [0, 0]], "int64")
        updates = tensor(scope, [2, *shape[2:]])
        call = op.scatter_nd(value.expr, indices, updates.expr, "update")
        return scope.emit(call, value.known.union(updates.known))
    places = relax.const([[[[2, 1, 0, 3]]]], "int64")
    if way == 1:
        updates = tensor(scope, [1, 1, 1, 4])
        call = op.scatter_elements(value.expr, places, updates.expr, axis=3, reduction="update")
        return scope.emit(call, value.known.union(updates.known))
    return scope.emit(op.gather_elements(value.expr, places, axis=3), value.bounds)


def _reduced(scope: Scope, value: Value) -> Value:
    reduce = scope.pick((op.max, op.mean, op.min))
    return scope.emit(reduce(value.expr, scope.pick(([1], [2, 3], [-1], None)), scope.flip()), value.bounds)


def _stretched(scope: Scope, value: Value) -> Value:
    """Bind an image with a dim more, and without it again."""
    more = scope.emit(op.expand_dims(value.expr, scope.pick(([0], [2], [-1, 1]))), value.bounds)
    return scope.emit(op.squeeze(more.expr), value.bounds) if scope.flip() else more


def _cast(scope: Scope, value: Value) -> Value:
    """Bind a cast of an image to its own dims, or to new symbols."""
    dims = shapes._renamed(scope, value.shape)
    return shapes.learn(scope, value, dims)


_IMAGE: tuple[Step, ...] = (
    relu, _softmax, _broadcast, _broadcast, _selected, _normalized, _joined, _cut, _repeated, _written, _written,
    _reduced, _stretched, _cast,
    _same(lambda value: op.nn.max_pool2d(value, (2, 2), padding=(0, 0, 1, 1), ceil_mode=True)),
    _same(lambda value: op.nn.avg_pool2d(value, (2, 2), strides=(2, 2))),
    _same(lambda value: op.nn.adaptive_avg_pool2d(value, (2, 2))),
    _same(lambda value: op.image.resize2d(value, (8, 8), method="nearest_neighbor")),
    _same(lambda value: op.flip(value, axis=2)),
    _same(lambda value: op.permute_dims(value, [0, 2, 3, 1])),
    lambda scope, value: scope.emit(op.tanh(value.expr), Bounds(-1.0, 1.0).rounded()),
    lambda scope, value: times(scope, value, scope.scalar(0.5, "float32")),
)  # fmt: skip
"""What may follow a convolution; the operators that ask which layout their operand has."""


@TABLE.idiom("ConvertLayout", needs=(Feature.CONSTANTS, Feature.MATCH_CAST), weight=6)
def image_network(scope: Scope) -> Value:
    """Plant a convolution of four or eight channels, and four operators or more on the images that it gives."""
    data = tensor(scope, [1, 4, _SIDE, _SIDE])
    if scope.index(4) == 3:
        data = scope.emit(op.image.resize2d(data.expr, (_SIDE, _SIDE), method="nearest_neighbor"), data.bounds)
    image = scope.emit(op.nn.conv2d(data.expr, tensor(scope, [4 + 4 * scope.index(2), 4, 1, 1]).expr), _REACH)
    others = []
    for _ in range(4 + scope.index(4)):
        scope.renew()
        made = scope.pick(_IMAGE)(scope, image)
        if made.dims is not None and tuple(made.shape) in _IMAGES:
            image = made
        else:
            others.append(made)
    return joined(scope, [image, *others])
