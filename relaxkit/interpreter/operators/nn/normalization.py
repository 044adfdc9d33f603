"""Normalizations: batch, layer, root mean square, group and instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_sums
from relaxkit.interpreter.registry import Array, Request, Unsupported, numpy_dtype, semantics

_ANY_FLOAT = 1e38
"""Within float32 and float64."""


@semantics("nn.batch_norm", compared=False)
def batch_norm(request: Request) -> Any:
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` along the axis of channels, and the running statistics.

    In training the statistics are the batch's own, the variance that of the population, and the running ones become
    ``(1 - momentum) * running + momentum * batch``: TVM's docstring has the two factors the other way round, which the
    default momentum of 0.1 contradicts, as do PyTorch and ``DecomposeOpsForTraining``.
    """
    x, gamma, beta, mean, variance = (request.wide(index) for index in range(5))
    running_mean, running_variance = request.args[3:5]
    axis = request.integer("axis") % x.ndim
    if request.attr("training", True):
        others = tuple(place for place in range(x.ndim) if place != axis)
        momentum = request.attr("momentum")
        request.undefined(any(x.shape[place] == 0 for place in others), "statistics of no elements")
        _require_squares(request, x, others)
        batch_mean, batch_variance = x.mean(axis=others), x.var(axis=others)
        running_mean = (1 - momentum) * mean + momentum * batch_mean
        running_variance = (1 - momentum) * variance + momentum * batch_variance
        mean, variance = batch_mean, batch_variance
    made = (x - _along(mean, [axis], x.ndim)) / np.sqrt(_along(variance, [axis], x.ndim) + request.attr("epsilon"))
    made = _scaled_and_shifted(request, made, gamma, beta, [axis])
    values = (made, running_mean, running_variance)
    dtypes = [numpy_dtype(str(field.dtype), request.precision) for field in request.type.fields]
    return tuple(np.asarray(value).astype(dtype, copy=False) for value, dtype in zip(values, dtypes, strict=True))


@semantics("nn.layer_norm", compared=False)
def layer_norm(request: Request) -> Any:
    """Normalized over some axes; scale and shift have these axes, in the order that the attribute names them."""
    x, gamma, beta = (request.wide(index) for index in range(3))
    axes = _axes(request, "axes", x.ndim)
    made = _normalized(request, x, tuple(axes))
    return request.cast(_scaled_and_shifted(request, made, gamma, beta, axes))


@semantics("nn.rms_norm", compared=False)
def rms_norm(request: Request) -> Any:
    """``x / sqrt(mean(x * x) + epsilon) * weight`` over some axes."""
    x, weight = request.wide(0), request.wide(1)
    axes = _axes(request, "axes", x.ndim)
    _require_squares(request, x, tuple(axes))
    squares = np.mean(x * x, axis=tuple(axes), keepdims=True)
    return request.cast(x / np.sqrt(squares + request.attr("epsilon")) * _along(weight, axes, x.ndim))


@semantics("nn.group_norm", compared=False)
def group_norm(request: Request) -> Any:
    """Channels in groups, each normalized over its channels and some other axes; a scale and shift for each channel."""
    x, gamma, beta = (request.wide(index) for index in range(3))
    (channel,) = _places([request.integer("channel_axis")], x.ndim)
    groups, channels = request.integer("num_groups"), x.shape[channel]
    if channels % groups:
        raise Unsupported("channels that are not divided into groups")
    shape = (*x.shape[:channel], groups, channels // groups, *x.shape[channel + 1 :])
    axes = [place + (place > channel) for place in _axes(request, "axes", x.ndim) if place != channel]
    made = _normalized(request, x.reshape(shape), (*axes, channel + 1)).reshape(x.shape)
    return request.cast(_scaled_and_shifted(request, made, gamma, beta, [channel]))


@semantics("nn.instance_norm", compared=False)
def instance_norm(request: Request) -> Any:
    """Normalized over some axes; a scale and shift for each channel."""
    x, gamma, beta = (request.wide(index) for index in range(3))
    (channel,) = _places([request.integer("channel_axis")], x.ndim)
    made = _normalized(request, x, tuple(_axes(request, "axes", x.ndim)))
    return request.cast(_scaled_and_shifted(request, made, gamma, beta, [channel]))


def _normalized(request: Request, x: Array, axes: tuple[int, ...]) -> Array:
    """``(x - mean) / sqrt(variance + epsilon)``, the variance that of the population."""
    _require_squares(request, x, axes)
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + request.attr("epsilon")))


def _require_squares(request: Request, x: Array, axes: tuple[int, ...]) -> None:
    """Squares are summed in float32 at least."""
    greatest = float(np.abs(x).max(initial=0))
    if greatest * greatest * x.size <= _ANY_FLOAT:
        return
    declared, squares = request.declared(0), np.square(x, dtype="float64")
    request.undefined(np.isinf(squares) & np.isfinite(x), "sum that may overflow")
    require_sums(request, squares, axes, declared if declared == "float64" else "float32")


def _scaled_and_shifted(request: Request, x: Array, gamma: Array, beta: Array, axes: Sequence[int]) -> Array:
    if request.attr("scale"):
        x = x * _along(gamma, axes, x.ndim)
    return x + _along(beta, axes, x.ndim) if request.attr("center") else x


def _along(value: Array, axes: Sequence[int], rank: int) -> Array:
    """Return a tensor whose axes are these of another, made to broadcast with that one."""
    ascending = value.transpose(np.argsort(axes))
    return np.expand_dims(ascending, tuple(place for place in range(rank) if place not in axes))


def _axes(request: Request, name: str, rank: int) -> list[int]:
    return _places(request.integers(name) or (), rank)


def _places(axes: Sequence[int], rank: int) -> list[int]:
    return [axis % rank for axis in axes]
