"""Losses by hand: ignored classes, weights in the mean, targets that name no class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

nn = relax.op.nn
SCORES = np.asarray([[-1, -2, -3], [-4, -5, -6]], "float32")


def targets(*values: int, dtype: str = "int64") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def weights(*values: float) -> np.ndarray[Any, Any]:
    return np.asarray(values, "float32")


def test_cross_entropy_is_by_the_batch() -> None:
    x, y = np.asarray([[1, 2], [3, 4]], "float32"), np.asarray([[5, 6], [7, 8]], "float32")
    assert computed(nn.cross_entropy_with_logits, x, y).item() == -35
    assert computed(nn.cross_entropy_with_logits, x[0], y[0]).item() == -17
    made = computed(nn.cross_entropy_with_logits, x.reshape(1, 2, 2), y.reshape(1, 2, 2))
    assert made.shape == ()
    assert made.item() == -70


def test_reductions() -> None:
    at = targets(2, 0)
    assert computed(lambda x, t: nn.nll_loss(x, t, None, "none"), SCORES, at).tolist() == [3, 4]
    assert computed(lambda x, t: nn.nll_loss(x, t, None, "sum"), SCORES, at).item() == 7
    assert computed(lambda x, t: nn.nll_loss(x, t), SCORES, at).item() == 3.5


def test_the_mean_is_by_the_sum_of_weights() -> None:
    made = computed(lambda x, t, w: nn.nll_loss(x, t, w), SCORES, targets(2, 0), weights(1, 10, 3))
    assert made.item() == (3 * 3 + 4 * 1) / 4


def test_ignored_targets_count_for_nothing() -> None:
    at = targets(1, -100, dtype="int32")
    assert computed(lambda x, t: nn.nll_loss(x, t, None, "none"), SCORES, at).tolist() == [2, 0]
    assert computed(lambda x, t: nn.nll_loss(x, t), SCORES, at).item() == 2
    made = computed(lambda x, t, w: nn.nll_loss(x, t, w, "mean", 1), SCORES, targets(1, 2), weights(5, 5, 2))
    assert made.item() == 6
    assert np.isnan(computed(lambda x, t: nn.nll_loss(x, t, None, "mean", 1), SCORES, targets(1, 1)))


def test_one_example_and_pixels() -> None:
    assert computed(lambda x, t: nn.nll_loss(x, t), SCORES[0], targets(1).reshape(())).item() == 2
    pixels = np.arange(8, dtype="float32").reshape(1, 2, 2, 2)
    made = computed(lambda x, t: nn.nll_loss(x, t, None, "none"), pixels, targets(0, 1, 1, 0).reshape(1, 2, 2))
    assert made.tolist() == [[[0, -5], [-6, -3]]]


def test_a_target_out_of_range_is_not_defined() -> None:
    for wrong in (3, -1):
        with pytest.raises(Undefined, match="out of range"):
            computed(lambda x, t: nn.nll_loss(x, t), SCORES, targets(0, wrong))
