"""Boxes and regions by hand: which count, which stay, how scores decay, what bins hold."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

vision = relax.op.vision


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


# class, score, corners: the first two overlap by 2 / 3, the third touches neither, the fourth is of another class
BOXES = of(
    [
        [
            [0, 0.5, 0, 0, 2, 2],
            [0, 0.75, 0, 0, 2, 3],
            [0, 0.25, 5, 5, 6, 6],
            [1, 0.625, 0, 0, 2, 2],
            [-1, 0.875, 0, 0, 2, 2],
        ]
    ]
)


def test_valid_boxes_come_first_in_their_order() -> None:
    count, boxes, places = computed(lambda x: vision.get_valid_counts(x, 0.25, 0, 1), BOXES)
    assert count.tolist() == [3]
    assert count.dtype == np.int32
    assert places.tolist() == [[0, 1, 3, -1, -1]]  # 0.25 is no more than the threshold; class -1 is none
    assert boxes[0, :3].tolist() == BOXES[0, [0, 1, 3]].tolist()
    assert (boxes[0, 3:] == -1).all()
    count, _, places = computed(lambda x: vision.get_valid_counts(x, 0.25, -1, 1), BOXES)
    assert count.tolist() == [4]
    assert places.tolist() == [[0, 1, 3, 4, -1]]


def suppressed(boxes: Any = BOXES, valid: int = 4, **more: Any) -> Any:
    count, places = np.array([valid], "int32"), np.arange(10, 10 + boxes.shape[1], dtype="int32")[None]
    return computed(lambda *args: vision.non_max_suppression(*args, **more), boxes, count, places)


def test_a_better_box_of_the_same_class_suppresses() -> None:
    chosen, count = suppressed(iou_threshold=0.5)
    assert chosen.tolist() == [[11, 13, 12, -1, -1]]
    assert count.tolist() == [[3]]
    assert suppressed(iou_threshold=0.75)[0].tolist() == [[11, 13, 10, 12, -1]]
    assert suppressed(iou_threshold=0.5, force_suppress=True)[0].tolist() == [[11, 12, -1, -1, -1]]
    assert suppressed(iou_threshold=0.5, id_index=-1)[0].tolist() == [[11, 12, -1, -1, -1]]


def test_only_so_many_go_in_and_come_out() -> None:
    assert suppressed(iou_threshold=0.5, max_output_size=2)[0].tolist() == [[11, 13, -1, -1, -1]]
    assert suppressed(iou_threshold=0.5, top_k=1)[0].tolist() == [[11, -1, -1, -1, -1]]
    assert suppressed(iou_threshold=0.5, valid=1)[0].tolist() == [[10, -1, -1, -1, -1]]


def test_boxes_stay_where_their_rank_is_or_move_up() -> None:
    there = suppressed(iou_threshold=0.5, return_indices=False)
    assert there[0, :, 1].tolist() == [0.75, 0.625, -1, 0.25, -1]
    assert (there[0, 2] == -1).all()
    top = suppressed(iou_threshold=0.5, return_indices=False, invalid_to_bottom=True)
    assert top[0, :, 1].tolist() == [0.75, 0.625, 0.25, -1, -1]


def test_scores_decay_by_their_overlap() -> None:
    decayed, chosen, count = suppressed(iou_threshold=0.75, soft_nms_sigma=0.5, force_suppress=True)
    second = 0.625 * np.exp(-((2 / 3) ** 2))  # both small boxes overlap the best one by 2 / 3, then each other
    assert chosen.tolist() == [[11, 13, 12, -1, -1]]
    assert count.tolist() == [[3]]
    assert decayed[0, :3, 1] == pytest.approx([0.75, second, 0.25], rel=1e-6)
    decayed, chosen, _ = suppressed(iou_threshold=0.75, soft_nms_sigma=0.5, score_threshold=0.3)
    assert chosen.tolist() == [[11, 13, 10, -1, -1]]  # the distant one is below the threshold
    assert decayed[0, 2, 1] == pytest.approx(0.5 * np.exp(-((2 / 3) ** 2)), rel=1e-6)


def test_what_is_on_the_edge_is_not_judged() -> None:
    with pytest.raises(Undefined, match="threshold"):
        suppressed(iou_threshold=2 / 3)
    with pytest.raises(Undefined, match="equal"):
        suppressed(BOXES[:, [0, 0]], 2)


CORNERS = of([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [6, 6, 5, 5]]])
SCORES = of([[[0.9, 0.8, 0.7, 0.6], [0.1, 0.5, 0.05, 0.2]]])


def all_classes(most: int, overlap: float, least: float, form: str, scores: Any = SCORES) -> Any:
    limits = [relax.const(most, "int64"), relax.const(overlap, "float32"), relax.const(least, "float32")]
    call = vision.all_class_non_max_suppression
    return computed(lambda b, s: call(b, s, *limits, output_format=form), CORNERS, scores)


def test_each_class_is_suppressed_on_its_own() -> None:
    rows, total = all_classes(3, 0.5, 0.08, "onnx")
    assert rows.tolist() == [[0, 0, 0], [0, 0, 2], [0, 0, 3], [0, 1, 1], [0, 1, 3]]
    assert total.tolist() == [5]
    places, values, totals = all_classes(2, 0.5, 0.08, "tensorflow")
    assert places[0, :4].tolist() == [[0, 0], [0, 2], [1, 1], [1, 3]]
    assert totals.tolist() == [4]
    assert values[0].tolist() == of([0.9, 0.7, 0.5, 0.2, 0, 0, 0, 0]).tolist()


def test_no_overlap_is_allowed_and_scores_may_be_negative() -> None:
    assert all_classes(4, 0.0, 0.65, "onnx")[0].tolist() == [[0, 0, 0], [0, 0, 2]]
    assert all_classes(4, 0.5, -10, "onnx", -SCORES[:, :1])[0].tolist() == [[0, 0, 3], [0, 0, 2], [0, 0, 1]]
    assert all_classes(0, 0.5, 0, "onnx")[1].tolist() == [0]


def test_a_box_is_decoded_from_its_anchor() -> None:
    """Centre (2, 3), 2 wide, 4 high: moved right by half a width, and twice as high."""
    anchor, offsets = of([[[1, 1, 3, 5]]]), of([[5, 0, 0, np.log(2)]])
    scores = of([[[0.5], [-0.25]]])
    boxes, kept = computed(
        lambda *args: vision.multibox_transform_loc(*args, False, 0.25, (0.1, 0.1, 1, 1), True, False),
        scores,
        offsets,
        anchor,
    )
    assert boxes == pytest.approx(of([[[-1, 2, 7, 4]]]), rel=1e-6)  # ymin, xmin, ymax, xmax
    likely = 1 / (1 + np.exp(-0.75))
    always = "apply_softmax" not in inspect.signature(vision.multibox_transform_loc).parameters  # until 0.26
    assert kept == pytest.approx(of([[[likely], [1 - likely]]] if always else [[[0.5], [0]]]), rel=1e-6)
    boxes, kept = computed(
        lambda *args: vision.multibox_transform_loc(*args, True, 0.0, (0.1, 0.1, 1, 1), False, True),
        scores,
        offsets,
        anchor,
    )
    assert boxes.tolist() == [[[0, 1, 1, 1]]]
    assert kept[0, 0] == 0
    assert kept[0, 1] == pytest.approx(1 / (1 + np.exp(0.75)), rel=1e-6)


IMAGE = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)


def test_a_region_is_averaged_over_samples() -> None:
    rois = of([[0, 0, 0, 2, 2]])
    one = computed(lambda x, r: vision.roi_align(x, r, (1, 1), 1.0, 1), IMAGE, rois)
    assert one.reshape(-1).tolist() == [5]  # the middle, (1, 1)
    four = computed(lambda x, r: vision.roi_align(x, r, (1, 2), 1.0, 2, mode="max"), IMAGE, rois)
    assert four.reshape(-1).tolist() == [6.75, 7.75]  # rows 0.5 and 1.5, columns 0.25, 0.75 | 1.25, 1.75
    assert computed(lambda x, r: vision.roi_align(x, r, (1, 1), 0.5, -1), IMAGE, rois).tolist() == [[[[2.5]]]]


def test_small_regions_are_widened_unless_aligned() -> None:
    rois = of([[0, 1, 1, 1.5, 1.5]])
    assert computed(lambda x, r: vision.roi_align(x, r, 1, 1.0, 1), IMAGE, rois).item() == 5 + 0.5 * 5
    assert computed(lambda x, r: vision.roi_align(x, r, 1, 1.0, 1, True), IMAGE, rois).item() == 5 + 0.25 * 5


def test_samples_more_than_a_pixel_outside_are_zero() -> None:
    inside, outside = of([[0, -1.5, -1.5, -0.5, -0.5]]), of([[0, -3, -3, -2, -2]])
    assert computed(lambda x, r: vision.roi_align(x, r, 1, 1.0, 1), IMAGE + 1, inside).item() == 1
    assert computed(lambda x, r: vision.roi_align(x, r, 1, 1.0, 1), IMAGE + 1, outside).item() == 0


def test_channels_may_come_last() -> None:
    data = np.concatenate([IMAGE, IMAGE + 100], axis=1)
    rois = of([[0, 0, 0, 2, 2]])
    first = computed(lambda x, r: vision.roi_align(x, r, (2, 1), 1.0, 1), data, rois)
    last = computed(lambda x, r: vision.roi_align(x, r, (2, 1), 1.0, 1, layout="NHWC"), np.moveaxis(data, 1, -1), rois)
    assert np.moveaxis(last, -1, 1).tolist() == first.tolist()
    assert first[0, 1, 0, 0] == first[0, 0, 0, 0] + 100


def test_bins_of_a_region_overlap_and_may_be_empty() -> None:
    rois = of([[0, 0, 0, 2, 2], [0, 6, 6, 7, 7]])
    made = computed(lambda x, r: vision.roi_pool(x, r, (2, 2), 1.0), IMAGE, rois)
    assert made[0].tolist() == [[[5, 6], [9, 10]]]  # rows 0-1 and 1-2: three rows, both corners included
    assert made[1].tolist() == [[[0, 0], [0, 0]]]  # nothing of it is in the image
    half = computed(lambda x, r: vision.roi_pool(x, r, (1, 1), 0.5), IMAGE, of([[0, 0, 0, 3, 3]]))
    assert half.item() == 10  # 1.5 is rounded to 2


def test_regions_of_an_image_that_is_not_there_are_not_judged() -> None:
    with pytest.raises(Undefined, match="not there"):
        computed(lambda x, r: vision.roi_pool(x, r, (1, 1), 1.0), IMAGE, of([[1, 0, 0, 2, 2]]))
