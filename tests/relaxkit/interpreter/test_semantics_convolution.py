"""Convolutions by hand: layouts, groups, dilation, padding on one side, wrap-around, the transpose as the adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

nn = relax.op.nn


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def grid(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Small integers in no pattern."""
    return of((np.arange(np.prod(shape)) * 7 % 11 - 5).reshape(shape), dtype)


def test_correlation_does_not_flip_the_kernel() -> None:
    made = computed(lambda x, w: nn.conv1d(x, w), of([[[1, 2, 3, 4]]]), of([[[1, 10]]]))
    assert made.tolist() == [[[21, 32, 43]]]


def test_stride_dilation_and_padding_on_one_side() -> None:
    # Padded to 0 1 2 3 4 5: taps two apart, windows at 0 and 3.
    made = computed(lambda x, w: nn.conv1d(x, w, 3, [1, 0], 2), of([[[1, 2, 3, 4, 5]]]), of([[[1, 10]]]))
    assert made.tolist() == [[[20, 53]]]


def test_groups_see_their_channels_only() -> None:
    data = of([[[1], [2], [3], [4]]])
    weight = of([[[1], [10]], [[1], [100]], [[1], [10]], [[1], [100]]])
    made = computed(lambda x, w: nn.conv1d(x, w, groups=2), data, weight)
    assert made[0, :, 0].tolist() == [21, 201, 43, 403]


def test_every_tap_of_two_dimensions() -> None:
    data, weight = grid(2, 3, 5, 6), grid(4, 3, 2, 3)
    made = computed(lambda x, w: nn.conv2d(x, w, (2, 1), (1, 0, 0, 1), (1, 2)), data, weight)
    wide = np.zeros((2, 3, 6, 7))
    wide[:, :, 1:, :6] = data
    assert made.shape == (2, 4, 3, 3)
    for y, x in np.ndindex(3, 3):
        window = wide[:, :, 2 * y : 2 * y + 2, x : x + 5 : 2]
        assert np.array_equal(made[:, :, y, x], np.einsum("nchw,ochw->no", window, weight))


