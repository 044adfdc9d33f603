"""Conversions between dtypes, and choice by a condition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

op = relax.op
NAN, INF = math.nan, math.inf


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def cast(values: np.ndarray[Any, Any], dtype: str, precision: Precision = Precision.DECLARED) -> np.ndarray[Any, Any]:
    found = computed(lambda x: op.astype(x, dtype), values, precision=precision)
    assert isinstance(found, np.ndarray)
    if precision is Precision.DECLARED:
        assert found.dtype.name == dtype
    return found


def test_floats_become_integers_towards_zero() -> None:
    assert cast(of([1.9, -1.9, -0.5, 127.9, -128.9]), "int8").tolist() == [1, -1, 0, 127, -128]
    assert cast(of([-0.9, 255.5]), "uint8").tolist() == [0, 255]


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (128.0, "float32", "int8"),
        (-1.0, "float32", "uint8"),
        (NAN, "float32", "int32"),
        (INF, "float16", "int64"),
        (2.0**31, "float32", "int32"),
        (2.0**63, "float64", "int64"),
        (2.0**64, "float32", "uint64"),
    ],
)
def test_floats_out_of_range(value: float, source: str, target: str) -> None:
    with pytest.raises(Undefined, match="range"):
        cast(of([0, value], source), target)


def test_ends_of_the_range() -> None:
    below = np.nextafter(np.float64(2.0**63), 0)
    assert cast(of([-(2.0**63), below], "float64"), "int64").tolist() == [-(2**63), 2**63 - 1024]
    assert cast(of([np.nextafter(np.float64(2.0**64), 0)], "float64"), "uint64").tolist() == [2**64 - 2048]
    assert cast(of([-(2.0**31)]), "int32").tolist() == [-(2**31)]


def test_integers_wrap_around() -> None:
    assert cast(of([300, -1, 128], "int32"), "int8").tolist() == [44, -1, -128]
    assert cast(of([-1], "int8"), "uint64").tolist() == [2**64 - 1]
    assert cast(of([255], "uint8"), "int8").tolist() == [-1]


def test_everything_but_zero_is_true() -> None:
    assert cast(of([0, -0.0, 1e-40, NAN, -INF]), "bool").tolist() == [False, False, True, True, True]
    assert cast(of([0, 256], "int32"), "bool").tolist() == [False, True]
    assert cast(of([True, False], "bool"), "float16").tolist() == [1, 0]


def test_floats_are_rounded_to_nearest_even() -> None:
    assert cast(of([2049, 2051, 65519, 65520]), "float16").tolist() == [2048, 2052, 65504, INF]
    assert cast(of([2**24 + 1, 2**24 + 3], "int32"), "float32").tolist() == [2**24, 2**24 + 4]
    ties = cast(of([1 + 2.0**-8, 1 + 3 * 2.0**-8]), "bfloat16")
    assert ties.astype("float32").tolist() == [1, 1 + 2.0**-6]
    assert cast(of([1.0625, 1.1875]), "float8_e4m3fn").astype("float32").tolist() == [1, 1.25]


def test_float8_holds_zeros_and_denormals() -> None:
    tiny = of([0, -0.0, 2.0**-9, 3 * 2.0**-9], "float8_e4m3fn")
    assert cast(tiny, "float32").tolist() == [0, 0, 2.0**-9, 3 * 2.0**-9]
    assert np.signbit(cast(tiny, "float32")).tolist() == [False, True, False, False]
    with pytest.raises(Undefined, match="float8"):
        cast(of([500.0]), "float8_e4m3fn")


def test_float64_is_not_rounded() -> None:
    assert cast(of([0.1], "float64"), "float16", Precision.FLOAT64).tolist() == [0.1]
    assert cast(of([0.1]), "int32", Precision.FLOAT64).dtype == "int32"


def test_wrap_param() -> None:
    found = computed(lambda x: op.wrap_param(x, "float16"), of([1.5]))
    assert found.dtype == "float16"
    assert found.tolist() == [1.5]


def test_where_broadcasts_all_three() -> None:
    condition = of([[1], [0]], "bool")
    left, right = of([1, 2, 3]), of(9)
    assert computed(op.where, condition, left, right).tolist() == [[1, 2, 3], [9, 9, 9]]
    assert computed(op.where, of(True, "bool"), of([NAN]), of([1])).dtype == "float32"
    # The side that is not taken has no say.
    assert computed(op.where, of([1, 0], "bool"), of([1, NAN]), of([INF, 2])).tolist() == [1, 2]
