"""Normalizations of numbers whose mean and variance are seen at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

nn = relax.op.nn


def of(values: Any, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def close(made: Any, values: Any) -> bool:
    return bool(np.allclose(made, values, rtol=1e-6, atol=1e-12))


def batch(x: Any, **options: Any) -> Any:
    statistics = (of([2, 1]), of([10, 20]), of([1, -1]), of([3, 8]))
    return computed(lambda x, *rest: nn.batch_norm(x, *rest, **options), x, *statistics)


def test_batch_norm_for_inference_takes_the_running_statistics() -> None:
    x = of([[5, 2], [1, -1]])
    made, mean, variance = batch(x, axis=1, epsilon=1.0, training=False)
    assert close(made, [[2 * 2 + 10, 1 + 20], [10, 20]])
    assert mean.tolist() == [1, -1]
    assert variance.tolist() == [3, 8]
    made, _, _ = batch(x, axis=0, epsilon=1.0, training=False)
    assert close(made, [[14, 11], [2 / 3 + 20, 20]])
    made, _, _ = batch(x, axis=-1, epsilon=1.0, center=False, scale=False, training=False)
    assert close(made, [[2, 1], [0, 0]])


def test_batch_norm_in_training_takes_its_own() -> None:
    # The columns have means 3 and 0.5, variances (of the population) 4 and 2.25.
    made, mean, variance = batch(of([[5, 2], [1, -1]]), axis=1, epsilon=0.0, momentum=0.25, training=True)
    assert close(made, [[12, 21], [8, 19]])
    assert close(mean, [0.75 * 1 + 0.25 * 3, 0.75 * -1 + 0.25 * 0.5])
    assert close(variance, [0.75 * 3 + 0.25 * 4, 0.75 * 8 + 0.25 * 2.25])


def test_layer_norm_over_the_last_axis() -> None:
    x = of([[1, 3], [10, 10]], "float32")
    made = computed(lambda x, g, b: nn.layer_norm(x, g, b, -1, 3.0), x, of([2, 4], "float32"), of([0, 1], "float32"))
    assert close(made, [[-1, 3], [0, 1]])


def test_scale_and_shift_of_layer_norm_have_the_axes_in_the_order_of_the_attribute() -> None:
    x = of(np.arange(12)).reshape(1, 3, 4)
    gamma, beta = of(np.arange(12)).reshape(3, 4), of(np.ones((3, 4)))
    ascending = computed(lambda x, g, b: nn.layer_norm(x, g, b, [1, 2]), x, gamma, beta)
    turned = computed(lambda x, g, b: nn.layer_norm(x, g, b, [2, -2]), x, gamma.T.copy(), beta.T.copy())
    assert np.array_equal(ascending, turned)
    assert close(ascending[0], (np.arange(12).reshape(3, 4) - 5.5) / math.sqrt(143 / 12 + 1e-5) * gamma + 1)


def test_layer_norm_keeps_its_digits_far_from_zero() -> None:
    x = of([[4096, 4097, 4098, 4099]], "float32")
    ones, zeros = of(np.ones(4), "float32"), of(np.zeros(4), "float32")
    made = computed(lambda x, g, b: nn.layer_norm(x, g, b, -1, 0.0), x, ones, zeros)
    assert close(made, np.asarray([[-1.5, -0.5, 0.5, 1.5]]) / math.sqrt(1.25))


def test_layer_norm_without_scale_or_shift() -> None:
    x, gamma, beta = of([[1, 3]]), of([100, 100]), of([5, 6])
    assert close(computed(lambda x, g, b: nn.layer_norm(x, g, b, -1, 0.0, True, False), x, gamma, beta), [[4, 7]])
    assert close(computed(lambda x, g, b: nn.layer_norm(x, g, b, -1, 0.0, False), x, gamma, beta), [[-100, 100]])


def test_rms_norm() -> None:
    x = of([[3, 4], [0, 0]])
    made = computed(lambda x, w: nn.rms_norm(x, w, -1, 0.0), x[:1], of([1, 10]))
    assert close(made, [[3 / math.sqrt(12.5), 40 / math.sqrt(12.5)]])
    assert close(computed(lambda x, w: nn.rms_norm(x, w, 1, 1.0), x, of([1, 1]))[1], [0, 0])
    # The mean of squares is of both axes.
    made = computed(lambda x, w: nn.rms_norm(x, w, [2, 1], 0.0), x.reshape(1, 2, 2), of([[1, 1], [2, 2]]))
    assert close(made, [[[3 / 2.5, 8 / 2.5], [0, 0]]])


def test_group_norm_over_channels_of_a_group() -> None:
    x = of([[[1, 1], [3, 3], [5, 5], [9, 9]]])
    gamma, beta = of([1, 2, 1, 1]), of([0, 0, 0, 10])
    made = computed(lambda x, g, b: nn.group_norm(x, g, b, 2, 1, [2], 0.0), x, gamma, beta)
    assert close(made, [[[-1, -1], [2, 2], [-1, -1], [11, 11]]])
    # The channels last, the batch normalized as well.
    turned = computed(
        lambda x, g, b: nn.group_norm(x, g, b, 2, -1, [0, 1], 0.0), x.transpose(0, 2, 1).copy(), gamma, beta
    )
    assert close(turned.transpose(0, 2, 1), made)


def test_instance_norm_for_each_channel_of_each_example() -> None:
    x = of([[[1, 3], [10, 30]], [[5, 9], [0, 2]]])
    made = computed(lambda x, g, b: nn.instance_norm(x, g, b, 1, [2], 0.0), x, of([1, 2]), of([0, 1]))
    assert close(made, [[[-1, 1], [-1, 3]], [[-1, 1], [-1, 3]]])


def test_squares_that_overflow_are_not_defined() -> None:
    x, ones = of([[1e30, -1e30]], "float32"), of([1, 1], "float32")
    with pytest.raises(Undefined, match="overflow"):
        computed(lambda x, w: nn.rms_norm(x, w, -1), x, ones)
    half = of([[300, 300]], "float16")
    made = computed(lambda x, w: nn.rms_norm(x, w, -1), half, of([1, 1], "float16"))
    assert made.dtype == "float16"
    assert made.tolist() == [[1, 1]]