def test_layouts_are_orders_of_the_same_numbers() -> None:
    data, weight = grid(2, 4, 5, 3), grid(6, 4, 2, 2)
    usual = computed(lambda x, w: nn.conv2d(x, w, (2, 1)), data, weight)
    other = computed(
        lambda x, w: nn.conv2d(x, w, (2, 1), data_layout="NHWC", kernel_layout="HWIO"),
        np.ascontiguousarray(data.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(weight.transpose(2, 3, 1, 0)),
    )
    assert np.array_equal(other.transpose(0, 3, 1, 2), usual)
    out = computed(lambda x, w: nn.conv2d(x, w, (2, 1), out_layout="HWNC"), data, weight)
    assert np.array_equal(out.transpose(2, 3, 0, 1), usual)


def test_strides_are_of_height_and_width_in_any_layout() -> None:
    data, weight = grid(1, 2, 5, 6), grid(1, 2, 3, 2)
    usual = computed(lambda x, w: nn.conv2d(x, w), data, weight)
    turned = np.ascontiguousarray(weight.transpose(0, 1, 3, 2))
    made = computed(lambda x, w: nn.conv2d(x, w, kernel_layout="OIWH"), data, turned)
    assert np.array_equal(made, usual)


def test_blocks_of_channels_are_merged_and_split() -> None:
    data, weight = grid(1, 8, 3, 3), grid(8, 8, 2, 2)
    usual = computed(lambda x, w: nn.conv2d(x, w), data, weight)
    blocked = data.reshape(1, 2, 4, 3, 3).transpose(0, 1, 3, 4, 2)
    kernel = weight.reshape(2, 4, 2, 4, 2, 2).transpose(0, 2, 4, 5, 3, 1)
    made = computed(
        lambda x, w: nn.conv2d(x, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o"),
        np.ascontiguousarray(blocked),
        np.ascontiguousarray(kernel),
    )
    assert np.array_equal(made.transpose(0, 1, 4, 2, 3).reshape(usual.shape), usual)


def test_three_dimensions_and_an_empty_batch() -> None:
    assert computed(lambda x, w: nn.conv3d(x, w), of(np.ones((1, 2, 2, 3, 4))), of(np.ones((1, 2, 2, 3, 4)))) == 48
    assert computed(lambda x, w: nn.conv2d(x, w), grid(0, 2, 3, 3), grid(4, 2, 1, 1)).shape == (0, 4, 3, 3)


def test_integers_wrap_around_in_the_dtype_of_the_result() -> None:
    data, weight = of([[[100, 100]]], "int8"), of([[[1, 1]]], "int8")
    assert computed(lambda x, w: nn.conv1d(x, w), data, weight).tolist() == [[[-56]]]
    wide = computed(lambda x, w: nn.conv1d(x, w, out_dtype="int32"), data, weight)
    assert wide.dtype == "int32"
    assert wide.tolist() == [[[200]]]


def test_low_precision_is_rounded_once() -> None:
    data, weight = of([[[1, 2**-11, 2**-11]]], "float16"), of([[[1, 1, 1]]], "float16")
    made = computed(lambda x, w: nn.conv1d(x, w), data, weight)
    assert made.dtype == "float16"
    assert made.item() == 1 + 2**-10
    exact = computed(lambda x, w: nn.conv1d(x, w), data, weight, precision=Precision.FLOAT64)
    assert exact.dtype == "float64"


def test_infinity_meets_the_zeros_of_padding() -> None:
    made = computed(lambda x, w: nn.conv1d(x, w, padding=1), of([[[1, 2]]]), of([[[np.inf, 1, 1]]]))
    assert np.isnan(made[0, 0, 0])
    assert made[0, 0, 1] == np.inf


def test_sums_that_overflow_in_some_order_are_not_defined() -> None:
    with pytest.raises(Undefined, match="overflow"):
        computed(lambda x, w: nn.conv1d(x, w), of([[[3e38, 3e38, -3e38]]]), of([[[1, 1, 1]]]))


def test_transpose_adds_a_kernel_for_each_element() -> None:
    made = computed(lambda x, w: nn.conv1d_transpose(x, w, 2), of([[[1, 2]]]), of([[[1, 10, 100]]]))
    assert made.tolist() == [[[1, 10, 102, 20, 200]]]
    made = computed(lambda x, w: nn.conv1d_transpose(x, w, 2, [1, 2], 1), of([[[1, 2]]]), of([[[1, 10, 100]]]))
    assert made.tolist() == [[[10, 102, 20]]]


@pytest.mark.parametrize("groups", [1, 2])
def test_transpose_is_the_adjoint_of_the_convolution(groups: int) -> None:
    weight, strides, padding, dilation = grid(4, 4 // groups, 3, 2), (2, 1), (1, 0, 2, 1), (1, 2)
    data = grid(2, 4, 7, 6)
    forward = computed(lambda x, w: nn.conv2d(x, w, strides, padding, dilation, groups), data, weight)
    grad = grid(*forward.shape)
    back = computed(lambda g, w: nn.conv2d_transpose(g, w, strides, padding, (1, 0), dilation, groups), grad, weight)
    assert back.shape == data.shape
    assert np.sum(forward * grad) == np.sum(back * data)


def test_transpose_of_three_dimensions_and_of_a_kernel_that_is_not_finite() -> None:
    made = computed(
        lambda x, w: nn.conv3d_transpose(x, w, 2), of(np.ones((1, 1, 1, 2, 1))), of(np.ones((1, 2, 2, 2, 2)))
    )
    assert made.shape == (1, 2, 2, 4, 2)
    assert np.all(made == 1)
    with pytest.raises(Undefined, match="finite"):
        computed(lambda x, w: nn.conv1d_transpose(x, w, 2), of([[[1, 2]]]), of([[[np.inf]]]))


def test_transpose_by_a_dilated_kernel_of_data_that_is_not_finite_is_not_defined() -> None:
    data, kernel = of([[[1, np.nan]]]), of([[[1, 10]]])
    assert np.array_equal(
        computed(lambda x, w: nn.conv1d_transpose(x, w, 2), data, kernel),
        of([[[1, 10, np.nan, np.nan]]]),
        equal_nan=True,
    )
    with pytest.raises(Undefined, match="dilated kernel"):
        computed(lambda x, w: nn.conv1d_transpose(x, w, 1, 0, 0, 2), data, kernel)
