"""Resizing, grids and pixel shuffles by hand: coordinates of each mode, rounding, borders, padding beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from older_releases import needs_unaligned_grids
from one_operator import computed, listed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

image = relax.op.image


def row(*values: float, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """An image of one row."""
    return np.asarray(values).astype(dtype).reshape(1, 1, 1, -1)


def resized(data: Any, width: int, method: str, mode: str, rounding: str = "", **more: Any) -> list[Any]:
    """The row that a row is resized to."""
    made = computed(
        lambda x: image.resize2d(
            x, (1, width), method=method, coordinate_transformation_mode=mode, rounding_method=rounding, **more
        ),
        data,
    )
    assert made.dtype == data.dtype
    return listed(made.reshape(-1))


@pytest.mark.parametrize(
    ("mode", "places"),
    [
        ("half_pixel", [-0.25, 0.25, 0.75, 1.25, 1.75, 2.25]),
        ("pytorch_half_pixel", [-0.25, 0.25, 0.75, 1.25, 1.75, 2.25]),
        ("asymmetric", [0, 0.5, 1, 1.5, 2, 2.5]),
        ("align_corners", [0, 0.4, 0.8, 1.2, 1.6, 2]),
        ("tf_half_pixel_for_nn", [0.25, 0.75, 1.25, 1.75, 2.25, 2.75]),
    ],
)
def test_coordinates_of_linear_interpolation(mode: str, places: list[float]) -> None:
    """Three pixels become six; beyond the ends are the end pixels."""
    wanted = [10 * min(max(place, 0), 2) for place in places]
    assert np.allclose(resized(row(0, 10, 20), 6, "linear", mode), wanted, atol=1e-5)


def test_one_pixel_is_in_the_middle_or_at_the_beginning() -> None:
    data = row(0, 10, 20, 30)
    assert resized(data, 1, "linear", "half_pixel") == [15]
    assert resized(data, 1, "linear", "pytorch_half_pixel") == [0]
    assert resized(data, 1, "linear", "align_corners") == [0]
    crop: dict[str, Any] = {"roi": (0.0, 0.0, 1.0, 0.5)}
    assert resized(data, 1, "linear", "tf_crop_and_resize", **crop) == [7.5]  # half of the way between 0 and 0.5


def test_what_is_cropped_beyond_the_image_is_extrapolated() -> None:
    crop: dict[str, Any] = {"roi": (0.0, 0.5, 0.0, 1.5), "extrapolation_value": -1.0}
    assert resized(row(0, 10, 20), 5, "linear", "tf_crop_and_resize", **crop) == [10, 15, 20, -1, -1]


@pytest.mark.parametrize(
    ("rounding", "wanted"),
    [
        ("floor", [0, 0, 1, 2, 3]),
        ("ceil", [0, 1, 2, 3, 3]),
        ("round_prefer_floor", [0, 1, 1, 2, 3]),
        ("round_prefer_ceil", [0, 1, 2, 2, 3]),
    ],
)
def test_the_nearest_pixel(rounding: str, wanted: list[int]) -> None:
    """At 0, 0.75, 1.5, 2.25 and 3."""
    data = row(0, 1, 2, 3)
    assert resized(data, 5, "nearest_neighbor", "align_corners", rounding) == wanted


def test_halves_are_rounded_somewhere() -> None:
    """``round`` says no more; without a method it is meant where corners are aligned."""
    for rounding in ("round", ""):
        assert resized(row(0, 1, 2, 3), 4, "nearest_neighbor", "align_corners", rounding) == [0, 1, 2, 3]
        with pytest.raises(Undefined, match="halves"):
            resized(row(0, 1, 2, 3), 5, "nearest_neighbor", "align_corners", rounding)


def test_the_nearest_pixel_is_copied_in_full() -> None:
    """Whatever the dtype: integers that no float32 holds, and every digit of a float64."""
    large = row(2**24 + 1, -(2**31), dtype="int32")
    assert resized(large, 2, "nearest_neighbor", "asymmetric", "floor") == [2**24 + 1, -(2**31)]
    assert resized(row(1 / 3, dtype="float64"), 2, "nearest_neighbor", "asymmetric", "floor") == [1 / 3] * 2


def test_cubic_weights_are_keys() -> None:
    """At 0.25 beyond a pixel, alpha -0.5: -0.0703125, 0.8671875, 0.2265625, -0.0234375."""
    data = row(0, 0, 1, 0, 0)
    found = resized(data, 10, "cubic", "half_pixel", cubic_alpha=-0.5)
    assert found[5] == 0.8671875
    assert found[3] == 0.2265625
    assert found[7] == -0.0703125
    assert found[1] == -0.0234375


def test_pixels_outside_may_have_no_weight() -> None:
    """At -0.25 the taps are -2, -1, 0 and 1: two of them do not exist, and the others are made to sum to one."""
    far, near = -0.0234375, 0.2265625  # of distance 1.75, 1.25 (swapped ends) and 0.75, 0.25 as above
    one, two = 0.8671875, -0.0703125
    with_border = resized(row(8, 0), 4, "cubic", "half_pixel", cubic_alpha=-0.5)[0]
    without = resized(row(8, 0), 4, "cubic", "half_pixel", cubic_alpha=-0.5, cubic_exclude=1)[0]
    assert with_border == pytest.approx(8 * (far + near + one), rel=1e-6)
    assert without == pytest.approx(8 * one / (one + two), rel=1e-6)


def test_each_axis_is_resized_on_its_own_in_every_layout() -> None:
    data = np.arange(12, dtype="float32").reshape(1, 1, 3, 4)
    wanted = computed(lambda x: image.resize2d(x, (2, 2), method="linear"), data)
    assert wanted.reshape(-1).tolist() == [1.5, 3.5, 7.5, 9.5]  # rows at 0.25 and 1.75, columns at 0.5 and 2.5
    last = computed(lambda x: image.resize2d(x, (2, 2), layout="NHWC"), np.moveaxis(data, 1, -1))
    assert np.moveaxis(last, -1, 1).tolist() == wanted.tolist()
    blocked = computed(lambda x: image.resize2d(x, (2, 2), layout="NCHW2c"), np.stack([data, data + 1], axis=-1))
    assert blocked[..., 1].tolist() == (wanted + 1).tolist()


def test_a_region_of_a_volume_has_its_corners_in_the_order_of_the_axes() -> None:
    """``[start_d, start_h, start_w, end_d, end_h, end_w]``, as documented."""
    data = np.arange(27, dtype="float32").reshape(1, 1, 3, 3, 3)
    made = computed(
        lambda x: image.resize3d(
            x,
            (2, 2, 2),
            roi=(0.0, 0.0, 0.5, 1.0, 1.0, 1.0),
            method="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
        ),
        data,
    )
    assert made.reshape(-1).tolist() == [1, 2, 7, 8, 19, 20, 25, 26]


def test_integers_lose_their_fraction_where_it_is_not_an_accident() -> None:
    assert resized(row(0, 3, dtype="int8"), 4, "linear", "half_pixel") == [0, 0, 2, 3]  # 0, 0.75, 2.25, 3
    assert resized(row(0, -3, dtype="int8"), 4, "linear", "half_pixel") == [0, 0, -2, -3]
    with pytest.raises(Undefined, match="truncated"):
        resized(row(3, 3, dtype="int8"), 3, "linear", "half_pixel")  # 3, by thirds: or 2.9999998
    with pytest.raises(Undefined, match="range"):
        resized(row(0, 255, 255, 0, dtype="uint8"), 8, "cubic", "half_pixel")


def grid_of(*points: tuple[float, float]) -> np.ndarray[Any, Any]:
    """A grid of one row of points ``(x, y)``."""
    return np.array(points, "float32").T.reshape(1, 2, 1, -1)


PLANE = np.array([[0, 1, 2], [10, 11, 12]], "float32").reshape(1, 1, 2, 3)


def sampled(grid: Any, **more: Any) -> list[float]:
    made = computed(lambda x, g: image.grid_sample(x, g, **more), PLANE, grid)
    return listed(made.reshape(-1))


def test_a_grid_has_x_first_and_corners_at_one() -> None:
    corners = grid_of((-1, -1), (1, -1), (-1, 1), (0, 0))
    assert sampled(corners, align_corners=True) == [0, 2, 10, 6]
    # Else the corner is the pixel's own corner: a quarter of its weight is inside.
    assert sampled(corners, align_corners=False) == [0, 0.5, 2.5, 6]


@pytest.mark.parametrize(
    ("padding", "aligned", "wanted"),
    [
        ("zeros", True, [0, 0, 1]),
        ("border", True, [2, 0, 1]),
        ("reflection", True, [0, 2, 1]),  # x = 4 and -2 pixels, reflected at the pixels 0 and 2
        ("zeros", False, [0, 0, 1]),
        ("border", False, [2, 0, 1]),
        ("reflection", False, [0, 2, 1]),  # 5 is reflected at 2.5 to 0, and -3 at -0.5 to 2
    ],
)
def test_beyond_the_border(padding: str, aligned: bool, wanted: list[float]) -> None:
    y = -1.0 if aligned else -0.5  # the first row
    right = 3.0 if aligned else 8 / 3  # pixel 4, or (11/3 * 3 - 1) / 2 = 5
    left = -3.0 if aligned else -8 / 3  # pixel -2, or (-5/3 * 3 - 1) / 2 = -3
    points = grid_of((right, y), (left, y), (0, y))
    assert sampled(points, padding_mode=padding, align_corners=aligned, method="nearest") == pytest.approx(wanted)


def test_the_nearest_sample_of_a_half_is_the_even_one() -> None:
    # Pixels 0.5 and 1.5 of three, as torch.nn.functional.grid_sample does by nearbyint.
    assert sampled(grid_of((-0.5, -1), (0.5, -1)), method="nearest", align_corners=True) == [0, 2]


def test_a_cubic_sample_of_a_line_is_on_the_line() -> None:
    """Far from the border; weights of -0.75 at 0.5 are -0.09375 and 0.59375."""
    data = np.arange(6, dtype="float64").reshape(1, 1, 1, 6) ** 2
    made = computed(
        lambda x, g: image.grid_sample(x, g, method="bicubic", align_corners=True, padding_mode="border"),
        data,
        grid_of((0.0, 0.0)),
    )
    assert made.item() == pytest.approx(-0.09375 * (1 + 16) + 0.59375 * (4 + 9))


def test_a_position_that_is_no_number_is_not_judged() -> None:
    with pytest.raises(Undefined, match="not a number"):
        sampled(grid_of((np.nan, 0)))


IDENTITY = np.array([[[1, 0, 0], [0, 1, 0]]], "float64")


def test_the_aligned_grid_of_the_identity() -> None:
    aligned = computed(lambda t: image.affine_grid(t, (2, 3), True), IDENTITY)
    assert aligned[0, 0].tolist() == [[-1, 0, 1]] * 2
    assert aligned[0, 1].tolist() == [[-1] * 3, [1] * 3]


@needs_unaligned_grids
def test_the_centred_grid_of_the_identity() -> None:
    centred = computed(lambda t: image.affine_grid(t, (2, 3), False), IDENTITY)
    assert centred[0, 0] == pytest.approx(np.array([[-2 / 3, 0, 2 / 3]] * 2))
    assert centred[0, 1].tolist() == [[-0.5] * 3, [0.5] * 3]


@needs_unaligned_grids
def test_a_grid_of_a_volume_has_x_first() -> None:
    theta = np.zeros((1, 3, 4), "float32")
    theta[0, 0, 2], theta[0, 2, 0], theta[0, 1, 3] = 2, 1, 5  # x = 2 z, y = 5, z = x
    made = computed(lambda t: image.affine_grid(t, (2, 1, 2), False), theta, precision=Precision.FLOAT64)
    assert made.shape == (1, 3, 2, 1, 2)
    assert made[0, 0, :, 0].tolist() == [[-1, -1], [1, 1]]
    assert made[0, 1].tolist() == [[[5, 5]], [[5, 5]]]
    assert made[0, 2, :, 0].tolist() == [[-0.5, 0.5], [-0.5, 0.5]]


@needs_unaligned_grids
def test_infinity_at_the_coordinate_zero_is_not_judged() -> None:
    """bc9b70dc35: NaN was demanded where TVM, of an extent of one, leaves the term out."""
    theta = np.array([[[1, 0, 0], [np.inf, 1, 0]]], "float32")
    with pytest.raises(Undefined, match="coordinate zero"):
        computed(lambda t: image.affine_grid(t, (2, 1), False), theta)
    made = computed(lambda t: image.affine_grid(t, (2, 2), False), theta)
    assert made[0, 1].tolist() == [[-np.inf, np.inf]] * 2


def test_pixel_shuffle_is_pytorchs() -> None:
    data = np.arange(16).reshape(1, 8, 1, 2)
    made = computed(lambda x: relax.op.nn.pixel_shuffle(x, 2), data)
    assert made.tolist() == [[[[0, 2, 1, 3], [4, 6, 5, 7]], [[8, 10, 9, 11], [12, 14, 13, 15]]]]
