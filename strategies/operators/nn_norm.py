"""Normalizations: batch, layer, group, instance and root mean square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import Bounds
from strategies.operators.drawing import FLOATS, WIDE_FLOATS, bounds_of, flip, keep, nonempty, project, shape_of
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

nn = relax.op.nn

SCALE = Bounds(-2.0, 2.0)
VARIANCE = Bounds(0.25, 4.0)
"""A running variance away from zero: its root divides."""
EPSILON = (1e-5, 1e-3, 0.0625)


def _dtypes(scope: Scope) -> tuple[str, ...]:
    """Layer, group and instance norm have no kernel for float64 ("only support float32 and float16 for now")."""
    return ("float32", "float16") if scope.executable else FLOATS


def _normalized(scope: Scope, operand: Value, dims: list[Any]) -> Bounds:
    """A normalized element is at most the root of the count of elements in magnitude; times scale, plus shift."""
    size = 2.0 * scope.most_elements(dims) ** 0.5 + 3.0
    return Bounds(-size, size)


def _calm(scope: Scope, operand: Value) -> Value:
    """Squares are summed: keep operands small enough for float16."""
    return keep(scope, operand, -16.0, 16.0)


def _vector(scope: Scope, operand: Value, shape: tuple[Any, ...], bounds: Bounds = SCALE) -> Value:
    return scope.tensor(dtypes=(operand.dtype,), shape=shape, bounds=bounds)


def draw_batch_norm(scope: Scope) -> Value | None:
    """``batch_norm``: mostly for inference; the training form, whose inference decomposition differs by design, rarely.

    The result is projected from a triple; the others are the running mean and variance.
    """
    # The float16 kernel yields float32 where inference says float16: only where nothing runs.
    dtypes = WIDE_FLOATS if scope.executable else FLOATS
    operand = _calm(scope, scope.tensor(dtypes=dtypes, ranks=(4, 2, 3), where=nonempty(scope)))
    where = 1 if scope.index(4) < 3 else operand.rank - 1
    channel = (shape_of(operand)[where],)
    gamma, beta = _vector(scope, operand, channel), _vector(scope, operand, channel)
    mean, variance = _vector(scope, operand, channel), _vector(scope, operand, channel, VARIANCE)
    training = scope.index(8) == 7
    call = nn.batch_norm(
        operand.expr, gamma.expr, beta.expr, mean.expr, variance.expr, where,
        epsilon=scope.pick(EPSILON), center=True, scale=True, momentum=scope.pick((0.1, 0.25)), training=training,
    )  # fmt: skip
    width = bounds_of(operand).magnitude + 2.0
    # Inference divides by a root of at least 1/2; training by the batch's own, which bounds by the count.
    size = max(width * 2.0 * 2.0 + 2.0, _normalized(scope, operand, list(shape_of(operand))).hi if training else 0.0)
    square = (2.0 * width) ** 2 + 4.0
    return project(scope, call, (Bounds(-size, size), Bounds(-width, width), Bounds(0.0, square)))


def draw_layer_norm(scope: Scope) -> Value | None:
    """``layer_norm`` over the last one or two axes."""
    operand = _calm(scope, scope.tensor(dtypes=_dtypes(scope), ranks=(2, 3, 1, 4), where=nonempty(scope)))
    count = scope.integer(1, min(2, operand.rank))
    dims = shape_of(operand)[operand.rank - count :]
    gamma, beta = _vector(scope, operand, dims), _vector(scope, operand, dims)
    named = [-(place + 1) for place in reversed(range(count))]
    if flip(scope):
        named = [place + operand.rank for place in named]
    call = nn.layer_norm(operand.expr, gamma.expr, beta.expr, named, scope.pick(EPSILON))
    return scope.emit(call, _normalized(scope, operand, list(dims)))


def draw_rms_norm(scope: Scope) -> Value | None:
    """``rms_norm`` over the last one or two axes; over all of them only where nothing runs: no kernel."""
    ranks = (2, 3, 4) if scope.executable else (2, 3, 1, 4)
    operand = _calm(scope, scope.tensor(dtypes=FLOATS, ranks=ranks, where=nonempty(scope)))
    count = scope.integer(1, min(2, operand.rank - 1 if scope.executable else operand.rank))
    dims = shape_of(operand)[operand.rank - count :]
    weight = _vector(scope, operand, dims)
    named = [-(place + 1) for place in reversed(range(count))]
    call = nn.rms_norm(operand.expr, weight.expr, named, scope.pick(EPSILON))
    return scope.emit(call, _normalized(scope, operand, list(dims)))


def draw_group_norm(scope: Scope) -> Value | None:
    """``group_norm``: static channels in groups, normalized over the spatial axes."""
    operand = scope.tensor(dtypes=_dtypes(scope), ranks=(3, 4), static=True, where=nonempty(scope))
    operand = _calm(scope, operand)
    channels = int(shape_of(operand)[1])
    groups = scope.pick([n for n in range(1, channels + 1) if channels % n == 0])
    gamma, beta = _vector(scope, operand, (channels,)), _vector(scope, operand, (channels,))
    spatial = list(range(2, operand.rank))
    call = nn.group_norm(operand.expr, gamma.expr, beta.expr, groups, 1, spatial, scope.pick(EPSILON))
    return scope.emit(call, _normalized(scope, operand, list(shape_of(operand)[1:])))


def draw_instance_norm(scope: Scope) -> Value | None:
    """``instance_norm`` over the spatial axes of each channel of each example."""
    operand = _calm(scope, scope.tensor(dtypes=_dtypes(scope), ranks=(3, 4), where=nonempty(scope)))
    channel = (shape_of(operand)[1],)
    gamma, beta = _vector(scope, operand, channel), _vector(scope, operand, channel)
    spatial = list(range(2, operand.rank))
    call = nn.instance_norm(operand.expr, gamma.expr, beta.expr, 1, spatial, scope.pick(EPSILON))
    return scope.emit(call, _normalized(scope, operand, list(shape_of(operand)[2:])))


ROWS = (
    OperatorRow("relax.nn.batch_norm", Family.NORM, draw_batch_norm),
    OperatorRow("relax.nn.layer_norm", Family.NORM, draw_layer_norm),
    OperatorRow("relax.nn.rms_norm", Family.NORM, draw_rms_norm),
    OperatorRow("relax.nn.group_norm", Family.NORM, draw_group_norm),
    OperatorRow("relax.nn.instance_norm", Family.NORM, draw_instance_norm),
)
