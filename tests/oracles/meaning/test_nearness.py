"""What the judge of a single call grants, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy float8)
import numpy as np
import pytest
from tvm import relax

from oracles.semantics.nearness import Unsure, expectation

op = relax.op


def expected(build: Callable[..., Any], *arrays: Any) -> Any:
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType(each.shape, each.dtype.name)) for i, each in enumerate(arrays)]
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(build(*params)))
    return expectation(builder.get(), "main", arrays)


def accepts(found: Any, value: Any) -> bool:
    return found.mismatch(np.asarray(value, found.value.dtype)) is None


def test_a_few_roundings_are_granted_and_no_more() -> None:
    found = expected(op.exp, np.array([1.0, 2.0], "float32"))
    assert accepts(found, np.exp([1.0, 2.0]) * (1 + 2.0**-22))
    assert not accepts(found, np.exp([1.0, 2.0]) * (1 + 2.0**-16))


def test_a_sum_of_terms_alike_rounds_in_one_direction() -> None:
    """7f21d0c453: terms behind a broadcast, added up one after the other, as TVM does."""
    terms = np.full(1536, 8.517808, "float32")
    found = expected(op.sum, terms)
    one_by_one = np.add.accumulate(terms)[-1]
    assert abs(float(one_by_one) / (1536 * float(terms[0])) - 1) > (4 + 2 * np.sqrt(1536)) * 2.0**-23
    assert accepts(found, one_by_one)
    assert not accepts(found, one_by_one * (1 + 2e-4))


def test_a_formula_that_cancels_near_zero_is_granted_roundings_of_one() -> None:
    found = expected(op.tanh, np.array([1e-9], "float32"))
    assert accepts(found, [0.0])
    assert not accepts(found, [1e-4])


def test_operands_a_rounding_away_are_as_good() -> None:
    found = expected(op.exp, np.array([80.0], "float32"))
    assert accepts(found, [np.exp(80.0 * (1 + 2.0**-23))])


def test_kinds_of_numbers_count() -> None:
    found = expected(op.negative, np.array([np.inf, np.nan, 1.0], "float32"))
    assert accepts(found, [-np.inf, np.nan, -1.0])
    assert not accepts(found, [-3.4e38, np.nan, -1.0])
    assert not accepts(found, [-np.inf, 0.0, -1.0])
    assert not accepts(found, [-np.inf, np.nan, np.nan])


def test_what_may_overflow_is_not_decided() -> None:
    greatest = np.finfo("float32").max
    found = expected(lambda x: op.multiply(x, relax.const(1.0)), np.array([greatest], "float32"))
    assert accepts(found, [np.inf])


def test_decisions_on_what_is_never_moved_are_decided() -> None:
    found = expected(op.not_equal, np.array([np.nan, 0.0], "float32"), np.array([np.nan, 0.0], "float32"))
    assert accepts(found, [True, False])
    assert not accepts(found, [False, False])


def test_a_decision_that_rounding_turns_is_not() -> None:
    found = expected(op.less, np.array([1.5, 1.0], "float32"), np.array([1.5, 2.0], "float32"))
    assert accepts(found, [True, True])
    assert not accepts(found, [False, False])


def test_integers_are_exact() -> None:
    found = expected(op.add, np.array([2**31 - 1], "int32"), np.array([1], "int32"))
    assert accepts(found, [-(2**31)])
    assert not accepts(found, [2**31 - 1])


def test_float8_is_granted_its_own_roundings_only_as_a_result() -> None:
    plain = np.array([1.5, -0.75], "float8_e4m3fn")
    assert accepts(expected(op.negative, plain), [-1.625, 0.75])
    wide = expected(lambda x: op.astype(x, "float32"), plain)
    assert accepts(wide, [1.5, -0.75])
    assert not accepts(wide, [1.5, -0.7421875])


def test_what_is_not_defined_has_no_expectation() -> None:
    with pytest.raises(Unsure):
        expected(op.max, np.array([1.0, np.nan], "float32"))


def test_each_field_of_a_tuple_has_its_own() -> None:
    found = expected(lambda x: op.topk(x, 1), np.array([1.0, 2.0], "float32"))
    assert found.mismatch((np.array([2.0], "float32"), np.array([1], "int32"))) is None
    wrong = found.mismatch((np.array([2.0], "float32"), np.array([0], "int32")))
    assert wrong is not None
    assert wrong.path == (1,)
