"""Convolutions and transposed convolutions, in the canonical layout, whatever the layouts of their operands."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_inner_products
from relaxkit.interpreter.layouts import SPATIAL, arranged, canonical
from relaxkit.interpreter.registry import Array, Request, Undefined, Unsupported, is_float, semantics
from relaxkit.interpreter.windows import every, padded, sides, sliding, trailing, windows

_DIMENSIONS = {f"relax.nn.conv{count}d{form}": count for count in SPATIAL for form in ("", "_transpose")}


@semantics("nn.conv1d", "nn.conv2d", "nn.conv3d")
def convolution(request: Request) -> Any:
    """``out[n, o, y] = sum(data[n, i, y * stride + tap * dilation] * weight[o, i, tap])`` over padded data.

    Operands are of ``out_dtype`` before they are multiplied.
    """
    spatial = SPATIAL[_DIMENSIONS[request.name]]
    data, weight = _operands(request, spatial)
    along = sliding(request, data.shape[2:], weight.shape[2:])
    groups = request.integer("groups")
    (batch, channels), (results, inner) = data.shape[:2], weight.shape[:2]
    if channels != inner * groups or results % groups:
        raise Unsupported("channels that are not divided into groups")
    counts, rank, taps = [each.count for each in along], len(along), math.prod(weight.shape[2:])
    view = windows(padded(data, along), along)
    view = view.reshape(batch, groups, inner, *view.shape[2:])
    order = (1, 0, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank))
    columns = view.transpose(order).reshape(groups, batch * math.prod(counts), inner * taps)
    kernels = weight.reshape(groups, results // groups, inner * taps).transpose(0, 2, 1)
    require_inner_products(columns, kernels, request.declared())
    sums = (columns @ kernels).reshape(groups, batch, *counts, results // groups)
    made = sums.transpose(1, 0, rank + 2, *range(2, rank + 2)).reshape(batch, results, *counts)
    return arranged(request.cast(made), "NC" + spatial, str(request.attr("out_layout")))


@semantics("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def transposed_convolution(request: Request) -> Any:
    """Return the gradient of a convolution with respect to its data: each element of data adds itself times the kernel.

    ``out_padding`` makes room behind; ``padding`` is cut off.
    """
    spatial = SPATIAL[_DIMENSIONS[request.name]]
    data, weight = _operands(request, spatial)
    if is_float(weight.dtype.name) and not np.isfinite(weight).all():
        # Written as a convolution of data with zeros between, infinity meets a zero that is not there otherwise.
        raise Undefined("kernel that is not finite")
    rank, groups = len(spatial), request.integer("groups")
    strides, dilation = every(request, "strides", rank), every(request, "dilation", rank)
    if max(dilation, default=1) > 1 and is_float(data.dtype.name) and not np.isfinite(data).all():
        raise Undefined("data that is not finite under a dilated kernel")  # as above: the kernel is spread, too
    extra, (before, after) = every(request, "output_padding", rank), sides(request, rank)
    (batch, channels), inner = data.shape[:2], weight.shape[1]
    if channels != weight.shape[0] or channels % groups:
        raise Unsupported("channels that are not divided into groups")
    extents, taps = data.shape[2:], weight.shape[2:]
    reach = [
        (extent - 1) * stride + step * (size - 1) + 1 + more
        for extent, stride, step, size, more in zip(extents, strides, dilation, taps, extra, strict=True)
    ]
    request.undefined(min(reach, default=1) < 0, "transposed convolution of nothing")
    whole = np.zeros((batch, groups, inner, *reach), data.dtype)
    columns = data.reshape(batch, groups, channels // groups, math.prod(extents))
    kernels = weight.reshape(groups, channels // groups, inner, *taps)
    # Where all taps meet, the greatest element everywhere.
    rows = kernels.reshape(groups, channels // groups, inner, -1).transpose(0, 2, 3, 1).reshape(groups, inner, -1)
    greatest = np.full((rows.shape[2], 1), np.abs(data).max(initial=0))
    require_inner_products(rows, greatest, request.declared())
    for tap in itertools.product(*map(range, taps)):
        products = kernels[trailing(*tap)].transpose(0, 2, 1) @ columns
        met = tuple(
            slice(at * step, at * step + (extent - 1) * stride + 1, stride)
            for at, step, extent, stride in zip(tap, dilation, extents, strides, strict=True)
        )
        whole[trailing(*met)] += products.reshape(batch, groups, inner, *extents)
    kept = tuple(slice(near, size - far) for near, far, size in zip(before, after, reach, strict=True))
    made = whole[trailing(*kept)]
    made = made.reshape(batch, groups * inner, *made.shape[3:])
    return arranged(request.cast(made), "NC" + spatial, str(request.attr("out_layout")))


def _operands(request: Request, spatial: str) -> tuple[Array, Array]:
    """Data and weight in canonical layout, in the dtype of the sums: the result's, floats at least float32."""
    data, weight = (np.asarray(each) for each in request.args)
    working = request.dtype
    if is_float(working.name):
        floats = [each.dtype for each in (data, weight) if is_float(each.dtype.name)]
        working = max([working, *floats, np.dtype("float32")], key=lambda dtype: dtype.itemsize)
    elif is_float(data.dtype.name) or is_float(weight.dtype.name):
        raise Unsupported("integer product of floats")
    kernel = "IO" if request.name.endswith("transpose") else "OI"
    return (
        canonical(data.astype(working, copy=False), str(request.attr("data_layout")), "NC" + spatial),
        canonical(weight.astype(working, copy=False), str(request.attr("kernel_layout")), kernel + spatial),
    )
