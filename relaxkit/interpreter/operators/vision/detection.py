"""Detection: which boxes count, which of those that overlap stay, and where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxkit.interpreter.registry import Array, Request, Undefined, Unsupported, numpy_dtype, semantics

EDGE = 1e-6
"""Overlaps and scores this near to a threshold are on either side of it, by rounding."""


@semantics("vision.get_valid_counts")
def get_valid_counts(request: Request) -> Any:
    """Return how many boxes have a score above the threshold (and a class), those boxes in front, and where they were.

    The rest is filled with -1, as the tests of TVM have it.
    """
    data = request.args[0]
    score, identity = request.integer("score_index"), request.integer("id_index")
    threshold = data.dtype.type(request.attr("score_threshold"))
    request.undefined(np.isnan(data[:, :, score]), "score that is not a number")
    valid = data[:, :, score] > threshold
    if identity >= 0:
        request.undefined(np.isnan(data[:, :, identity]), "class that is not a number")
        valid &= data[:, :, identity] >= 0
    boxes, places = np.full_like(data, -1), np.full(data.shape[:2], -1, "int32")
    for batch, flags in enumerate(valid):
        (kept,) = np.nonzero(flags)
        boxes[batch, : len(kept)] = data[batch, kept]
        places[batch, : len(kept)] = kept
    return valid.sum(axis=1).astype("int32"), boxes, places


@semantics("vision.multibox_transform_loc")
def multibox_transform_loc(request: Request) -> Any:
    """Return boxes from offsets to anchors, by TFLite's ``DecodeCenterSizeBoxes``, and the scores of the classes."""
    scores, offsets, anchors = (request.wide(number) for number in range(3))
    variances = [float(each) for each in request.attr("variances")]
    left, top, right, bottom = (anchors[:, :, number] for number in range(4))
    height, width = bottom - top, right - left
    x, y, w, h = (
        offsets.reshape(len(offsets), -1, 4)[:, :, number] * offsets.dtype.type(variances[number])
        for number in range(4)
    )
    middle_y, middle_x = y * height + (top + bottom) / 2, x * width + (left + right) / 2
    half_h, half_w = np.exp(h) * height / 2, np.exp(w) * width / 2
    boxes = np.stack([middle_y - half_h, middle_x - half_w, middle_y + half_h, middle_x + half_w], axis=-1)
    if request.attr("clip", False):
        request.undefined(np.isnan(boxes), "NaN between limits")
        boxes = np.clip(boxes, 0, 1)
    if request.attr("apply_softmax", True):
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores = powers / powers.sum(axis=1, keepdims=True)
    threshold = float(request.attr("threshold", 0.0))
    request.undefined(np.isnan(scores), "score that is not a number")
    near = np.abs(scores - threshold) <= EDGE * max(1.0, abs(threshold))
    if request.attr("apply_softmax", True):
        request.undefined(near & (threshold > 0), "score at its threshold")
    request.undefined((scores < threshold) & np.isinf(scores), "infinite score below its threshold")
    scores = np.where(scores >= threshold, scores, 0).astype(scores.dtype)
    if not request.attr("keep_background", True):
        scores[:, 0] = 0
    dtype = numpy_dtype(request.declared(0), request.precision)
    return boxes.astype(dtype), scores.astype(dtype)


@semantics("vision.non_max_suppression")
def non_max_suppression(request: Request) -> Any:
    """Keep those of the best boxes that no better one of their class overlaps too much.

    Hard suppression takes them away; soft suppression multiplies their scores by ``exp(-iou**2 / (2 * sigma))``, as
    TensorFlow's ``NonMaxSuppressionV5`` and LiteRT do.  What is not kept is filled with -1.
    """
    data, counts, indices = request.args[:3]
    sigma = float(request.attr("soft_nms_sigma", 0.0))
    limit = request.integer("max_output_size")
    score = request.integer("score_index")
    result = np.full_like(data, -1)
    chosen, found = np.full(data.shape[:2], -1, "int32"), np.zeros((len(data), 1), "int32")
    for batch in range(len(data)):
        order, boxes = _ranked(request, data[batch], int(counts[batch]))
        kept = _soft(request, boxes, sigma) if sigma > 0 else _hard(request, boxes)
        kept = kept[:limit] if limit > 0 else kept
        compact = sigma > 0 or bool(request.attr("invalid_to_bottom", False))
        for place, number in enumerate(kept):
            result[batch, place if compact else number] = boxes[number]
            chosen[batch, place] = indices[batch, order[number]]
        found[batch] = len(kept)
    if not request.attr("return_indices", True):
        return result
    if sigma > 0:
        return result, chosen, found
    request.undefined(score < 0, "score index")
    return chosen, found


def _ranked(request: Request, boxes: Array, count: int) -> tuple[Array, Array]:
    """Return the numbers of the valid boxes, best first, at most ``top_k``; and a copy of the boxes in that order."""
    request.undefined(not 0 <= count <= len(boxes), "number of valid boxes")
    scores = boxes[:count, request.integer("score_index")]
    request.undefined(np.isnan(boxes[:count]), "box that is not a number")
    request.undefined(scores <= 0, "score that is not positive")
    request.undefined(len(np.unique(scores)) < len(scores), "equal scores")
    identity = request.integer("id_index")
    request.undefined(identity >= 0 and np.any(boxes[:count, identity] < 0), "box without a class")
    order = np.argsort(-scores, kind="stable")
    if (most := request.integer("top_k")) > 0:
        order = order[:most]
    return order, boxes[order].copy()


