"""Attention whose weights are known without arithmetic: equal scores, one score beyond all others, masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Unsupported

nn = relax.op.nn


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def steps(count: int) -> np.ndarray[Any, Any]:
    """Values 1, 2, 4 ... of one head, of width one."""
    return of(2.0 ** np.arange(count)).reshape(1, count, 1, 1)


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return of(np.zeros(shape))


def test_equal_scores_average_the_values() -> None:
    made = computed(nn.attention, zeros(1, 2, 1, 3), zeros(1, 3, 1, 3), steps(3))
    assert made.shape == (1, 2, 1, 1)
    assert np.allclose(made.ravel(), 7 / 3)


def test_the_default_scale_is_by_the_root_of_the_width() -> None:
    query, key = of([1, 1, 1, 1]).reshape(1, 1, 1, 4), of([[0] * 4, [math.log(3) / 2] * 4]).reshape(1, 2, 1, 4)
    value = of([0, 4]).reshape(1, 2, 1, 1)
    # The score of the second key is 2 * log(3) / 2, so it has three quarters.
    assert computed(nn.attention, query, key, value).item() == pytest.approx(3, rel=1e-6)
    made = computed(lambda q, k, v: nn.attention(q, k, v, None, 0.0), query, key, value)
    assert made.item() == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize(
    ("mask", "length", "keys", "seen"),
    [
        ("TopLeft", 2, 4, [[1, 0, 0, 0], [1, 1, 0, 0]]),
        ("TopLeft", 4, 2, [[1, 0], [1, 1], [1, 1], [1, 1]]),
        ("BottomRight", 2, 4, [[1, 1, 1, 0], [1, 1, 1, 1]]),
        ("BottomRight", 4, 2, [[1, 1], [1, 1], [1, 1], [1, 1]]),
    ],
)
def test_masks_of_the_documentation(mask: str, length: int, keys: int, seen: list[list[int]]) -> None:
    made = computed(
        lambda q, k, v: nn.attention(q, k, v, None, None, mask),
        zeros(1, length, 1, 2),
        zeros(1, keys, 1, 2),
        steps(keys),
    )
    value = 2.0 ** np.arange(keys)
    assert np.allclose(made.ravel(), [np.dot(row, value) / sum(row) for row in seen])


def test_bias_is_added_after_the_scale_and_broadcasts() -> None:
    bias = of([0, math.log(3)]).reshape(1, 1, 1, 2)
    made = computed(
        lambda q, k, v, b: nn.attention(q, k, v, b, 0.125),
        zeros(1, 3, 2, 2),
        zeros(1, 2, 2, 2),
        zeros(1, 2, 2, 1) + 1,
        bias,
    )
    assert made.shape == (1, 3, 2, 1)
    assert np.allclose(made, 1)
    made = computed(
        lambda q, k, v, b: nn.attention(q, k, v, b, 0.125), zeros(1, 1, 1, 2), zeros(1, 2, 1, 2), steps(2), bias
    )
    assert made.item() == pytest.approx(1.75, rel=1e-6)


def test_heads_do_not_mix_and_fewer_heads_of_keys_serve_several() -> None:
    value = of([10, 20]).reshape(1, 1, 2, 1)
    made = computed(nn.attention, zeros(1, 1, 2, 1), zeros(1, 1, 2, 1), value)
    assert made.ravel().tolist() == [10, 20]
    made = computed(nn.attention, zeros(1, 1, 4, 1), zeros(1, 1, 2, 1), value)
    assert made.ravel().tolist() == [10, 10, 20, 20]


def test_a_sliding_window_is_not_known() -> None:
    with pytest.raises(Unsupported, match="window"):
        computed(
            lambda q, k, v: nn.attention(q, k, v, None, None, "TopLeft", 2),
            zeros(1, 2, 1, 1),
            zeros(1, 2, 1, 1),
            steps(2),
        )
