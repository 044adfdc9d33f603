"""Normalizations: batch, layer, group, instance and root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax

from strategies.operators import intervals
from strategies.operators.adapt import adapted
from strategies.operators.drawing import FLOATS, WIDE_FLOATS, project
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import Bounds
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.NORM)

nn = relax.op.nn

SCALE = Bounds(-2.0, 2.0)
VARIANCE = Bounds(0.25, 4.0)
"""A running variance away from zero: its root divides."""
EPSILON = (1e-5, 1e-3, 0.0625, 1.0)


def _dtypes(scope: Scope) -> tuple[str, ...]:
    """Return dtypes of layer, group and instance norm: "only support float32 and float16 for now"."""
    return ("float32", "float16") if scope.executable else FLOATS


def _normalized(scope: Scope, dims: Sequence[Any]) -> Bounds:
    """Bound a normalized element: by the root of the count of elements in magnitude, times scale, plus shift."""
    size = 2.0 * scope.most_elements(dims) ** 0.5 + 3.0
    return Bounds(-size, size)


def _calm(scope: Scope, operand: Value) -> Value:
    """Keep an operand whose squares are summed small enough for float16."""
    return scope.keep(operand, -16.0, 16.0)


def _vector(scope: Scope, operand: Value, shape: tuple[Any, ...], bounds: Bounds = SCALE) -> Value:
    return adapted(scope, dtypes=(operand.dtype,), shape=shape, bounds=bounds, share=16)


def _flags(scope: Scope) -> tuple[bool, bool]:
    """Return ``center`` and ``scale``: both mostly, and each other pair."""
    return scope.pick(((True, True), (True, True), (True, False), (False, True), (False, False)))


def _named(scope: Scope, places: Sequence[int], rank: int) -> list[int]:
    """Return axes counted from the front or from the back, in their order."""
    return [place - rank for place in places] if scope.flip() else list(places)


@ROWS.row("nn.batch_norm")
def draw_batch_norm(scope: Scope) -> Value | None:
    """Draw ``batch_norm``: mostly for inference, rarely for training, which decomposes otherwise by design.

    The result is projected from a triple; the others are the running mean and variance.
    """
    # TVM defect: the float16 kernel yields float32 where inference says float16.
    dtypes = WIDE_FLOATS if scope.executable else FLOATS
    operand = _calm(scope, adapted(scope, dtypes=dtypes, ranks=(4, 2, 3, 5, 1), where=scope.nonempty))
    training = scope.index(8) == 7
    where = scope.axis(operand.rank) if scope.index(4) == 3 else min(1, operand.rank - 1)
    if training and scope.executable:
        where %= operand.rank  # TVM defect: a negative axis fails ("list.remove(x): x not in list")
    channel = (operand.shape[where],)
    gamma, beta = _vector(scope, operand, channel), _vector(scope, operand, channel)
    mean, variance = _vector(scope, operand, channel), _vector(scope, operand, channel, VARIANCE)
    center, scale = _flags(scope)
    call = nn.batch_norm(
        operand.expr, gamma.expr, beta.expr, mean.expr, variance.expr, where,
        epsilon=scope.pick(EPSILON), center=center, scale=scale, momentum=scope.pick((0.1, 0.25, 0.0, 1.0)),
        training=training,
    )  # fmt: skip
    width = operand.known.magnitude + 2.0
    # Inference divides by a root of at least 1/2; training by the batch's own, which bounds by the count.
    size = max(width * 2.0 * 2.0 + 2.0, _normalized(scope, operand.shape).hi if training else 0.0)
    square = (2.0 * width) ** 2 + 4.0
    return project(scope, call, (Bounds(-size, size), Bounds(-width, width), Bounds(0.0, square)))


@ROWS.row("nn.layer_norm", bounds=intervals.layer_norm)
def draw_layer_norm(scope: Scope) -> Value | None:
    """Draw ``layer_norm`` over the last one or two axes mostly, else over any."""
    operand = _calm(scope, adapted(scope, dtypes=_dtypes(scope), ranks=(2, 3, 1, 4, 5), where=scope.nonempty))
    rank = operand.rank
    count = scope.integer(1, min(2, rank))
    places = list(range(rank - count, rank))
    if scope.index(3) == 2:
        # TVM defect: of axes that do not ascend, scale and shift are read transposed, past their ends.
        places = sorted(place % rank for place in scope.axes(rank))
        if not scope.executable and scope.flip():
            places.reverse()
    dims = tuple(operand.shape[place] for place in places)
    gamma, beta = _vector(scope, operand, dims), _vector(scope, operand, dims)
    center, scale = _flags(scope)
    named = _named(scope, places, rank)
    call = nn.layer_norm(operand.expr, gamma.expr, beta.expr, named, scope.pick(EPSILON), center, scale)
    return scope.emit(call, _normalized(scope, dims))


@ROWS.row("nn.rms_norm", bounds=intervals.rms_norm)
def draw_rms_norm(scope: Scope) -> Value | None:
    """Draw ``rms_norm`` over trailing axes; where nothing runs over any."""
    # TVM defect: no kernel but over trailing axes that leave one ("Tensor dimension mismatch in read").
    ranks = (2, 3, 4, 5) if scope.executable else (2, 3, 1, 4, 5)
    operand = _calm(scope, adapted(scope, dtypes=FLOATS, ranks=ranks, where=scope.nonempty))
    rank = operand.rank
    places = list(range(scope.integer(max(1, rank - 3), rank - 1), rank)) if rank > 1 else [0]
    if not scope.executable and scope.flip():
        places = sorted(place % rank for place in scope.axes(rank))
    dims = tuple(operand.shape[place] for place in places)
    weight = _vector(scope, operand, dims)
    call = nn.rms_norm(operand.expr, weight.expr, _named(scope, places, rank), scope.pick(EPSILON))
    return scope.emit(call, _normalized(scope, dims))


def _channel_and_axes(scope: Scope, operand: Value) -> tuple[int, list[int]]:
    """Return the axis of channels, the second mostly, and what is normalized over: mostly the spatial axes."""
    channel = scope.index(operand.rank) if scope.index(4) == 3 else 1
    others = [place for place in range(operand.rank) if place != channel]
    if scope.index(3) < 2:
        return channel, [place for place in others if place > 1] or others[-1:]
    mask = scope.integer(1, 2 ** len(others) - 1)
    return channel, [place for index, place in enumerate(others) if mask >> index & 1]


@ROWS.row("nn.group_norm")
def draw_group_norm(scope: Scope) -> Value | None:
    """Draw ``group_norm``: channels in groups, normalized over other axes as well; of symbolic channels one group."""
    operand = _calm(scope, adapted(scope, dtypes=_dtypes(scope), ranks=(3, 4, 2, 5), where=scope.nonempty))
    channel, places = _channel_and_axes(scope, operand)
    dims = operand.shape
    channels = dims[channel]
    groups = 1
    if isinstance(channels, int):
        groups = scope.pick([n for n in range(1, channels + 1) if channels % n == 0])
    gamma, beta = _vector(scope, operand, (channels,)), _vector(scope, operand, (channels,))
    center, scale = _flags(scope)
    (named,) = _named(scope, [channel], operand.rank)
    call = nn.group_norm(
        operand.expr, gamma.expr, beta.expr, groups, named, _named(scope, places, operand.rank),
        scope.pick(EPSILON), center, scale,
    )  # fmt: skip
    return scope.emit(call, _normalized(scope, [channels, *(dims[place] for place in places)]))


@ROWS.row("nn.instance_norm")
def draw_instance_norm(scope: Scope) -> Value | None:
    """Draw ``instance_norm`` over the spatial axes of each channel of each example, or over others."""
    operand = _calm(scope, adapted(scope, dtypes=_dtypes(scope), ranks=(3, 4, 2, 5), where=scope.nonempty))
    channel, places = _channel_and_axes(scope, operand)
    dims = operand.shape
    gamma, beta = _vector(scope, operand, (dims[channel],)), _vector(scope, operand, (dims[channel],))
    center, scale = _flags(scope)
    # TVM defect: a negative axis of channels fails ("Index -1 out of bounds").
    named = channel - operand.rank if not scope.executable and scope.flip() else channel
    call = nn.instance_norm(
        operand.expr, gamma.expr, beta.expr, named, _named(scope, places, operand.rank), scope.pick(EPSILON),
        center, scale,
    )  # fmt: skip
    return scope.emit(call, _normalized(scope, [dims[place] for place in places]))
