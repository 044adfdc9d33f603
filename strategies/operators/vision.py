"""Detection operators: their boxes and scores are constants, so that no scores tie and no overlap is on the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tvm import relax

from strategies.bounds import Bounds
from strategies.operators.drawing import flip, project
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

vision = relax.op.vision


def _boxes(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Boxes along a diagonal: each overlaps its neighbour by a ninth, nothing near the thresholds."""
    corners = np.arange(count, dtype="float32")[:, None] * 2
    return np.concatenate([corners, corners, corners + 3, corners + 3], axis=1)


def _detections(scope: Scope, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """One batch of rows: class, score (distinct, in a drawn order), and four corners."""
    order = (np.arange(count) * scope.pick((1, 3, 5)) + scope.index(count)) % (8 * count)
    scores = (order.astype("float32") + 1) / (8 * count + 1)
    classes = np.array([scope.index(2) for _ in range(count)], "float32")
    return np.concatenate([classes[:, None], scores[:, None], _boxes(count)], axis=1)[None]


def draw_get_valid_counts(scope: Scope) -> Value | None:
    """``vision.get_valid_counts``: how many scores pass, the boxes that do in front, and where they were."""
    count = scope.integer(1, 5)
    data = relax.const(_detections(scope, count), "float32")
    call = vision.get_valid_counts(data, scope.pick((0.0, 0.25, 0.5)), 0, 1)
    return project(scope, call, (Bounds(0, count, True), Bounds(-1.0, 16.0), Bounds(-1, count, True)))


def draw_multibox_transform_loc(scope: Scope) -> Value | None:
    """``vision.multibox_transform_loc``: boxes from offsets to anchors, and the scores of the classes."""
    classes, anchors = scope.integer(1, 3), scope.integer(1, 4)
    scores = scope.tensor(dtypes=("float32",), shape=(1, classes, anchors), bounds=Bounds(-2.0, 2.0))
    offsets = scope.tensor(dtypes=("float32",), shape=(1, 4 * anchors), bounds=Bounds(-2.0, 2.0))
    boxes = relax.const(_boxes(anchors)[None] / 8, "float32")
    call = vision.multibox_transform_loc(scores.expr, offsets.expr, boxes, flip(scope), scope.pick((0.0, 0.25)))
    # Half sizes grow by exp(2) at most: centre 2 + 2 * size, size 3 / 8 * exp(2).
    return project(scope, call, (Bounds(-16.0, 16.0), Bounds(-2.5, 2.5)))


def draw_non_max_suppression(scope: Scope) -> Value | None:
    """``vision.non_max_suppression`` of distinct scores: the indices of what stays, -1 for the rest."""
    count = scope.integer(1, 5)
    data = relax.const(_detections(scope, count), "float32")
    valid = relax.const(np.array([count], "int32"), "int32")
    indices = relax.const(np.arange(count, dtype="int32")[None], "int32")
    call = vision.non_max_suppression(
        data, valid, indices, -1, scope.pick((0.5, 0.0625)), flip(scope), -1, 2, 1, 0, return_indices=True
    )
    return project(scope, call, (Bounds(-1, count, True), Bounds(0, count, True)))


def draw_all_class_non_max_suppression(scope: Scope) -> Value | None:
    """``vision.all_class_non_max_suppression``: legalized it has fewer rows than inferred, so nothing runs it."""
    if scope.executable:
        return None
    count, classes = scope.integer(1, 5), scope.integer(1, 2)
    boxes = relax.const(_boxes(count)[None], "float32")
    scores = relax.const((np.arange(classes * count, dtype="float32") / 64).reshape(1, classes, count), "float32")
    limits = [relax.const(number, dtype) for number, dtype in ((2, "int64"), (0.5, "float32"), (0.0, "float32"))]
    form = scope.pick(("onnx", "tensorflow"))
    call = vision.all_class_non_max_suppression(boxes, scores, *limits, output_format=form)
    found = Bounds(-1, max(count, classes), True)
    known = (found, Bounds(0, classes * count, True))
    return project(scope, call, known if form == "onnx" else (found, Bounds(0.0, 1.0), known[1]))


ROWS = (
    OperatorRow("relax.vision.get_valid_counts", Family.VISION, draw_get_valid_counts),
    OperatorRow("relax.vision.multibox_transform_loc", Family.VISION, draw_multibox_transform_loc),
    OperatorRow("relax.vision.non_max_suppression", Family.VISION, draw_non_max_suppression),
    OperatorRow(
        "relax.vision.all_class_non_max_suppression",
        Family.VISION,
        draw_all_class_non_max_suppression,
        executable=False,
    ),
)
