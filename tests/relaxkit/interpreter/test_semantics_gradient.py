"""Gradients by hand, and by what they are the gradients of: each operator is linear in what it differentiates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

nn, grad = relax.op.nn, relax.op.grad


def of(values: Any, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def test_marks_change_nothing() -> None:
    for mark in (grad.no_grad, grad.start_checkpoint, grad.end_checkpoint):
        assert computed(mark, of([1, 2], "int8")).tolist() == [1, 2]


def test_loss_gradient_is_at_the_targets() -> None:
    scores, at, weight = of(np.zeros((2, 3))), of([2, 0], "int64"), of([1, 10, 3])
    made = computed(lambda g, x, t, w: grad.nll_loss_backward(g, x, t, w, "none"), of([5, 7]), scores, at, weight)
    assert made.tolist() == [[0, 0, -15], [-7, 0, 0]]
    made = computed(lambda g, x, t, w: grad.nll_loss_backward(g, x, t, w, "sum"), of(2), scores, at, weight)
    assert made.tolist() == [[0, 0, -6], [-2, 0, 0]]
    made = computed(lambda g, x, t, w: grad.nll_loss_backward(g, x, t, w), of(2), scores, at, weight)
    assert made.tolist() == [[0, 0, -1.5], [-0.5, 0, 0]]


def test_loss_gradient_of_ignored_targets_and_of_one_example() -> None:
    at = of([-100, 0], "int64")
    made = computed(lambda g, x, t: grad.nll_loss_backward(g, x, t), of(2), of(np.zeros((2, 3))), at)
    assert made.tolist() == [[0, 0, 0], [-2, 0, 0]]
    made = computed(lambda g, x, t: grad.nll_loss_backward(g, x, t), of(2), of(np.zeros(3)), of(1, "int64"))
    assert made.tolist() == [0, -2, 0]


def test_maximum_gives_all_to_the_greatest() -> None:
    x, g = of([[[[1, 5, 2], [3, 4, 0]]]]), of([[[[10, 20]]]])
    made = computed(lambda g, x: grad.max_pool2d_backward(g, x, (2, 2)), g, x)
    assert made.tolist() == [[[[0, 30, 0], [0, 0, 0]]]]
    made = computed(
        lambda g, x: grad.max_pool2d_backward(g, x, (1, 2), (1, 2), (0, 1, 0, 0), ceil_mode=True, layout="NHWC"),
        of(np.ones((1, 2, 2, 1))),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
    )
    assert made.ravel().tolist() == [1, 1, 0, 1, 1, 0]


def test_ties_have_no_gradient_where_it_is_not_zero() -> None:
    x = of(np.zeros((1, 1, 1, 2)))
    with pytest.raises(Undefined, match="not alone"):
        computed(lambda g, x: grad.max_pool2d_backward(g, x, (1, 2)), of([[[[1]]]]), x)
    assert computed(lambda g, x: grad.max_pool2d_backward(g, x, (1, 2)), of([[[[0]]]]), x).tolist() == [[[[0, 0]]]]


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("include", [False, True])
def test_average_gradient_is_the_adjoint_of_the_average(ceil: bool, include: bool) -> None:
    options: Any = ((3, 2), (2, 2), (1, 0, 0, 1), (1, 1), ceil, include)
    x = of(np.arange(30) * 7 % 13).reshape(1, 1, 5, 6)
    forward = computed(lambda x: nn.avg_pool2d(x, *options), x)
    g = of(np.arange(forward.size) * 5 % 7 - 3).reshape(forward.shape)
    back = computed(lambda g, x: grad.avg_pool2d_backward(g, x, *options), g, x)
    assert back.shape == x.shape
    assert np.sum(forward * g) == pytest.approx(np.sum(back * x), rel=1e-12)


def test_average_gradient_of_what_ceil_adds_is_whole() -> None:
    made = computed(
        lambda g, x: grad.avg_pool2d_backward(g, x, (1, 2), (1, 2), ceil_mode=True, count_include_pad=True),
        of([[[[2, 2]]]]),
        of([[[[7, 8, 9]]]]),
    )
    assert made.tolist() == [[[[1, 1, 2]]]]


@pytest.mark.parametrize("axis", [1, -1])
def test_take_adds_up_where_an_index_repeats(axis: int) -> None:
    made = computed(
        lambda g, x, i: grad.take_backward(g, x, i, axis),
        of([[1, 2, 4], [8, 16, 32]]),
        of(np.zeros((2, 4))),
        of([3, 0, 3], "int32"),
    )
    assert made.tolist() == [[2, 0, 0, 5], [16, 0, 0, 40]]


def test_take_without_an_axis_and_of_integers() -> None:
    x, at = of([0, 0, 0], "int32"), of([1, 1], "int64")
    made = computed(lambda g, x, i: grad.take_backward(g, x, i), of([2**31 - 1, 1], "int32"), x, at)
    assert made.tolist() == [0, -(2**31), 0]
    with pytest.raises(Undefined, match="out of range"):
        computed(lambda g, x, i: grad.take_backward(g, x, i, 0), of([1], "int32"), x, of([3], "int64"))


@pytest.mark.parametrize("backward", [grad.max_pool2d_backward, grad.avg_pool2d_backward])
def test_a_gradient_of_another_shape_than_the_pool_gives_is_undefined(backward: Any) -> None:
    """Type inference asks for four dims only; NumPy would broadcast, and minimizing made such calls of a finding."""
    x = of(np.arange(4).reshape(1, 1, 2, 2))
    assert computed(lambda g, x: backward(g, x, (1, 1)), x, x).shape == x.shape
    with pytest.raises(Undefined, match="do not fit together"):
        computed(lambda g, x: backward(g, x, (1, 1)), of([[[[1], [2]]]]), x)
