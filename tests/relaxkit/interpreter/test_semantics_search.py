"""Searches: first of equals, least values, scalars, first occurrences, borders of shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

op = relax.op


def of(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def test_the_first_of_equals() -> None:
    values = of([[1, 5, 5], [0, -7, -7]], "int32")
    assert computed(lambda x: op.argmax(x, 1), values).tolist() == [1, 0]
    assert computed(lambda x: op.argmin(x, -1, keepdims=True), values).tolist() == [[0], [1]]
    assert computed(lambda x: op.argmax(x), values) == 1
    assert computed(lambda x: op.argmin(x, keepdims=True), values).tolist() == [[4]]
    assert computed(lambda x: op.argmax(x), values).dtype == "int64"


@pytest.mark.parametrize(
    ("dtype", "least"), [("uint8", 0), ("int8", -128), ("int64", -(2**63)), ("float32", -np.inf), ("bfloat16", -np.inf)]
)
def test_the_greatest_of_the_least_values_is_the_first(dtype: str, least: float) -> None:
    assert computed(lambda x: op.argmax(x), of([least, least], dtype)) == 0


def test_extreme_of_nothing_or_nan_is_undefined() -> None:
    with pytest.raises(Undefined, match="nothing"):
        computed(lambda x: op.argmax(x, 0), np.zeros((0, 2), "float32"))
    with pytest.raises(Undefined, match="NaN"):
        computed(lambda x: op.argmin(x), of([0, np.nan], "float32"))


def test_zeros_of_both_signs_are_equal() -> None:
    assert computed(lambda x: op.argmax(x), of([-0.0, 0.0], "float32")) == 0


def test_nonzero_has_a_row_per_dim() -> None:
    assert computed(lambda x: op.nonzero(x), of([[0, 1], [2, 0]], "int8")).tolist() == [[0, 1], [1, 0]]
    assert computed(lambda x: op.nonzero(x), of([0.0, -0.0, np.nan], "float32")).tolist() == [[2]]
    assert computed(lambda x: op.nonzero(x), of([False], "bool")).shape == (1, 0)
    assert computed(lambda x: op.nonzero(x), of(3, "int32")).shape == (0, 1)  # as ONNX says of scalars
    assert computed(lambda x: op.nonzero(x), of([1], "bfloat16")).dtype == "int64"


def test_unique_in_order_with_what_goes_with_it() -> None:
    values, index, inverse, counts = computed(
        lambda x: op.unique(x, True, True, True, True), of([[2, 1], [1, 3]], "float32")
    )
    assert values.tolist() == [1, 2, 3]
    assert index.tolist() == [1, 0, 3]
    assert inverse.tolist() == [1, 0, 0, 2]
    assert counts.tolist() == [2, 1, 1]


def test_unique_by_first_occurrence() -> None:
    values, inverse, counts = computed(lambda x: op.unique(x, False, False, True, True), of([5, 1, 5, 3, 1], "int64"))
    assert values.tolist() == [5, 1, 3]
    assert inverse.tolist() == [0, 1, 0, 2, 1]
    assert counts.tolist() == [2, 2, 1]


def test_unique_slices() -> None:
    rows = of([[1, 0], [0, 1], [1, 0]], "int32")
    assert computed(lambda x: op.unique(x, axis=0), rows).tolist() == [[0, 1], [1, 0]]
    assert computed(lambda x: op.unique(x, False, axis=-2), rows).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("precision", Precision)
def test_samples_fall_into_the_shares_of_categories(precision: Precision) -> None:
    probabilities = of([[0, 0.5, 0.5], [0.25, 0.25, 0.5]], "float32")
    samples = of([[0], [0.5], [0.25], [0.2], [0.99]], "float32")
    rows = of([[0], [0], [1], [1], [1]], "int64")
    drawn = computed(
        lambda p, u, i: op.multinomial_from_uniform(p, u, i, "int32"), probabilities, samples, rows, precision=precision
    )
    # The first category of the first row has no share, so that no sample takes it.
    assert drawn.tolist() == [[1], [2], [1], [0], [2]]
    assert drawn.dtype == "int32"


def test_samples_that_rounding_decides_are_undefined() -> None:
    thirds = of([[1 / 3, 1 / 3, 1 / 3]], "float32")
    for sample in (np.nextafter(np.float32(1 / 3), np.float32(0)), 1.0):
        with pytest.raises(Undefined, match="sample"):
            computed(
                lambda p, u, i: op.multinomial_from_uniform(p, u, i),
                thirds,
                of([[sample]], "float32"),
                of([[0]], "int64"),
            )
