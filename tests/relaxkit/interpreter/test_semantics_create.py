"""Tensors made from nothing: dtypes asked for, diagonals outside, lengths of ranges, indices that name no place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax, tirx

from relaxkit.interpreter import Undefined

op = relax.op


def of(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def test_full_converts_the_scalar() -> None:
    assert computed(lambda f: op.full((2,), f), of(-1, "int8")).dtype == "int8"
    assert computed(lambda f: op.full((2, 1), f, "uint8"), of(-1, "int32")).tolist() == [[255], [255]]
    assert computed(lambda f: op.full((1,), f, "int32"), of(-1.7, "float32")).tolist() == [-1]
    assert computed(lambda f: op.full((1,), f, "bool"), of(0.5, "float32")).tolist() == [True]
    with pytest.raises(Undefined, match="integer"):
        computed(lambda f: op.full((1,), f, "int8"), of(300, "float32"))


def test_likes_take_the_dtype_of_the_tensor() -> None:
    like = np.zeros((2, 0), "float16")
    assert computed(lambda x, f: op.full_like(x, f), like, of(2, "int64")).dtype == "float16"
    assert computed(lambda x: op.ones_like(x), like).shape == (2, 0)
    assert computed(lambda x: op.zeros_like(x, "int8"), like).dtype == "int8"
    assert computed(lambda: op.ones((2,), "bfloat16")).tolist() == [1, 1]


def test_eye() -> None:
    assert computed(lambda: op.eye(2, 3, 1, "int32")).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert computed(lambda: op.eye(2, 2, -1, "bool")).tolist() == [[False, False], [True, False]]
    assert not computed(lambda: op.eye(3, None, 9)).any()
    made = computed(lambda x: op.eye_like(x, 0, "float32"), np.zeros((1, 2), "int8"))
    assert made.tolist() == [[1, 0]]
    assert made.dtype == "float32"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((3,), [0, 1, 2]),
        ((1, 6, 2), [1, 3, 5]),
        ((1, 7, 2), [1, 3, 5]),
        ((2, -2, -2), [2, 0]),
        ((-2, -3, -1), [-2]),
        ((5, 3, 1), []),
        ((0.0, 1.0, 0.25), [0, 0.25, 0.5, 0.75]),
    ],
)
def test_range_ends_before_its_end(arguments: tuple[Any, ...], expected: list[float]) -> None:
    assert computed(lambda: op.arange(*arguments)).tolist() == expected


def test_range_of_great_integers_is_exact() -> None:
    assert computed(lambda: op.arange(2**60, 2**60 + 2)).tolist() == [2**60, 2**60 + 1]


def test_hamming_windows() -> None:
    symmetric = computed(lambda: op.hamming_window(3, 0, 0.54, 0.46, "float64"))
    assert symmetric == pytest.approx([0.08, 1.0, 0.08])
    periodic = computed(lambda: op.hamming_window(3, 1, 0.5, 0.5, "float64"))
    assert periodic == pytest.approx([0, 0.75, 0.75])
    assert periodic[1] == 0.5 - 0.5 * math.cos(2 * math.pi / 3)


def test_triangles_of_each_matrix() -> None:
    batch = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "int8")
    assert computed(lambda x: op.tril(x), batch).tolist() == [[[1, 0], [3, 4]], [[5, 0], [7, 8]]]
    assert computed(lambda x: op.triu(x, 1), batch).tolist() == [[[0, 2], [0, 0]], [[0, 6], [0, 0]]]
    assert computed(lambda x: op.triu(x, -5), batch).tolist() == batch.tolist()
    # What is cut off is zero, also where it was not a number.
    assert computed(lambda x: op.tril(x, -1), np.full((2, 2), np.nan, "float32"))[0].tolist() == [0, 0]


def test_one_hot_along_each_axis() -> None:
    indices = of([[0, 2]], "int32")
    assert computed(lambda i: op.one_hot(i, 1, 0, 3, -1), indices).tolist() == [[[1, 0, 0], [0, 0, 1]]]
    assert computed(lambda i: op.one_hot(i, 1, 0, 3, 1), indices).tolist() == [[[1, 0], [0, 0], [0, 1]]]
    assert computed(lambda i: op.one_hot(i, 1, 0, 2, 0), indices).tolist() == [[[1, 0]], [[0, 0]]]


def test_one_hot_of_indices_that_name_no_place() -> None:
    on, off = tirx.FloatImm("float16", 2), tirx.FloatImm("float16", -1)
    made = computed(lambda i: op.one_hot(i, on, off, 2), of([-1, 2, 2**32], "int64"))
    assert made.dtype == "float16"
    assert (made == -1).all()