def _hard(request: Request, boxes: Array) -> list[int]:
    kept: list[int] = []
    limit = float(request.attr("iou_threshold"))
    for number in range(len(boxes)):
        if not any(_same(request, boxes, other, number) and _over(request, boxes, other, number, limit)
                   for other in kept):  # fmt: skip
            kept.append(number)
    return kept


def _soft(request: Request, boxes: Array, sigma: float) -> list[int]:
    """As :func:`_hard`, best first after every change; changes the scores of the boxes."""
    limit, column = float(request.attr("iou_threshold")), request.integer("score_index")
    least = float(request.attr("score_threshold", 0.0))
    alive = [number for number in range(len(boxes)) if _above(boxes[number, column], least)]
    kept: list[int] = []
    while alive:
        ranks = sorted((float(boxes[number, column]) for number in alive), reverse=True)
        if len(ranks) > 1 and ranks[0] - ranks[1] <= EDGE * ranks[0]:
            raise Undefined("equal scores")
        best = max(alive, key=lambda number: float(boxes[number, column]))
        alive.remove(best)
        kept.append(best)
        for number in list(alive):
            if not _same(request, boxes, best, number):
                continue
            if _over(request, boxes, best, number, limit):
                alive.remove(number)
                continue
            overlap = _overlap(_corners(request, boxes[best]), _corners(request, boxes[number]))
            boxes[number, column] *= np.exp(-0.5 / sigma * overlap * overlap)
            if not _above(boxes[number, column], least):
                alive.remove(number)
    return kept


def _above(score: Any, least: float) -> bool:
    if abs(float(score) - least) <= EDGE * abs(least) and float(score) != least:
        raise Undefined("score at its threshold")
    return bool(score > least)


def _same(request: Request, boxes: Array, left: int, right: int) -> bool:
    """Say whether a box may suppress another one, by class."""
    identity = request.integer("id_index")
    return bool(
        request.attr("force_suppress", False) or identity < 0 or boxes[left, identity] == boxes[right, identity]
    )


def _over(request: Request, boxes: Array, left: int, right: int, limit: float) -> bool:
    return _exceeds(_overlap(_corners(request, boxes[left]), _corners(request, boxes[right])), limit)


def _corners(request: Request, box: Array) -> Array:
    start = request.integer("coord_start")
    return box[start : start + 4]


def _overlap(left: Array, right: Array) -> float:
    """Intersection over union of two boxes, each given by any two opposite corners; 0 for empty ones."""
    low = [np.minimum(each[:2], each[2:]).astype("float64") for each in (left, right)]
    high = [np.maximum(each[:2], each[2:]).astype("float64") for each in (left, right)]
    shared = float(np.prod(np.maximum(np.minimum(*high) - np.maximum(*low), 0)))
    union = sum(float(np.prod(top - bottom)) for top, bottom in zip(high, low, strict=True)) - shared
    return shared / union if union > 0 else 0.0


def _exceeds(overlap: float, limit: float) -> bool:
    """Say whether an overlap is too much; at the limit libraries differ."""
    if abs(overlap - limit) <= EDGE and not overlap == limit == 0:
        raise Undefined("overlap at its threshold")
    return overlap > limit


@semantics("vision.all_class_non_max_suppression")
def all_class_non_max_suppression(request: Request) -> Any:
    """ONNX's ``NonMaxSuppression``: hard suppression for each image and class, in their order, best first."""
    boxes, scores = request.args[:2]
    most, limit, least = (np.asarray(each).reshape(-1)[0] for each in request.args[2:5])
    request.undefined(np.isnan(boxes) if boxes.size else False, "box that is not a number")
    request.undefined(np.isnan(scores), "score that is not a number")
    found: list[list[tuple[int, int, float]]] = []
    rows: list[tuple[int, int, int]] = []
    for batch in range(len(boxes)):
        found.append([])
        for group in range(scores.shape[1]):
            for number in _kept(request, boxes[batch], scores[batch, group], int(most), float(limit), float(least)):
                found[-1].append((group, number, scores[batch, group, number]))
                rows.append((batch, group, number))
    form = str(request.attr("output_format"))
    if form == "onnx":
        return np.array(rows, "int64").reshape(-1, 3), np.array([len(rows)], "int64")
    if form != "tensorflow":
        raise Unsupported("output format")
    places = np.zeros((len(boxes), scores.shape[1] * scores.shape[2], 2), "int64")
    values = np.zeros(places.shape[:2], scores.dtype)
    for batch, taken in enumerate(found):
        for place, (group, number, value) in enumerate(taken):
            places[batch, place], values[batch, place] = (group, number), value
    return places, values, np.array([len(taken) for taken in found], "int64")


def _kept(request: Request, boxes: Array, scores: Array, most: int, limit: float, least: float) -> list[int]:
    (candidates,) = np.nonzero(scores > least)
    if len(np.unique(scores[candidates])) < len(candidates):
        raise Undefined("equal scores")
    kept: list[int] = []
    for number in candidates[np.argsort(-scores[candidates], kind="stable")]:
        if len(kept) >= most:
            break
        if not any(_exceeds(_overlap(boxes[number], boxes[other]), limit) for other in kept):
            kept.append(int(number))
    return kept
