"""Comparisons and logic: NaN, zeros of both signs, what is true of integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax, tirx

op = relax.op
NAN, INF = math.nan, math.inf


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        # of (1, 2), (2, 2), (3, 2), (NaN, NaN), (NaN, 1), (-0, 0), (inf, inf)
        ("equal", [False, True, False, False, False, True, True]),
        ("not_equal", [True, False, True, True, True, False, False]),
        ("less", [True, False, False, False, False, False, False]),
        ("less_equal", [True, True, False, False, False, True, True]),
        ("greater", [False, False, True, False, False, False, False]),
        ("greater_equal", [False, True, True, False, False, True, True]),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_comparisons_of_floats(name: str, wanted: list[bool], dtype: str) -> None:
    left = of([1, 2, 3, NAN, NAN, -0.0, INF], dtype)
    right = of([2, 2, 2, NAN, 1, 0.0, INF], dtype)
    found = computed(getattr(op, name), left, right)
    assert found.dtype == "bool"
    assert found.tolist() == wanted


def test_comparisons_of_great_integers_are_exact() -> None:
    great = of([2**63 - 1], "int64")
    assert computed(op.greater, great, great - 1).tolist() == [True]
    assert computed(op.equal, of([2**64 - 1], "uint64"), of([2**64 - 2], "uint64")).tolist() == [False]
    assert computed(op.less, of([255], "uint8"), of([1], "uint8")).tolist() == [False]


def test_comparison_with_a_number() -> None:
    # The number is 0.0999755859375 in float16, and so equal.
    tenth = tirx.FloatImm("float16", 0.1)
    assert computed(lambda x: op.equal(x, tenth), of([0.1], "float16")).tolist() == [True]


def test_logic() -> None:
    left, right = of([0, 0, 1, 1], "bool"), of([0, 1, 0, 1], "bool")
    assert computed(op.logical_and, left, right).tolist() == [False, False, False, True]
    assert computed(op.logical_or, left, right).tolist() == [False, True, True, True]
    assert computed(op.logical_xor, left, right).tolist() == [False, True, True, False]
    assert computed(op.logical_not, left).tolist() == [True, True, False, False]
    assert computed(op.logical_and, of([[1], [0]], "bool"), right).shape == (2, 4)


def test_tests_of_floats() -> None:
    values = of([0, INF, -INF, NAN, 3e38])
    assert computed(op.isfinite, values).tolist() == [True, False, False, False, True]
    assert computed(op.isinf, values).tolist() == [False, True, True, False, False]
    assert computed(op.isnan, values).tolist() == [False, False, False, True, False]


def test_every_integer_is_finite() -> None:
    values = of([[0, 127]], "int8")
    assert computed(op.isfinite, values).tolist() == [[True, True]]
    assert computed(op.isinf, values).tolist() == [[False, False]]
    assert computed(op.isnan, values).tolist() == [[False, False]]
