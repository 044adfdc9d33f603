"""Arithmetic of two tensors: broadcasting, wrap-around, rounding of quotients, special values, numbers as operands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax, tirx

from relaxkit.interpreter import Precision, Undefined, Unsupported

op = relax.op
NAN, INF = math.nan, math.inf


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def listed(found: Any) -> Any:
    return found.astype("float64").tolist()


def test_broadcasting() -> None:
    found = computed(op.subtract, of([[1], [2]]), of([10, 20, 30]))
    assert found.tolist() == [[-9, -19, -29], [-8, -18, -28]]
    assert computed(op.add, of(np.zeros((0, 3))), of([1, 2, 3])).shape == (0, 3)
    assert computed(op.multiply, of(2), of(3)).shape == ()


def test_integers_wrap_around() -> None:
    assert computed(op.add, of([127], "int8"), of([1], "int8")).tolist() == [-128]
    assert computed(op.subtract, of([0], "uint8"), of([1], "uint8")).tolist() == [255]
    assert computed(op.multiply, of([200], "uint8"), of([2], "uint8")).tolist() == [144]
    assert computed(op.add, of([2**63 - 1], "int64"), of([1], "int64")).tolist() == [-(2**63)]


def test_float16_overflows_to_infinity() -> None:
    assert computed(op.add, of([65504], "float16"), of([65504], "float16")).tolist() == [INF]
    exact = computed(op.add, of([65504], "float16"), of([65504], "float16"), precision=Precision.FLOAT64)
    assert exact.tolist() == [131008]


def test_a_number_has_its_declared_dtype() -> None:
    assert computed(lambda x: op.add(x, tirx.IntImm("int8", 100)), of([100], "int8")).tolist() == [-56]
    tenth = computed(lambda x: op.multiply(tirx.FloatImm("float16", 0.1), x), of([1], "float16"))
    assert tenth.dtype == "float16"
    assert tenth.tolist() == [0.0999755859375]


QUOTIENTS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, -5)]


@pytest.mark.parametrize("dtype", ["int8", "int64"])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("divide", [3, -3, -3, 3, 2, -2, 0]),  # towards zero, as in C
        ("floor_divide", [3, -4, -4, 3, 2, -2, 0]),
        ("mod", [1, -1, 1, -1, 0, 0, 0]),  # of the sign of the dividend
        ("floor_mod", [1, 1, -1, -1, 0, 0, 0]),  # of the sign of the divisor
    ],
)
def test_quotients_of_integers(name: str, wanted: list[int], dtype: str) -> None:
    left, right = (of(column, dtype) for column in zip(*QUOTIENTS, strict=True))
    found = computed(getattr(op, name), left, right)
    assert found.dtype == dtype
    assert found.tolist() == wanted


@pytest.mark.parametrize("name", ["divide", "floor_divide", "floor_mod", "mod"])
def test_undefined_quotients_of_integers(name: str) -> None:
    with pytest.raises(Undefined, match="by zero"):
        computed(getattr(op, name), of([1, 2], "int32"), of([1, 0], "int32"))
    with pytest.raises(Undefined, match="overflows"):
        computed(getattr(op, name), of([-(2**31)], "int32"), of([-1], "int32"))
    assert computed(getattr(op, name), of([255], "uint8"), of([16], "uint8")).tolist() in ([15], [15])


def test_great_integers_are_divided_exactly() -> None:
    # Through float64, 2**63 - 1 would become 2**63.
    assert computed(op.divide, of([2**63 - 1], "int64"), of([2], "int64")).tolist() == [2**62 - 1]
    assert computed(op.divide, of([2**64 - 1], "uint64"), of([3], "uint64")).tolist() == [(2**64 - 1) // 3]


def test_quotients_of_floats() -> None:
    assert computed(op.divide, of([1, -1, 0, 7]), of([0, 0, 0, 2])).tolist()[:2] == [INF, -INF]
    assert np.isnan(computed(op.divide, of([0]), of([0]))).all()
    left, right = of([7, -7, 7, -7]), of([2, 2, -2, -2])
    assert computed(op.floor_divide, left, right).tolist() == [3, -4, -4, 3]
    assert computed(op.mod, left, right).tolist() == [1, -1, 1, -1]
    assert computed(op.floor_mod, left, right).tolist() == [1, 1, -1, -1]


def test_quotients_that_round_to_integers() -> None:
    # 1 / 0.1 is 9.99999985 in exact arithmetic of float32 numbers, and rounds to 10.
    for name in ("floor_divide", "floor_mod"):
        with pytest.raises(Undefined, match="rounds to an integer"):
            computed(getattr(op, name), of([1]), of([0.1]))
        with pytest.raises(Undefined, match="rounds to an integer"):
            computed(getattr(op, name), of([6e-5], "float16"), of([-65504], "float16"))
    # The quotient -9.99999985 has the floor -10 either way, but -10 * 0.1 rounds to -1: remainder 0, or almost -0.1?
    with pytest.raises(Undefined, match="within rounding"):
        computed(op.floor_mod, of([1]), of([-0.1]))
    # Truncated remainders are exact.
    assert computed(op.mod, of([1], "float64"), of([0.1], "float64"))[0] == math.fmod(1, 0.1)


def test_extremes() -> None:
    left, right = of([2, NAN, -INF]), of([3, NAN, 0])
    assert computed(op.maximum, left, right).tolist()[0::2] == [3, 0]
    assert computed(op.minimum, left, right).tolist()[0::2] == [2, -INF]
    assert np.isnan(computed(op.maximum, left, right)).tolist() == [False, True, False]
    assert computed(op.minimum, of([200], "uint8"), of([100], "uint8")).tolist() == [100]
    for name in ("maximum", "minimum"):
        with pytest.raises(Undefined, match="NaN"):
            computed(getattr(op, name), of([1]), of([NAN]))


def test_power() -> None:
    left, right = of([2, 4, -8, 0, 0, NAN, 1, -2]), of([10, 0.5, 1 / 3, 0, -1, 0, NAN, 3])
    found = computed(op.power, left, right).tolist()
    assert found[:2] == [1024, 2]
    assert math.isnan(found[2])
    assert found[3:] == [1, INF, 1, 1, -8]
    assert computed(op.power, of([3, 2], "int32"), of([4, 31], "int32")).tolist() == [81, -(2**31)]
    with pytest.raises(Undefined, match="negative power"):
        computed(op.power, of([3], "int32"), of([-1], "int32"))


def test_angles() -> None:
    found = computed(op.atan2, of([0, -0.0, 1, 0, -1]), of([-1, -1, 0, 1, 0]), precision=Precision.FLOAT64)
    assert found.tolist() == [math.pi, -math.pi, math.pi / 2, 0, -math.pi / 2]


def test_log_add_exp_does_not_overflow() -> None:
    found = computed(
        op.log_add_exp, of([0, 100, -INF, INF, 0]), of([0, 0, -INF, INF, -80]), precision=Precision.FLOAT64
    )
    assert found.tolist()[:4] == [pytest.approx(math.log(2), rel=1e-15), 100, -INF, INF]
    assert found[4] == pytest.approx(math.exp(-80), rel=1e-12)
    assert computed(op.log_add_exp, of([20], "float16"), of([20], "float16")).tolist() == [20.6875]


def test_fused_multiply_add() -> None:
    assert computed(op.ewise_fma, of([2, 3]), of([4, 5]), of([1, -15])).tolist() == [9, 0]
    # (1 + 2**-12)**2 - 1 = 2**-11 + 2**-24, of which float32 would lose the last part in the product.
    near = of([1 + 2.0**-12])
    assert computed(op.ewise_fma, near, near, of([-1])).tolist() == [2.0**-11 + 2.0**-24]


def test_booleans_have_no_arithmetic() -> None:
    with pytest.raises(Unsupported, match="booleans"):
        computed(op.add, of([True], "bool"), of([True], "bool"))


def test_low_precision_is_rounded_once() -> None:
    # 1 + 2**-8 lies between 1 and 1 + 2**-7 in bfloat16: a tie that goes to the even 1.
    assert listed(computed(op.add, of([1], "bfloat16"), of([2.0**-8], "bfloat16"))) == [1]
    assert listed(computed(op.add, of([1], "bfloat16"), of([3 * 2.0**-8], "bfloat16"))) == [1 + 2.0**-6]
    assert computed(op.add, of([1], "bfloat16"), of([1], "bfloat16")).dtype.name == "bfloat16"
