"""Functions of one tensor: rounding, special values, integers, the dtype of what is computed between."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined, Unsupported

op = relax.op
NAN, INF = math.nan, math.inf


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def same(found: Any, values: Any) -> bool:
    """Equal, of the sign of zeros too, NaN being equal to NaN."""
    wanted = np.asarray(values, "float64")
    plain = found.astype("float64")
    numbers = ~np.isnan(wanted)
    return np.array_equal(plain, wanted, equal_nan=True) and bool(
        (np.signbit(plain) == np.signbit(wanted))[numbers].all()
    )


def test_rounding() -> None:
    values = of([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.4, -0.6])
    assert same(computed(op.round, values), [0, 2, 2, -0.0, -2, -2, 0, -1])  # ties to even, as topi.round says
    assert same(computed(op.floor, values), [0, 1, 2, -1, -2, -3, 0, -1])
    assert same(computed(op.ceil, values), [1, 2, 3, -0.0, -1, -2, 1, -0.0])
    assert same(computed(op.trunc, values), [0, 1, 2, -0.0, -1, -2, 0, -0.0])
    assert same(computed(op.round, of([NAN, INF, -INF, 2.0**24 + 2])), [NAN, INF, -INF, 2.0**24 + 2])


@pytest.mark.parametrize("name", ["round", "floor", "ceil", "trunc"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
def test_rounding_leaves_integers(name: str, dtype: str) -> None:
    values = of([0, 1, 1], dtype)
    found = computed(getattr(op, name), values)
    assert found.dtype == dtype
    assert found.tolist() == values.tolist()


def test_integers_wrap_around() -> None:
    assert computed(op.abs, of([-128, -3, 3], "int8")).tolist() == [-128, 3, 3]
    assert computed(op.negative, of([-128, 5], "int8")).tolist() == [-128, -5]
    assert computed(op.square, of([16, -12], "int8")).tolist() == [0, -112]  # 256 and 144
    assert computed(op.square, of([17], "uint8")).tolist() == [33]


def test_signs() -> None:
    assert computed(op.sign, of([-2, 0, 7], "int32")).tolist() == [-1, 0, 1]
    assert computed(op.sign, of([-INF, -0.0, 1e-40])).tolist() == [-1, 0, 1]
    assert same(computed(op.negative, of([0.0, NAN, INF])), [-0.0, NAN, -INF])
    with pytest.raises(Undefined, match="NaN"):
        computed(op.sign, of([NAN]))


@pytest.mark.parametrize(
    ("name", "argument", "wanted"),
    [
        ("acos", [1.0, 2.0], [0, NAN]),
        ("acosh", [1.0, 0.5, INF], [0, NAN, INF]),
        ("asin", [0.0, -2.0], [0, NAN]),
        ("asinh", [-0.0, INF], [-0.0, INF]),
        ("atan", [0.0, -0.0], [0, -0.0]),
        ("atanh", [1.0, -1.0, 2.0], [INF, -INF, NAN]),
        ("cos", [0.0, INF], [1, NAN]),
        ("cosh", [0.0, -INF], [1, INF]),
        ("erf", [0.0, INF, -INF, NAN], [0, 1, -1, NAN]),
        ("exp", [0.0, -INF, INF, 1000.0], [1, 0, INF, INF]),
        ("log", [1.0, 0.0, -1.0, INF], [0, -INF, NAN, INF]),
        ("rsqrt", [4.0, 0.0, -1.0, INF], [0.5, INF, NAN, 0]),
        ("sigmoid", [0.0, INF, -INF, 1000.0, -1000.0], [0.5, 1, 0, 1, 0]),
        ("sin", [0.0, INF], [0, NAN]),
        ("sinh", [-0.0, INF], [-0.0, INF]),
        ("sqrt", [9.0, -0.0, -1.0, INF], [3, -0.0, NAN, INF]),
        ("tan", [0.0, INF], [0, NAN]),
        ("tanh", [0.0, INF, -INF], [0, 1, -1]),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_special_values(name: str, argument: list[float], wanted: list[float], dtype: str) -> None:
    found = computed(getattr(op, name), of(argument, dtype))
    assert found.dtype.name == dtype
    assert same(found, wanted)


@pytest.mark.parametrize(
    ("name", "argument", "wanted"),
    [
        ("erf", 0.5, 0.5204998778130465),  # Abramowitz and Stegun, table 7.1
        ("exp", 1.0, math.e),
        ("log", 10.0, 2.302585092994046),
        ("sigmoid", 1.0, 0.7310585786300049),
        ("sin", 1.0, 0.8414709848078965),
        ("atan", 1.0, math.pi / 4),
        ("rsqrt", 2.0, 0.7071067811865476),
    ],
)
def test_values(name: str, argument: float, wanted: float) -> None:
    exact = computed(getattr(op, name), of([argument]), precision=Precision.FLOAT64)
    assert exact.dtype == "float64"
    assert exact[0] == pytest.approx(wanted, rel=4e-16)
    for dtype in ("float32", "float16", "bfloat16"):
        # Rounded once: of low precision, the correctly rounded result is what comes out.
        found = computed(getattr(op, name), of([argument], dtype))
        assert found[0] == pytest.approx(np.float64(wanted).astype(dtype), rel=1e-6)


def test_a_small_sigmoid_is_no_zero() -> None:
    assert computed(op.sigmoid, of([-80.0])) == pytest.approx(math.exp(-80.0), rel=1e-6)


def test_clip() -> None:
    assert computed(lambda x: op.clip(x, -1, 2), of([-5, 0, 5], "int32")).tolist() == [-1, 0, 2]
    assert same(computed(lambda x: op.clip(x, 0.5, 2), of([-INF, 1, INF])), [0.5, 1, 2])
    # A limit is a number of the dtype: 0.1 is 0.0999755859375 in float16.
    assert computed(lambda x: op.clip(x, 0.1, 2), of([0.0], "float16")).tolist() == [0.0999755859375]
    # Limits beyond an integer dtype limit nothing.
    assert computed(lambda x: op.clip(x, -1000, 1000), of([-128, 127], "int8")).tolist() == [-128, 127]
    with pytest.raises(Undefined, match="NaN"):
        computed(lambda x: op.clip(x, 0, 1), of([0, NAN]))
    with pytest.raises(Undefined, match="wrong order"):
        computed(lambda x: op.clip(x, 3, 1), of([0.0]))
    with pytest.raises(Unsupported, match="fraction"):
        computed(lambda x: op.clip(x, 0.5, 2), of([0], "int8"))


def test_arguments_are_not_changed() -> None:
    values = of([-1.5, 2.5])
    for function in (op.round, op.abs, op.negative, lambda x: op.clip(x, 0, 1)):
        computed(function, values)
    assert values.tolist() == [-1.5, 2.5]


def test_rank_zero_and_no_elements() -> None:
    for values in (of(4.0), of(np.zeros((0, 3)))):
        for name in ("sqrt", "erf", "round", "sigmoid", "square"):
            found = computed(getattr(op, name), values)
            assert isinstance(found, np.ndarray)
            assert found.shape == values.shape


def test_float8_has_no_numbers_beyond_its_range() -> None:
    assert computed(op.square, of([3.0], "float8_e4m3fn")).astype("float32").tolist() == [9.0]
    with pytest.raises(Undefined, match="float8"):
        computed(op.square, of([100.0], "float8_e4m3fn"))
    with pytest.raises(Undefined, match="float8"):
        computed(op.negative, of([NAN], "float8_e5m2"))
