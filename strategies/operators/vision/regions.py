"""Regions of interest."""

from __future__ import annotations

import numpy as np
from tvm import relax

from strategies.operators.adapt import adapted
from strategies.operators.drawing import FLOATS, WIDE_FLOATS
from strategies.operators.row import OperatorFamily, Rows
from strategies.operators.vision.spatial import sizes_of, spatial_tensor
from strategies.scope.bounds import Bounds
from strategies.scope.scope import Scope
from strategies.scope.values import Value

ROWS = Rows(OperatorFamily.VISION)

op = relax.op


def _regions(scope: Scope, batch: int, dtype: str) -> Value:
    """Return constant regions: the index of an image, then two corners, the second beyond the first."""
    rows = []
    for _ in range(scope.integer(1, 3)):
        left, top = scope.integer(0, 2), scope.integer(0, 2)
        rows.append([scope.index(batch), left, top, left + scope.integer(1, 3), top + scope.integer(1, 3)])
    expr = relax.const(np.array(rows, dtype), dtype)
    return Value(expr, expr.ty, Bounds(0.0, 8.0))


def _computed_regions(scope: Scope, batch: int, dtype: str) -> Value:
    """Return regions with computed corners; the indices of their images are constants."""
    corners = adapted(scope, dtypes=(dtype,), shape=(scope.integer(1, 3), 4), bounds=Bounds(0.0, 6.0))
    assert corners.dims is not None
    indices = np.array([[scope.index(batch)] for _ in range(corners.dims[0])], dtype)
    call = op.concat([relax.const(indices, dtype), corners.expr], 1)
    return scope.emit(call, Bounds(0.0, 8.0))


@ROWS.row("vision.roi_align")
def draw_roi_align(scope: Scope) -> Value | None:
    """Draw ``vision.roi_align``: averages or maxima of samples, as many as asked for or as the region is large."""
    layout = "NHWC" if scope.index(4) == 3 else "NCHW"
    # TVM defect: the kernel yields float32 for float16.
    data = spatial_tensor(scope, layout, WIDE_FLOATS if scope.executable else FLOATS)
    batch = scope.least(sizes_of(layout, data)["N"])
    aligned = scope.flip()
    # An aligned region may be empty, and is only not made one wide.
    computed = not aligned and scope.flip()
    rois = (_computed_regions if computed else _regions)(scope, batch, data.dtype)
    ratio = scope.integer(1, 2) if computed else scope.pick((1, 2, -1))
    size = (scope.integer(1, 3), scope.integer(1, 3))
    mode = scope.pick(("avg", "max"))
    call = op.vision.roi_align(
        data.expr, rois.expr, size, scope.pick((1.0, 0.5, 0.25)), ratio, aligned, layout, mode
    )  # fmt: skip
    return scope.emit_rounded(call, data.known.including(0.0), data.dtype)


@ROWS.row("vision.roi_pool")
def draw_roi_pool(scope: Scope) -> Value | None:
    """Draw ``vision.roi_pool``: maxima over the bins of each region; an empty bin gives 0."""
    data = spatial_tensor(scope, "NCHW", FLOATS)
    rois = _regions(scope, scope.least(sizes_of("NCHW", data)["N"]), data.dtype)
    size = (scope.integer(1, 3), scope.integer(1, 3))
    call = op.vision.roi_pool(data.expr, rois.expr, size, scope.pick((1.0, 0.5, 0.25)))
    return scope.emit_rounded(call, data.known.including(0.0), data.dtype)
