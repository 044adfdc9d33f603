"""Idioms of convolutions and normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tvm import relax

from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import UNIT, added, constant, new_parameter, relu, tensor
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

Get = Callable[[Scope, Sequence[int], Bounds], Value]
_ONE = Bounds(-1.0, 1.0)
_SOME = Bounds(-8.0, 8.0)

TABLE = IdiomTable()


def _data(scope: Scope) -> Value:
    return scope.tensor(dtypes=("float32",), shape=(1, 2, 4, 4), bounds=_SOME)


def _constant(scope: Scope, shape: Sequence[int], bounds: Bounds) -> Value:
    return constant(scope, shape, "float32", bounds)


def _conv(scope: Scope, data: Value, get: Get = tensor, channels: int = 0) -> Value:
    """Bind ``conv2d`` of two or three channels, 3 by 3 or 1 by 1."""
    channels, side = channels or 2 + scope.index(2), 1 + 2 * scope.index(2)
    kernel = get(scope, [channels, 2, side, side], _ONE)
    padding = (side // 2,) * 2
    reach = data.known.magnitude * 2 * side * side
    call = op.nn.conv2d(data.expr, kernel.expr, padding=padding)
    return scope.emit(call, Bounds(-reach, reach).rounded())


def _norm(
    scope: Scope, value: Value, get: Get = tensor, axis: int = 1, training: bool = False, first: Get | None = None
) -> Value:
    """Bind ``batch_norm``, its scale from ``first`` where that is given; gives the tuple."""
    channels = int(value.shape[axis])
    scale = (first or get)(scope, [channels], _ONE)
    shift, mean = (get(scope, [channels], _ONE) for _ in range(2))
    variance = get(scope, [channels], Bounds(0.5, 2.0))
    # Inference divides by a root of at least 0.7; in training the result is bounded by the root of the count.
    reach = 8.0 if training else (value.known.magnitude + 1.0) * 1.5 + 1.0
    call = op.nn.batch_norm(
        value.expr, scale.expr, shift.expr, mean.expr, variance.expr, axis=axis, epsilon=1e-2, training=training
    )
    # What training makes of the running statistics is a mixture of those and of the batch's own.
    moving = Bounds(-value.known.magnitude - 2.0, value.known.magnitude + 2.0)
    spread = Bounds(0.0, value.known.magnitude**2 + 2.0)
    parts = [
        Value(None, value.ty, Bounds(-reach, reach).rounded()),
        Value(None, mean.ty, moving if training else mean.bounds),
        Value(None, variance.ty, spread if training else variance.bounds),
    ]
    return scope.emit(call, parts=parts)


def _parameter(scope: Scope, shape: Sequence[int], bounds: Bounds) -> Value:
    return scope.guard(new_parameter(scope, shape, "float32"), bounds)


@TABLE.idiom(
    "FoldBatchnormToConv2D",
    needs=(Feature.CONSTANTS,),
    also_for=("DecomposeOpsForInference", "DecomposeOpsForTraining"),
)
def conv_and_norm(
    scope: Scope,
    weight: Get = _constant,
    scale: Get = _constant,
    channels: int = 0,
    axis: int = 1,
    between: Callable[[Scope, Value], Value] = lambda scope, value: value,
) -> Value:
    """Plant ``conv2d`` of constants, and ``batch_norm`` of constants for inference."""
    out = between(scope, _conv(scope, _data(scope), weight, channels))
    return scope.item(_norm(scope, out, _constant, axis, first=scale), 0)


TABLE.near_miss("norm_of_parameters")(partial(conv_and_norm, scale=_parameter))
TABLE.near_miss("conv_of_parameters")(partial(conv_and_norm, weight=_parameter))
TABLE.near_miss("something_between")(partial(conv_and_norm, between=relu))
# Along the rows and not the channels: a fold along the channels would be wrong.
TABLE.near_miss("other_axis", defect="folds along the channels, whatever the axis is")(
    partial(conv_and_norm, channels=4, axis=2)
)


@TABLE.idiom("DecomposeOpsForInference")
def norm_for_inference(scope: Scope) -> Value:
    """Plant ``batch_norm`` alone."""
    value = scope.tensor(dtypes=("float32",), ranks=(2, 3, 4), static=True, bounds=_SOME, where=_positive)
    return scope.item(_norm(scope, value, axis=scope.pick((1, 1, value.rank - 1, 0))), 0)


@TABLE.near_miss("group_norm")
def norm_of_groups(scope: Scope) -> Value:
    """Plant ``group_norm``, which nothing takes apart."""
    value = _data(scope)
    scale, shift = tensor(scope, [2], _ONE), tensor(scope, [2], _ONE)
    call = op.nn.group_norm(value.expr, scale.expr, shift.expr, num_groups=1, channel_axis=1, axes=[2, 3], epsilon=1e-2)
    return scope.emit(call, Bounds(-8.0, 8.0))


def _positive(value: Value) -> bool:
    return all(isinstance(dim, int) and 0 < dim <= 8 for dim in value.shape)


@TABLE.idiom("DecomposeOpsForTraining")
def norm_for_training(scope: Scope) -> Value:
    """Plant ``batch_norm`` of the batch's own statistics, or ``layer_norm``."""
    value = scope.tensor(dtypes=("float32",), ranks=(2, 3, 4), static=True, bounds=UNIT, where=_positive)
    if scope.index(2):
        last = int(value.shape[-1])
        scale, shift = tensor(scope, [last], _ONE), tensor(scope, [last], _ONE)
        call = op.nn.layer_norm(value.expr, scale.expr, shift.expr, axes=[-1], epsilon=1e-2)
        return scope.emit(call, Bounds(-8.0, 8.0))
    return scope.item(_norm(scope, value, training=True), scope.index(3))


