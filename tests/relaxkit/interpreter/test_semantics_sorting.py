"""Sorts, selections, buckets: both directions, stability, extremes, borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

op = relax.op


def of(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def test_sort_of_lines() -> None:
    values = of([[3, 1, 2], [0, -1, 5]], "float32")
    assert computed(lambda x: op.sort(x), values).tolist() == [[1, 2, 3], [-1, 0, 5]]
    assert computed(lambda x: op.sort(x, -2, True), values).tolist() == [[3, 1, 5], [0, -1, 2]]


def test_the_least_integer_is_the_last_in_descending_order() -> None:
    values = of([0, -(2**63), 2**63 - 1], "int64")
    assert computed(lambda x: op.sort(x, 0, True), values).tolist() == [2**63 - 1, 0, -(2**63)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16"])
def test_low_precision_is_sorted_by_value(dtype: str) -> None:
    values = of([1, -2, 0.5, -0.5], dtype)
    result = computed(lambda x: op.sort(x), values)
    assert result.dtype == values.dtype
    assert result.astype("float32").tolist() == [-2, -0.5, 0.5, 1]


def test_equal_elements_keep_their_order_in_both_directions() -> None:
    values = of([1, 2, 1, 2], "int32")
    assert computed(lambda x: op.argsort(x), values).tolist() == [0, 2, 1, 3]
    assert computed(lambda x: op.argsort(x, -1, True, "int64"), values).tolist() == [1, 3, 0, 2]
    assert computed(lambda x: op.argsort(x, -1, True, "int64"), values).dtype == "int64"


def test_order_of_nan_is_undefined() -> None:
    with pytest.raises(Undefined, match="NaN"):
        computed(lambda x: op.sort(x), of([1, np.nan], "float32"))


def test_topk() -> None:
    values = of([[3, 9], [7, 1], [7, 5]], "float32")
    best, index = computed(lambda x: op.topk(x, 2, 0), values)
    assert best.tolist() == [[7, 9], [7, 5]]
    assert index.tolist() == [[1, 0], [2, 2]]
    assert index.dtype == "int32"
    assert computed(lambda x: op.topk(x, 1, 1, "values", False), values).tolist() == [[3], [1], [5]]
    assert computed(lambda x: op.topk(x, 1, -1, "indices", True, "int64"), values).tolist() == [[1], [0], [0]]


@pytest.mark.parametrize("count", [0, -1])
def test_topk_of_less_than_one_is_all(count: int) -> None:
    assert computed(lambda x: op.topk(x, count, ret_type="values"), of([1, 3, 2], "int32")).tolist() == [3, 2, 1]


def test_topk_of_more_than_there_are_is_undefined() -> None:
    with pytest.raises(Undefined, match="more elements"):
        computed(lambda x: op.topk(x, 4), of([1, 2, 3], "float32"))


def test_buckets() -> None:
    values, boundaries = of([[0, 1], [2, 9]], "int32"), of([1, 2, 4], "int32")
    left = computed(lambda x, b: op.bucketize(x, b), values, boundaries)
    assert left.tolist() == [[0, 0], [1, 3]]  # boundaries[i - 1] < x <= boundaries[i]
    assert left.dtype == "int64"
    right = computed(lambda x, b: op.bucketize(x, b, out_int32=True, right=True), values, boundaries)
    assert right.tolist() == [[0, 1], [2, 3]]  # boundaries[i - 1] <= x < boundaries[i]
    assert right.dtype == "int32"


def test_bucket_of_a_scalar_is_a_tensor() -> None:
    place = computed(lambda x, b: op.bucketize(x, b), of(2, "float32"), of([1, 2], "float32"))
    assert isinstance(place, np.ndarray)
    assert place.shape == ()
    assert place == 1


def test_buckets_of_great_integers_are_exact() -> None:
    values, boundaries = of([2**53 + 1], "int64"), of([2**53, 2**53 + 1], "int64")
    assert computed(lambda x, b: op.bucketize(x, b), values, boundaries).tolist() == [1]


def test_boundaries_that_do_not_ascend_are_undefined() -> None:
    with pytest.raises(Undefined, match="ascend"):
        computed(lambda x, b: op.bucketize(x, b), of([0], "float32"), of([1, 1], "float32"))
