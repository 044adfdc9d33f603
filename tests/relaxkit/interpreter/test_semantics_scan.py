"""Scans: the examples of the documentation, the accumulator's dtype, exclusive ones, nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

op = relax.op
MATRIX = np.array([[1, 2, 3], [4, 5, 6]], "int32")


def of(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def test_examples_of_the_documentation() -> None:
    assert computed(lambda x: op.cumsum(x), MATRIX).tolist() == [1, 3, 6, 10, 15, 21]
    assert computed(lambda x: op.cumsum(x, 0), MATRIX).tolist() == [[1, 2, 3], [5, 7, 9]]
    assert computed(lambda x: op.cumprod(x), MATRIX).tolist() == [1, 2, 6, 24, 120, 720]
    assert computed(lambda x: op.cumprod(x, -1), MATRIX).tolist() == [[1, 2, 6], [4, 20, 120]]
    bools = of([1, 0, 1, 0, 1, 1, 0], "bool")
    assert computed(lambda x: op.cumsum(x, 0, "int32"), bools).tolist() == [1, 1, 2, 2, 3, 4, 4]


def test_exclusive_scans_begin_with_the_neutral_element() -> None:
    assert computed(lambda x: op.cumsum(x, 1, exclusive=True), MATRIX).tolist() == [[0, 1, 3], [0, 4, 9]]
    assert computed(lambda x: op.cumprod(x, 0, exclusive=True), MATRIX).tolist() == [[1, 1, 1], [1, 2, 3]]
    assert computed(lambda x: op.cumsum(x, exclusive=True), MATRIX).tolist() == [0, 1, 3, 6, 10, 15]


def test_elements_are_converted_before_they_are_added() -> None:
    assert computed(lambda x: op.cumsum(x, 0, "int32"), of([0.6, 0.6, 1.5], "float32")).tolist() == [0, 0, 1]
    assert computed(lambda x: op.cumsum(x, 0, "int32"), of([100, 100], "int8")).tolist() == [100, 200]
    assert computed(lambda x: op.cumsum(x, 0), of([100, 100], "int8")).tolist() == [100, -56]


def test_each_step_is_rounded_to_the_dtype_of_the_accumulator() -> None:
    narrow = computed(lambda x: op.cumsum(x, 0, "float16"), of([2048, 1, 1], "int32"))
    assert narrow.tolist() == [2048, 2048, 2048]
    wide = computed(lambda x: op.cumsum(x, 0, "float16"), of([2048, 1, 1], "int32"), precision=Precision.FLOAT64)
    assert wide.tolist() == [2048, 2049, 2050]


def test_scans_of_nothing() -> None:
    for scan in (partial(op.cumsum, axis=0), partial(op.cumsum, axis=0, exclusive=True)):
        assert computed(scan, np.zeros((0, 2), "float32")).shape == (0, 2)


def test_infinities_and_nan_go_on() -> None:
    sums = computed(lambda x: op.cumsum(x, 0), of([1, np.inf, -np.inf, 1], "float32"))
    assert sums[:2].tolist() == [1, np.inf]
    assert np.isnan(sums[2:]).all()


def test_what_is_not_defined() -> None:
    with pytest.raises(Undefined, match="booleans"):
        computed(lambda x: op.cumsum(x, 0), of([True], "bool"))
    with pytest.raises(Undefined, match="integer"):
        computed(lambda x: op.cumsum(x, 0, "int32"), of([np.nan], "float32"))
    with pytest.raises(Undefined, match="overflow"):
        computed(lambda x: op.cumsum(x, 0), of([3e38, 3e38, -3e38], "float32"))