TABLE.near_miss("group_norm")(norm_of_groups)


@TABLE.idiom("ConvertLayout", "ToMixedPrecision")
def conv_chain(scope: Scope) -> Value:
    """Plant a convolution, and behind it biases, activations, scalars, pooling and means."""
    value = _conv(scope, scope.guard(_data(scope), UNIT))
    for _ in range(1 + scope.index(3)):
        channels = int(value.shape[1])
        way = scope.index(6)
        if way == 0:
            value = relu(scope, value)
        elif way == 1:
            value = added(scope, value, tensor(scope, [1, channels, 1, 1], _ONE))
        elif way == 2:
            value = added(scope, value, scope.scalar(1.0, "float32"))
        elif way == 3:
            value = scope.emit(op.nn.max_pool2d(value.expr, (2, 2), (1, 1), (0, 0, 1, 1)), value.bounds)
        elif way == 4:
            value = scope.emit(op.mean(value.expr, axis=[2, 3], keepdims=True), value.bounds)
        else:
            value = added(scope, value, tensor(scope, [4], _ONE)) if value.shape[-1] == 4 else value
    return value


@TABLE.near_miss("no_conv")
def elementwise_image(scope: Scope) -> Value:
    """Plant an image that no convolution touches."""
    value = _data(scope)
    return relu(scope, added(scope, value, value))


@TABLE.idiom("ToMixedPrecision", also_for=("ConvertLayout",))
def conv1d_chain(scope: Scope) -> Value:
    """Plant ``conv1d`` and an activation."""
    data = scope.tensor(dtypes=("float32",), shape=(1, 2, 6), bounds=_SOME)
    kernel = tensor(scope, [3, 2, 3], _ONE)
    out = scope.emit(op.nn.conv1d(data.expr, kernel.expr), Bounds(-50.0, 50.0))
    return relu(scope, out)


@TABLE.idiom("ConvertLayout", "ToMixedPrecision")
def wide_conv(scope: Scope) -> Value:
    """Plant a convolution of eight channels, which blocked layouts divide."""
    data = scope.tensor(dtypes=("float32",), shape=(1, 4, 3, 3), bounds=_SOME)
    kernel = tensor(scope, [8, 4, 1, 1], _ONE)
    out = scope.emit(op.nn.conv2d(data.expr, kernel.expr), Bounds(-34.0, 34.0))
    return relu(scope, out) if scope.index(2) else out
