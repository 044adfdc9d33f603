"""Reductions: axes, kept dims, nothing to reduce, wrap-around, the dtype of intermediate results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

op = relax.op
MATRIX = np.array([[1, 2, 3], [4, 5, 6]], "float32")


def of(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def test_sum_of_axes() -> None:
    assert computed(lambda x: op.sum(x), MATRIX) == 21
    assert computed(lambda x: op.sum(x, -1), MATRIX).tolist() == [6, 15]
    assert computed(lambda x: op.sum(x, [0, -1], keepdims=True), MATRIX).tolist() == [[21]]
    assert computed(lambda x: op.sum(x, []), MATRIX).tolist() == MATRIX.tolist()


def test_sum_of_nothing_is_zero_and_its_product_one() -> None:
    empty = np.zeros((0, 2), "float32")
    assert computed(lambda x: op.sum(x, 0), empty).tolist() == [0, 0]
    assert computed(lambda x: op.prod(x, 0), empty).tolist() == [1, 1]
    assert np.isnan(computed(lambda x: op.mean(x, 0), empty)).all()
    with pytest.raises(Undefined, match="of nothing"):
        computed(lambda x: op.max(x, 0), empty)


def test_integers_wrap_around_in_their_own_dtype() -> None:
    assert computed(lambda x: op.sum(x), of([127, 1], "int8")).tolist() == -128
    assert computed(lambda x: op.sum(x), of([200, 100], "uint8")).dtype == "uint8"
    assert computed(lambda x: op.sum(x), of([200, 100], "uint8")) == 44
    assert computed(lambda x: op.prod(x), of([16, 16], "int8")) == 0
    assert not computed(lambda x: op.prod(x), of([True, False], "bool"))


def test_low_precision_is_rounded_once() -> None:
    # One by one, 256 + 1 is 256 in bfloat16; the sum 259 lies between 258 and 260, and goes to the even mantissa.
    total = computed(lambda x: op.sum(x), of([256, 1, 1, 1], "bfloat16"))
    assert total.dtype.name == "bfloat16"
    assert float(total) == 260


def test_float64_computes_exactly_what_float32_rounds() -> None:
    values = of([2.0**24, 1, 1], "float32")
    assert computed(lambda x: op.sum(x), values, precision=Precision.FLOAT64) == 2**24 + 2


def test_extremes_of_infinities() -> None:
    nothing_greater = of([-np.inf, -np.inf], "float32")
    assert computed(lambda x: op.max(x), nothing_greater) == -np.inf
    assert computed(lambda x: op.min(x), -nothing_greater) == np.inf
    assert computed(lambda x: op.max(x, 0), of([[1, -5], [-2, 3]], "int8")).tolist() == [1, 3]


def test_extremes_among_nan_are_undefined() -> None:
    with pytest.raises(Undefined, match="NaN"):
        computed(lambda x: op.max(x), of([1, np.nan], "float16"))


def test_mean_variance_and_deviation_divide_by_the_number_of_elements() -> None:
    values = of([[1, 3], [2, 6]], "float32")
    assert computed(lambda x: op.mean(x, 1), values).tolist() == [2, 4]
    assert computed(lambda x: op.variance(x, 1), values).tolist() == [1, 4]
    assert computed(lambda x: op.std(x, [1], True), values).tolist() == [[1], [2]]
    assert np.isnan(computed(lambda x: op.mean(x), of([1, np.nan], "float32")))


def test_mean_of_integers_is_undefined() -> None:
    with pytest.raises(Undefined, match="integers"):
        computed(lambda x: op.mean(x), of([1, 2], "int32"))


def test_median_is_the_lower_of_two_with_its_index() -> None:
    values = of([[4, 1, 3, 2], [7, 7, 0, 9]], "float32")
    middle, index = computed(lambda x: op.median(x, 1), values)
    assert middle.tolist() == [2, 7]
    assert index.tolist() == [3, 0]
    assert index.dtype == "int64"
    kept, _ = computed(lambda x: op.median(x, [-1], True), values)
    assert kept.tolist() == [[2], [7]]
    assert computed(lambda x: op.median(x), values).tolist() == 3  # 0 1 2 3 | 4 7 7 9


@pytest.mark.parametrize(
    ("reduction", "values"),
    [
        (op.sum, [3e38, 3e38, -3e38]),
        (op.mean, [3e38, 3e38]),
        (op.variance, [3e30, 0]),
        (op.prod, [1e30, 1e30, 1e-30]),
        (op.prod, [1e-30, 1e-30, 1e30]),
    ],
)
def test_what_the_order_of_steps_decides_is_undefined(reduction: Any, values: list[float]) -> None:
    for precision in Precision:
        with pytest.raises(Undefined, match="flow"):
            computed(lambda x: reduction(x), of(values, "float32"), precision=precision)


def test_infinities_among_the_terms_are_defined() -> None:
    assert np.isnan(computed(lambda x: op.sum(x), of([np.inf, -np.inf, 1], "float32")))
    assert computed(lambda x: op.mean(x), of([np.inf, 3], "float32")) == np.inf
    assert np.isnan(computed(lambda x: op.prod(x), of([np.inf, 0], "float32")))


def test_float8_is_defined_where_every_way_of_rounding_agrees() -> None:
    assert computed(lambda x: op.sum(x), of([1.5, 0, -0.25], "float8_e4m3fn")) == 1.25
    assert computed(lambda x: op.variance(x), of([1, 3], "float8_e5m2")) == 1
    # 16 + 1 is 16 with three bits of mantissa, so that 18 needs both ones at once.
    with pytest.raises(Undefined, match="each step"):
        computed(lambda x: op.sum(x), of([16, 1, 1], "float8_e4m3fn"))


def test_more_terms_than_digits_are_undefined() -> None:
    with pytest.raises(Undefined, match="digits"):
        computed(lambda x: op.sum(x), np.ones(1000, "bfloat16"))
    assert computed(lambda x: op.sum(x, 1), np.ones((100, 100), "bfloat16"))[0] == 100
    assert computed(lambda x: op.sum(x), np.ones(10_000, "float32")) == 10_000
