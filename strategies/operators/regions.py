"""Regions of interest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tvm import relax

from strategies.bounds import Bounds
from strategies.operators.adapt import adapted
from strategies.operators.drawing import FLOATS, WIDE_FLOATS, bounds_of, emit, flip
from strategies.operators.row import Family, OperatorRow
from strategies.operators.spatial import least, sizes_of, spatial_tensor
from strategies.values import Value

if TYPE_CHECKING:
    from strategies.scope import Scope

op = relax.op


def _regions(scope: Scope, batch: int, dtype: str) -> Value:
    """Constant regions: the index of an image, then two corners, the second beyond the first."""
    rows = []
    for _ in range(scope.integer(1, 3)):
        left, top = scope.integer(0, 2), scope.integer(0, 2)
        rows.append([scope.index(batch), left, top, left + scope.integer(1, 3), top + scope.integer(1, 3)])
    expr = relax.const(np.array(rows, dtype), dtype)
    return Value(expr, expr.ty, Bounds(0.0, 8.0))


def _computed_regions(scope: Scope, batch: int, dtype: str) -> Value:
    """Regions with computed corners; the indices of their images are constants."""
    corners = adapted(scope, dtypes=(dtype,), shape=(scope.integer(1, 3), 4), bounds=Bounds(0.0, 6.0))
    assert corners.dims is not None
    indices = np.array([[scope.index(batch)] for _ in range(corners.dims[0])], dtype)
    call = op.concat([relax.const(indices, dtype), corners.expr], 1)
    return scope.emit(call, Bounds(0.0, 8.0))


def draw_roi_align(scope: Scope) -> Value | None:
    """``vision.roi_align``: averages or maxima of samples, as many as asked for or as the region is large."""
    layout = "NHWC" if scope.index(4) == 3 else "NCHW"
    # TVM defect: the kernel yields float32 for float16.
    data = spatial_tensor(scope, layout, WIDE_FLOATS if scope.executable else FLOATS)
    batch = least(scope, sizes_of(layout, data)["N"])
    aligned = flip(scope)
    # An aligned region may be empty, and is only not made one wide.
    computed = not aligned and flip(scope)
    rois = (_computed_regions if computed else _regions)(scope, batch, data.dtype)
    ratio = scope.integer(1, 2) if computed else scope.pick((1, 2, -1))
    size = (scope.integer(1, 3), scope.integer(1, 3))
    mode = scope.pick(("avg", "max"))
    call = op.vision.roi_align(
        data.expr, rois.expr, size, scope.pick((1.0, 0.5, 0.25)), ratio, aligned, layout, mode
    )  # fmt: skip
    return emit(scope, call, bounds_of(data).including(0.0), data.dtype)


def draw_roi_pool(scope: Scope) -> Value | None:
    """``vision.roi_pool``: maxima over the bins of each region; an empty bin gives 0."""
    data = spatial_tensor(scope, "NCHW", FLOATS)
    rois = _regions(scope, least(scope, sizes_of("NCHW", data)["N"]), data.dtype)
    size = (scope.integer(1, 3), scope.integer(1, 3))
    call = op.vision.roi_pool(data.expr, rois.expr, size, scope.pick((1.0, 0.5, 0.25)))
    return emit(scope, call, bounds_of(data).including(0.0), data.dtype)


ROWS = (
    OperatorRow("relax.vision.roi_align", Family.VISION, draw_roi_align),
    OperatorRow("relax.vision.roi_pool", Family.VISION, draw_roi_pool),
)
