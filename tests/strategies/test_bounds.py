import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.operators.unary import UNARY
from strategies.scope.bounds import FLOAT_LIMIT, Bounds, default_bounds, dtype_bounds, union_of

numbers = st.integers(-64, 64).map(lambda number: number / 4)


@st.composite
def intervals(draw):
    lo, hi = sorted((draw(numbers), draw(numbers)))
    return Bounds(lo, hi)


def samples(bounds):
    return [bounds.lo, bounds.hi, (bounds.lo + bounds.hi) / 2, bounds.lo + (bounds.hi - bounds.lo) / 8]


@given(intervals(), intervals())
def test_arithmetic_holds_every_result(left, right):
    for a, b in itertools.product(samples(left), samples(right)):
        for bounds, value in (
            (left + right, a + b),
            (left - right, a - b),
            (left * right, a * b),
            (left.minimum(right), min(a, b)),
            (left.maximum(right), max(a, b)),
            (left.union(right), a),
            (left.absolute(), abs(a)),
            (left.square(), a * a),
            (-left, -a),
            (left.floor(), math.floor(a)),
            (left.floor(), math.ceil(a)),
            (left.clipped(-1, 2), min(max(a, -1), 2)),
            (left.rounded(), float(np.float16(a))),
        ):
            assert bounds.lo <= value <= bounds.hi


@given(intervals(), intervals())
def test_division_holds_every_quotient_or_refuses(left, right):
    if right.lo <= 0 <= right.hi:
        with pytest.raises(ZeroDivisionError):
            left / right
        return
    known = (left / right).rounded()
    for a, b in itertools.product(samples(left), samples(right)):
        assert known.lo <= a / b <= known.hi or math.isclose(a / b, known.lo) or math.isclose(a / b, known.hi)


@given(st.lists(numbers, max_size=6), intervals())
def test_sums_of_up_to_n(values, bounds):
    inside = [min(max(value, bounds.lo), bounds.hi) for value in values]
    known = bounds.up_to(6)
    assert known.lo <= sum(inside) <= known.hi


def test_an_interval_is_finite_and_ordered():
    for ends in ((1.0, 0.0), (0.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="no interval"):
            Bounds(*ends)
    with pytest.raises(ValueError, match="no intervals"):
        union_of([])


def test_contains_minds_whole_numbers():
    assert Bounds(-1, 1).contains(Bounds(0, 1, True))
    assert not Bounds(-1, 1, True).contains(Bounds(0, 1))
    assert not Bounds(-1, 1).contains(Bounds(0, 2))


def test_rounding_keeps_the_sign():
    assert Bounds(0.0, 1.0).rounded().lo == 0.0
    assert Bounds(-1.0, 0.0).rounded().hi == 0.0
    assert Bounds(0.5, 1.0).rounded().lo > 0.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int16", "int32", "int64", "uint8", "uint32", "bool"])
def test_default_domain_lies_in_what_the_dtype_may_hold(dtype):
    assert dtype_bounds(dtype).contains(default_bounds(dtype))
    if "int" in dtype:
        assert np.iinfo(dtype).min <= dtype_bounds(dtype).lo
        assert dtype_bounds(dtype).hi <= np.iinfo(dtype).max
    elif dtype != "bool":
        assert np.finfo(dtype).max > FLOAT_LIMIT


@pytest.mark.parametrize("function", [each for each in UNARY if hasattr(math, each.name)], ids=lambda each: each.name)
def test_a_function_holds_its_values(function):
    domain = function.domain or Bounds(-2.0, 3.0)
    operand = Bounds(max(domain.lo, -2.0), min(domain.hi, 3.0))
    result = function.result(operand)
    assert all(result.lo <= getattr(math, function.name)(value) <= result.hi for value in samples(operand))
