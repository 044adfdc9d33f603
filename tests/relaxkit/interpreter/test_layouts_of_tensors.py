"""Layouts: into the canonical order, back again, and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from relaxkit.interpreter import Unsupported
from relaxkit.interpreter.layouts import arranged, canonical


@pytest.mark.parametrize(
    ("layout", "order", "shape", "plain"),
    [
        ("NHWC", "NCHW", (2, 3, 4, 5), (2, 5, 3, 4)),
        ("NCHW4c", "NCHW", (1, 2, 3, 5, 4), (1, 8, 3, 5)),
        ("OIHW4i2o", "OIHW", (3, 1, 2, 2, 4, 2), (6, 4, 2, 2)),
        ("WNC", "NCW", (2, 3, 4), (3, 4, 2)),
    ],
)
def test_there_and_back(layout: str, order: str, shape: tuple[int, ...], plain: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    made = canonical(array, layout, order)
    assert made.shape == plain
    assert np.array_equal(arranged(made, order, layout), array)


def test_a_block_is_the_inner_part_of_its_axis() -> None:
    array = np.arange(8).reshape(1, 2, 1, 4)  # N C W 4c
    assert canonical(array, "NCW4c", "NCW").ravel().tolist() == list(range(8))
    array = np.arange(8).reshape(1, 2, 2, 2)
    assert canonical(array, "NCW2c", "NCW").tolist() == [[[0, 2], [1, 3], [4, 6], [5, 7]]]


def test_what_is_refused() -> None:
    with pytest.raises(Unsupported, match="axes"):
        canonical(np.zeros((1, 1, 1)), "NCX", "NCW")
    with pytest.raises(Unsupported, match="form"):
        canonical(np.zeros((1, 1, 1, 1)), "NCWc", "NCW")
    with pytest.raises(Unsupported, match="divide"):
        arranged(np.zeros((1, 3, 1)), "NCW", "NCW2c")
