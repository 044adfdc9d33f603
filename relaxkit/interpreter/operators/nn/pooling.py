"""Pooling: maxima and averages of windows, and averages of as many boxes as there shall be."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_sums
from relaxkit.interpreter.layouts import SPATIAL, arranged, canonical
from relaxkit.interpreter.registry import Array, Request, Unsupported, is_float, semantics
from relaxkit.interpreter.windows import Sliding, padded, sliding, widened, windows

_DIMENSIONS = {f"relax.nn.{kind}_pool{count}d": count for kind in ("max", "avg", "adaptive_avg") for count in SPATIAL}


@semantics("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def max_pool(request: Request) -> Any:
    """Return the greatest element that a window meets; padding never is the greatest, and of NaN nothing is said."""
    spatial = SPATIAL[_DIMENSIONS[request.name]]
    data = request.wide(0)
    if data.dtype.kind == "b":
        raise Unsupported("maximum of booleans")
    data = canonical(data, str(request.attr("layout")), "NC" + spatial)
    along = sliding_over(request, data.shape[2:])
    request.undefined(meets(along) == 0, "window of padding alone")
    request.undefined(np.isnan(data) if is_float(data.dtype.name) else False, "maximum of NaN")
    view = windows(padded(data, along, least(data.dtype)), along)
    made = request.cast(view.max(axis=tuple(range(-len(along), 0))))
    return arranged(made, "NC" + spatial, str(request.attr("out_layout")))


@semantics("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def avg_pool(request: Request) -> Any:
    """Return the sum that a window meets by the number of elements, with or without those of padding.

    Beyond padding, where ``ceil_mode`` lets a window reach, there is nothing to count (as PyTorch and ONNX define it).
    Integers are divided towards zero (as PyTorch).
    """
    spatial = SPATIAL[_DIMENSIONS[request.name]]
    data = canonical(_summable(request), str(request.attr("layout")), "NC" + spatial)
    along = sliding_over(request, data.shape[2:])
    count = divisor(request, along)
    request.undefined(count == 0, "window of padding alone")
    view, axes = windows(padded(data, along), along), tuple(range(-len(along), 0))
    require_sums(request, view, axes)
    sums = view.sum(axis=axes, dtype=data.dtype)
    return arranged(request.cast(_quotient(sums, count)), "NC" + spatial, str(request.attr("out_layout")))


@semantics("nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d")
def adaptive_avg_pool(request: Request) -> Any:
    """Return averages of boxes that cover an axis evenly: from ``floor(i * n / m)`` to ``ceil((i + 1) * n / m)``.

    Integers are divided towards zero, as those of other averages.
    """
    spatial = SPATIAL[_DIMENSIONS[request.name]]
    data = canonical(_summable(request), str(request.attr("layout")), "NC" + spatial)
    require_sums(request, data, tuple(range(2, data.ndim)))
    given = request.integers("output_size")
    targets = data.shape[2:] if given is None else widened(given, len(spatial))
    request.undefined(0 in data.shape[2:] and 0 not in targets, "averages of nothing")
    sums, counts = data, []
    for axis, target in enumerate(targets, 2):
        extent = data.shape[axis]
        places = np.arange(target)
        begin, end = places * extent // target, -(-(places + 1) * extent // target)
        # Behind the last element there is one that no box reads, so that a box may end there.
        behind = [(0, 1 if at == axis else 0) for at in range(sums.ndim)]
        boxes = np.stack([begin, end], axis=1).reshape(-1)
        sums = np.add.reduceat(np.pad(sums, behind), boxes, axis=axis)
        sums = sums[(slice(None),) * axis + (slice(None, None, 2),)]
        counts.append(end - begin)
    return arranged(request.cast(_quotient(sums, _outer(counts))), "NC" + spatial, str(request.attr("out_layout")))


def sliding_over(request: Request, extents: Sequence[int]) -> tuple[Sliding, ...]:
    """Return the windows of a pool over the spatial axes."""
    return sliding(request, extents, request.integers("pool_size") or (), bool(request.attr("ceil_mode")))


@functools.lru_cache(maxsize=1024)
def meets(along: tuple[Sliding, ...], padding: bool = False) -> Array:
    """Return how many elements, with or without those of padding, each window meets; read-only."""
    made = _outer([each.met(padding) for each in along])
    made.setflags(write=False)
    return made


def divisor(request: Request, along: tuple[Sliding, ...]) -> Array:
    """Return what the sum of each window is divided by."""
    return meets(along, bool(request.attr("count_include_pad")))


def least(dtype: np.dtype[Any]) -> Any:
    """Return the least number of a dtype."""
    return -np.inf if is_float(dtype.name) else np.iinfo(dtype).min


def _quotient(sums: Array, counts: Array) -> Array:
    """Return averages; those of integers are rounded towards zero."""
    if is_float(sums.dtype.name):
        return np.asarray(sums / counts.astype(sums.dtype))
    return np.asarray(np.sign(sums) * (abs(sums) // counts))


def _summable(request: Request) -> Array:
    data = request.wide(0)
    return data if is_float(data.dtype.name) else data.astype("int64")


def _outer(counts: Sequence[Array]) -> Array:
    """Return products of one number for each axis."""
    return functools.reduce(operator.mul, np.ix_(*counts))
