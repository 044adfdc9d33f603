"""Pools by hand: windows that ceil adds, what an average counts, padding that is no maximum, boxes that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

nn = relax.op.nn


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def line(*values: float, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return of([[values]], dtype)


def test_maximum_of_negative_numbers_is_not_the_padding() -> None:
    made = computed(lambda x: nn.max_pool1d(x, 2, 1, [1, 1]), line(-3, -1, -2))
    assert made.tolist() == [[[-3, -1, -1, -2]]]
    assert computed(lambda x: nn.max_pool1d(x, 2, 1, [1, 0]), line(-128, -3, dtype="int8")).tolist() == [[[-128, -3]]]
    assert computed(lambda x: nn.max_pool1d(x, 2, 1, [1, 0]), line(-np.inf, 1)).tolist() == [[[-np.inf, 1]]]


def test_maximum_of_windows_with_gaps() -> None:
    made = computed(lambda x: nn.max_pool1d(x, 2, 1, 0, 2), line(5, 9, 1, 2))
    assert made.tolist() == [[[5, 9]]]


def test_ceil_adds_a_window_that_starts_inside() -> None:
    assert computed(lambda x: nn.max_pool1d(x, 2, 2), line(1, 2, 3)).tolist() == [[[2]]]
    assert computed(lambda x: nn.max_pool1d(x, 2, 2, ceil_mode=True), line(1, 2, 3)).tolist() == [[[2, 3]]]
    # A third window would start in the far padding.
    made = computed(lambda x: nn.max_pool1d(x, 2, 3, [1, 1], ceil_mode=True), line(1, 2, 3, 4, 5))
    assert made.tolist() == [[[1, 4]]]


def test_maximum_that_is_not_defined() -> None:
    with pytest.raises(Undefined, match="NaN"):
        computed(lambda x: nn.max_pool1d(x, 2), line(1, np.nan))
    with pytest.raises(Undefined, match="padding alone"):
        computed(lambda x: nn.max_pool1d(x, 1, 1, [1, 0]), line(1, 2))


def test_average_counts_padding_or_not() -> None:
    made = computed(lambda x: nn.avg_pool1d(x, 3, 2, [1, 1], count_include_pad=True), line(3, 6, 9))
    assert made.tolist() == [[[3, 5]]]
    made = computed(lambda x: nn.avg_pool1d(x, 3, 2, [1, 1], count_include_pad=False), line(3, 6, 9))
    assert made.tolist() == [[[4.5, 7.5]]]


def test_average_never_counts_what_ceil_adds() -> None:
    for include in (True, False):
        made = computed(lambda x, include=include: nn.avg_pool1d(x, 2, 2, 0, 1, True, include), line(1, 3, 5))
        assert made.tolist() == [[[2, 5]]]
    # Of the last window one tap is an element, one padding, one neither.
    made = computed(lambda x: nn.avg_pool1d(x, 3, 2, [1, 1], 1, True, True), line(1, 2, 3, 4, 5, 6))
    assert made.tolist() == [[[1, 3, 5, 3]]]


def test_average_of_integers_is_rounded_towards_zero() -> None:
    made = computed(lambda x: nn.avg_pool1d(x, 2), line(-3, 0, 3, 0, -1, dtype="int64"))
    assert made.dtype == "int64"
    assert made.tolist() == [[[-1, 1, 1, 0]]]
    made = computed(lambda x: nn.avg_pool1d(x, 2), line(100, 100, dtype="int8"))
    assert made.dtype == "int8"
    assert made.tolist() == [[[100]]]


def test_average_of_low_precision_is_rounded_once() -> None:
    made = computed(lambda x: nn.avg_pool1d(x, 3), line(1, 2**-11, 2**-11, dtype="float16"))
    assert made.item() == np.float16((1 + 2**-10) / 3)


def test_rectangles_in_another_layout() -> None:
    data = of(np.arange(24)).reshape(1, 3, 4, 2)  # N H W C
    made = computed(lambda x: nn.max_pool2d(x, (2, 3), (1, 1), layout="NHWC"), data)
    assert made.tolist() == [[[[12, 13], [14, 15]], [[20, 21], [22, 23]]]]
    averaged = computed(lambda x: nn.avg_pool2d(x, (2, 3), layout="NHWC"), data)
    assert averaged.tolist() == [[[[6, 7], [8, 9]], [[14, 15], [16, 17]]]]


def test_blocks_and_three_dimensions() -> None:
    data = of(np.arange(16)).reshape(1, 1, 2, 2, 4)
    assert computed(lambda x: nn.max_pool2d(x, 2, layout="NCHW4c"), data).tolist() == [[[[[12, 13, 14, 15]]]]]
    cube = of(np.arange(8)).reshape(1, 1, 2, 2, 2)
    assert computed(lambda x: nn.avg_pool3d(x, 2), cube).item() == 3.5
    assert computed(lambda x: nn.max_pool3d(x, (2, 1, 1)), cube).ravel().tolist() == [4, 5, 6, 7]


def test_adaptive_boxes_overlap() -> None:
    # From floor(i * 5 / 3) to ceil((i + 1) * 5 / 3): 0-2, 1-4, 3-5.
    made = computed(lambda x: nn.adaptive_avg_pool1d(x, 3), line(1, 3, 5, 7, 9))
    assert made.tolist() == [[[2, 5, 8]]]
    made = computed(lambda x: nn.adaptive_avg_pool1d(x, 4), line(1, 3))
    assert made.tolist() == [[[1, 1, 3, 3]]]


def test_adaptive_boxes_by_axis() -> None:
    data = of([[[[1, 2, 3], [4, 5, 6], [100, 200, np.inf]]]])
    made = computed(lambda x: nn.adaptive_avg_pool2d(x, (3, 1)), data)
    assert made.tolist() == [[[[2], [5], [np.inf]]]]
    assert np.array_equal(computed(lambda x: nn.adaptive_avg_pool2d(x), data), data)
    turned = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    assert computed(lambda x: nn.adaptive_avg_pool2d(x, (1, 2), "NHWC"), turned[:, :2]).ravel().tolist() == [3, 4]
    cube = of(np.arange(8)).reshape(1, 1, 2, 2, 2)
    assert computed(lambda x: nn.adaptive_avg_pool3d(x, 1), cube).item() == 3.5
