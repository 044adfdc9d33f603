"""Quantization and back: ties, saturation, zero points, axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

op = relax.op


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def quantized(data: Any, scale: Any, zero: Any, axis: int = -1, dtype: str = "int8") -> Any:
    return computed(lambda x, s, z: op.quantize(x, s, z, axis, dtype), data, scale, zero)


def dequantized(data: Any, scale: Any, zero: Any, axis: int = -1, dtype: str = "float32") -> Any:
    return computed(lambda x, s, z: op.dequantize(x, s, z, axis, dtype), data, scale, zero)


def test_ties_go_to_even_before_the_zero_point() -> None:
    found = quantized(of([0.5, 1.5, 2.5, -0.5]), of(1), of(3, "int8"))
    assert found.dtype == "int8"
    assert found.tolist() == [3, 5, 5, 3]


def test_saturation() -> None:
    data = of([1000, -1000, math.inf, -math.inf])
    assert quantized(data, of(1), of(0, "int8")).tolist() == [127, -128, 127, -128]
    assert quantized(data, of(1), of(2, "uint8"), dtype="uint8").tolist() == [255, 0, 255, 0]
    # Nothing is lost in float16 either: its 32768 is above the greatest int16.
    assert quantized(of([60000], "float16"), of(1, "float16"), of(0, "int8"), dtype="int16").tolist() == [32767]


def test_one_scale_for_each_element_of_an_axis() -> None:
    data = of([[1, 2, 3], [4, 5, 6]])
    zero = of([0, 10], "int8")
    assert quantized(data, of([1, 0.5]), zero, axis=0).tolist() == [[1, 2, 3], [18, 20, 22]]
    assert quantized(data, of([1, 0.5]), zero, axis=-2).tolist() == [[1, 2, 3], [18, 20, 22]]
    assert quantized(data, of([1, 0.5, 0.25]), of([5], "int8")).tolist() == [[6, 9, 17], [9, 15, 29]]


def test_what_depends_on_the_rounding_of_the_quotient() -> None:
    # 0.25 / 0.1 is 2.49999996 and rounds to the tie 2.5 in float32; to 2 either way.
    assert quantized(of([0.25]), of(0.1), of(0, "int8")).tolist() == [2]
    # Of 3.5 * 0.1, float32 has a number just below: the quotient is so, too, and rounds to the tie 3.5.
    with pytest.raises(Undefined, match="rounding before"):
        quantized(of([0.35]), of(0.1), of(0, "int8"))
    with pytest.raises(Undefined, match="NaN"):
        quantized(of([math.nan]), of(1), of(0, "int8"))


def test_quantization_to_float8() -> None:
    found = quantized(of([1.0625, 10000]), of(1), of(0, "int8"), dtype="float8_e4m3fn")
    assert found.dtype.name == "float8_e4m3fn"
    assert found.astype("float32").tolist() == [1, 448]


def test_the_difference_does_not_wrap_around() -> None:
    assert dequantized(of([-128, 127], "int8"), of(0.5), of(3, "int8")).tolist() == [-65.5, 62]
    assert dequantized(of([0], "uint8"), of(2), of(3, "uint8")).tolist() == [-6]
    assert dequantized(of([127], "int8"), of(1), of(-128, "int8")).tolist() == [255]


def test_dequantization_of_an_axis() -> None:
    found = dequantized(of([[1, 2], [3, 4]], "int8"), of([1, 10]), of([0, 1], "int8"), axis=0)
    assert found.tolist() == [[1, 2], [20, 30]]


def test_dequantization_is_clamped() -> None:
    found = dequantized(of([32767, -32768], "int16"), of(4, "float16"), of(0, "int8"), dtype="float16")
    assert found.dtype == "float16"
    assert found.tolist() == [65504, -65504]
    with pytest.raises(Undefined, match="beyond"):
        dequantized(of([3e38]), of(2), of(0, "int8"))


def test_dequantization_of_fractions() -> None:
    for dtype in ("float8_e4m3fn", "float16"):
        assert dequantized(of([1.5, -0.75], dtype), of(2), of(1, "int8")).tolist() == [1, -3.5]
