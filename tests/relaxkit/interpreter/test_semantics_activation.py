"""Activations where they bend, saturate or meet NaN and infinity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

nn = relax.op.nn


def of(values: Any, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def close(made: Any, values: Any) -> bool:
    return bool(np.allclose(made, values, rtol=1e-12, atol=0, equal_nan=True))


def test_relu() -> None:
    assert computed(nn.relu, of([-1.5, 0, 2, np.inf], "float32")).tolist() == [0, 0, 2, np.inf]
    with pytest.raises(Undefined, match="NaN"):
        computed(nn.relu, of([1, np.nan], "float32"))
    assert computed(nn.relu, of([-128, 127], "int8")).tolist() == [0, 127]
    assert computed(nn.relu, of([255], "uint8")).tolist() == [255]


def test_leakyrelu_and_prelu() -> None:
    assert close(computed(lambda x: nn.leakyrelu(x, 0.5), of([-2, 4])), [-1, 4])
    assert close(computed(lambda x: nn.leakyrelu(x, -1.0), of([-2, 4])), [2, 4])
    # Infinity has no product with zero.
    assert close(computed(lambda x: nn.leakyrelu(x, 0.0), of([-np.inf, np.nan, np.inf])), [np.nan, np.nan, np.inf])
    data = of(-np.ones((2, 3, 2)))
    for axis in (1, -2):
        made = computed(lambda x, a, axis=axis: nn.prelu(x, a, axis), data, of([1, 2, -3]))
        assert close(made, np.broadcast_to([[-1], [-2], [3]], (2, 3, 2)))


def test_gelu() -> None:
    # The normal distribution lies below 1 with 0.8413447460685429.
    made = computed(nn.gelu, of([1, -1, 0, np.inf, -40]))
    assert close(made, [0.8413447460685429, -0.15865525393145707, 0, np.inf, 0])
    inner = math.sqrt(2 / math.pi) * (2 + 0.044715 * 8)
    assert close(computed(nn.gelu_tanh, of([2])), [1 + math.tanh(inner)])


def test_silu_and_selu() -> None:
    assert close(computed(nn.silu, of([0, 2, -800])), [0, 2 / (1 + math.exp(-2)), 0])
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    made = computed(nn.selu, of([2, -1, -1e-12, -np.inf]))
    expected = [2 * scale, scale * alpha * (math.exp(-1) - 1), -1e-12 * scale * alpha, -scale * alpha]
    assert bool(np.allclose(made, expected, rtol=1e-11, atol=0))


def test_softplus_is_linear_where_beta_x_is_beyond_the_threshold() -> None:
    made = computed(lambda x: nn.softplus(x, 2.0, 1.0), of([0.25, 0.5, 0.75]))
    assert close(made, [math.log1p(math.exp(0.5)) / 2, math.log1p(math.e) / 2, 0.75])


def test_softplus_does_not_overflow_below_the_threshold() -> None:
    assert computed(nn.softplus, of([12, 19], "float16")).tolist() == [12, 19]
    assert computed(lambda x: nn.softplus(x, 1.0, 200.0), of([100], "float32")).tolist() == [100]


@pytest.mark.parametrize("axis", [0, -2])
def test_softmax_along_an_axis(axis: int) -> None:
    data = of([[0, 1000], [math.log(3), 1000]])
    made = computed(lambda x: nn.softmax(x, axis), data)
    assert close(made, [[0.25, 0.5], [0.75, 0.5]])
    made = computed(lambda x: nn.log_softmax(x, axis), data)
    assert close(made, [[math.log(0.25), math.log(0.5)], [math.log(0.75), math.log(0.5)]])


def test_softmax_of_infinities() -> None:
    made = computed(nn.softmax, of([[-np.inf, 0], [-np.inf, -np.inf], [np.inf, 0]]))
    assert close(made, [[0, 1], [np.nan, np.nan], [np.nan, np.nan]])
    assert computed(nn.softmax, of(np.zeros((0, 3)))).shape == (0, 3)


def test_dropout_keeps_everything() -> None:
    kept, mask = computed(lambda x: nn.dropout(x, 1.0), of([1, np.nan], "float16"))
    assert kept[0] == 1
    assert np.isnan(kept[1])
    assert mask.tolist() == [1, 1]
    assert mask.dtype == "float16"


def test_low_precision_is_rounded_once() -> None:
    made = computed(nn.silu, of([3], "float16"))
    assert made.dtype == "float16"
    assert made.item() == np.float16(3 / (1 + math.exp(-3)))
    exact = computed(nn.silu, of([3], "float16"), precision=Precision.FLOAT64)
    assert exact.dtype == "float64"
    assert exact.item() == pytest.approx(3 / (1 + math.exp(-3)), rel=1e-15)
