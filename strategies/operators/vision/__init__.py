"""Regions of interest, and detection operators.

Scores are constants mostly, so that none tie and no overlap is on the edge; else they are computed, and what the
operators decide on them is for the oracles to tolerate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from strategies.operators.adapt import adapted
from strategies.operators.drawing import FLOATS, WIDE_FLOATS, project
from strategies.operators.row import OperatorFamily, Rows
from strategies.operators.vision.spatial import sizes_of, spatial_tensor
from strategies.scope.bounds import Bounds
from strategies.scope.scope import Scope
from strategies.scope.values import Value

ROWS = Rows(OperatorFamily.VISION)

vision = relax.op.vision


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
    call = relax.op.concat([relax.const(indices, dtype), corners.expr], 1)
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
    call = vision.roi_align(
        data.expr, rois.expr, size, scope.pick((1.0, 0.5, 0.25)), ratio, aligned, layout, mode
    )  # fmt: skip
    return scope.emit_rounded(call, data.known.including(0.0), data.dtype)


@ROWS.row("vision.roi_pool")
def draw_roi_pool(scope: Scope) -> Value | None:
    """Draw ``vision.roi_pool``: maxima over the bins of each region; an empty bin gives 0."""
    data = spatial_tensor(scope, "NCHW", FLOATS)
    rois = _regions(scope, scope.least(sizes_of("NCHW", data)["N"]), data.dtype)
    size = (scope.integer(1, 3), scope.integer(1, 3))
    call = vision.roi_pool(data.expr, rois.expr, size, scope.pick((1.0, 0.5, 0.25)))
    return scope.emit_rounded(call, data.known.including(0.0), data.dtype)


def _boxes(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return boxes along a diagonal: each overlaps its neighbour by a ninth, nothing near the thresholds."""
    corners = np.arange(count, dtype="float32")[:, None] * 2
    return np.concatenate([corners, corners, corners + 3, corners + 3], axis=1)


def _detections(scope: Scope, batch: int, count: int, classes: bool) -> Any:
    """Return rows of class (or none), score (distinct), and four corners."""
    images: list[Any] = []
    for _ in range(batch):
        order = (np.arange(count) * scope.pick((1, 3, 5)) + scope.index(count)) % (8 * count)
        columns: list[Any] = [((order.astype("float32") + 1) / (8 * count + 1))[:, None], _boxes(count)]
        if classes:
            columns.insert(0, np.array([scope.index(2) for _ in range(count)], "float32")[:, None])
        images.append(np.concatenate(columns, axis=1))
    return relax.const(np.stack(images), "float32")


@ROWS.row("vision.get_valid_counts")
def draw_get_valid_counts(scope: Scope) -> Value | None:
    """Draw ``vision.get_valid_counts``: how many scores pass, the boxes that do in front, and where they were."""
    batch, count, classes = scope.integer(1, 2), scope.integer(1, 5), scope.index(4) < 3
    if scope.index(3) == 2:
        bounds = Bounds(-2.0, 2.0)
        width = 5 + classes
        data = adapted(scope, dtypes=WIDE_FLOATS, shape=(batch, count, width), bounds=bounds, share=56).expr
    else:
        data = _detections(scope, batch, count, classes)
    threshold = scope.pick((0.0, 0.25, 0.5))
    call = vision.get_valid_counts(data, threshold, 0 if classes else -1, 1 if classes else 0)
    return project(scope, call, (Bounds(0, count, True), Bounds(-2.0, 16.0), Bounds(-1, count, True)))


@ROWS.row("vision.multibox_transform_loc")
def draw_multibox_transform_loc(scope: Scope) -> Value | None:
    """Draw ``vision.multibox_transform_loc``: boxes from offsets to anchors, and the scores of the classes."""
    batch, classes, anchors = scope.integer(1, 2), scope.integer(1, 3), scope.integer(1, 4)
    unit = Bounds(-2.0, 2.0)
    scores = adapted(scope, dtypes=WIDE_FLOATS, shape=(batch, classes, anchors), bounds=unit, share=56)
    dtype = scores.dtype
    offsets = adapted(scope, dtypes=(dtype,), shape=(batch, 4 * anchors), bounds=unit)
    boxes = relax.const(_boxes(anchors)[None].astype(dtype) / 8, dtype)
    call = vision.multibox_transform_loc(
        scores.expr, offsets.expr, boxes, scope.flip(), scope.pick((0.0, 0.25)),
        scope.pick(((1.0, 1.0, 1.0, 1.0), (0.125, 0.125, 0.25, 0.25))), not scope.flip(), not scope.flip(),
    )  # fmt: skip
    # Half sizes grow by exp(2) at most: centre 2 + 2 * size, size 3 / 8 * exp(2).
    return project(scope, call, (Bounds(-16.0, 16.0), Bounds(-2.5, 2.5)))


@ROWS.row("vision.non_max_suppression")
def draw_non_max_suppression(scope: Scope) -> Value | None:
    """Draw ``vision.non_max_suppression`` of distinct scores: what stays, as indices or as boxes."""
    batch, count, classes = scope.integer(1, 2), scope.integer(1, 5), scope.index(4) < 3
    data = _detections(scope, batch, count, classes)
    valid = relax.const(np.array([scope.integer(1, count) for _ in range(batch)], "int32"), "int32")
    indices = relax.const(np.stack([np.arange(count, dtype="int32")] * batch), "int32")
    column = 1 if classes else 0
    as_indices = not scope.flip()
    soft = not as_indices and scope.index(4) == 3
    call = vision.non_max_suppression(
        data, valid, indices, scope.pick((-1, -1, 2)), scope.pick((0.5, 0.0625)), scope.flip(), scope.pick((-1, -1, 2)),
        column + 1, column, 0 if classes else -1, as_indices, not as_indices and scope.flip(), 0.5 if soft else 0.0,
        scope.pick((0.0, 0.25)),
    )  # fmt: skip
    if as_indices:
        return project(scope, call, (Bounds(-1, count, True), Bounds(0, count, True)))
    return scope.emit(call, Bounds(-1.0, 16.0))


@ROWS.row("vision.all_class_non_max_suppression")
def draw_all_class_non_max_suppression(scope: Scope) -> Value | None:
    """Draw ``vision.all_class_non_max_suppression``: its ONNX form, legalized, has fewer rows than inferred."""
    batch, count, classes = scope.integer(1, 2), scope.integer(1, 5), scope.integer(1, 2)
    boxes = relax.const(np.stack([_boxes(count)] * batch), "float32")
    numbers = np.arange(batch * classes * count, dtype="float32") / 64
    scores = relax.const(numbers.reshape(batch, classes, count), "float32")
    limits = [
        relax.const(number, dtype)
        for number, dtype in (
            (scope.integer(1, 3), "int64"),
            (scope.pick((0.5, 0.0625)), "float32"),
            (scope.pick((0.0, 0.0234375)), "float32"),
        )
    ]
    form = "tensorflow" if scope.executable else scope.pick(("tensorflow", "onnx"))
    call = vision.all_class_non_max_suppression(boxes, scores, *limits, output_format=form)
    found = Bounds(-1, max(count, classes), True)
    total = Bounds(0, batch * classes * count, True)
    return project(scope, call, (found, total) if form == "onnx" else (found, Bounds(0.0, 1.0), total))
