"""Products and sums: vectors, batches, dtypes of results, wrap-around, sums over no elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

op = relax.op


def of(values: Any, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.array(values, dtype)


GRID = of([[1, 2, 3], [4, 5, 6]])


def test_matmul_of_vectors_and_batches() -> None:
    assert computed(op.matmul, of([1, 2, 3]), of([4, 5, 6])).tolist() == 32
    assert computed(op.matmul, GRID, of([1, 0, -1])).tolist() == [-2, -2]
    assert computed(op.matmul, of([1, -1]), GRID).tolist() == [-3, -3, -3]
    batch = computed(op.matmul, GRID.reshape(2, 1, 3), GRID.T.reshape(1, 3, 2))
    assert batch.tolist() == [[[14, 32]], [[32, 77]]]


def test_matmul_over_no_elements_is_zero() -> None:
    assert computed(op.matmul, GRID[:, :0], GRID[:0]).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_matmul_of_integers() -> None:
    left, right = of([[100, 100]], "int8"), of([[2], [1]], "int8")
    assert computed(op.matmul, left, right).tolist() == [[44]]
    assert computed(lambda x, y: op.matmul(x, y, "int32"), left, right).tolist() == [[300]]
    assert computed(lambda x, y: op.matmul(x, y, "float32"), left, right).dtype == "float32"


def test_matmul_rounds_its_result_alone() -> None:
    left, right = of([[1e5, 1]]), of([[1e-5], [1]])
    assert computed(lambda x, y: op.matmul(x, y, "float16"), left, right).tolist() == [[2]]
    third = computed(op.matmul, of([[1, 1]], "float16"), of([[2048], [1]], "float16"))
    assert third.tolist() == [[2048]]  # 2049 lies between 2048 and 2050; the even one is nearest
    exact = computed(op.matmul, of([[1, 1]], "float16"), of([[2048], [1]], "float16"), precision=Precision.FLOAT64)
    assert exact.tolist() == [[2049]]


def test_sums_that_may_leave_their_dtype() -> None:
    with pytest.raises(Undefined):
        computed(op.matmul, of([[3e38, 3e38]]), of([[1], [-1]]))
    with pytest.raises(Undefined):
        computed(lambda x, y: op.einsum([x, y], "i,i->"), of([3e38, 3e38]), of([1, -1]))
    with pytest.raises(Undefined):
        computed(lambda x: op.einsum([x], "i->"), np.ones(2000, "float16"))
    with pytest.raises(Undefined):
        computed(lambda x: op.collapse_sum_to(x, ()), np.ones(2000, "float16"))
    assert computed(lambda x: op.einsum([x], "ij->j"), np.ones((2, 2000), "float16")).max() == 2
    assert math.isinf(computed(op.matmul, of([[math.inf, 1]]), of([[1], [1]])).item())


def test_outer() -> None:
    assert computed(op.outer, of([1, 2], "uint8"), of([3, 200], "uint8")).tolist() == [[3, 200], [6, 144]]


EINSUMS = [
    ("ij->ji", [[1, 4], [2, 5], [3, 6]]),
    ("ba", [[1, 4], [2, 5], [3, 6]]),
    ("ij->", 21),
    ("i j -> i", [6, 15]),
    ("...i->...", [6, 15]),
]


@pytest.mark.parametrize(("equation", "wanted"), EINSUMS)
def test_einsum_of_one_operand(equation: str, wanted: Any) -> None:
    assert computed(lambda x: op.einsum([x], equation), GRID).tolist() == wanted


def test_einsum() -> None:
    square = GRID[:, :2]
    assert computed(lambda x: op.einsum([x], "ii"), square).tolist() == 6
    assert computed(lambda x: op.einsum([x], "ii->i"), square).tolist() == [1, 5]
    product = computed(lambda x, y: op.einsum([x, y], "ij,kj"), GRID, of([[1, 1, 1], [1, 0, -1]]))
    assert product.tolist() == [[6, -2], [15, -2]]
    assert computed(lambda x, y: op.einsum([x, y], "ij,jk->ik"), GRID[:, :0], GRID[:0]).tolist() == [[0, 0, 0]] * 2
    wrapped = computed(lambda x, y: op.einsum([x, y], "i,i->"), of([100, 100], "int8"), of([2, 1], "int8"))
    assert wrapped.tolist() == 44


def test_collapse_sum() -> None:
    assert computed(lambda x: op.collapse_sum_to(x, (3,)), GRID).tolist() == [5, 7, 9]
    assert computed(lambda x: op.collapse_sum_to(x, (2, 1)), GRID).tolist() == [[6], [15]]
    total = computed(lambda x: op.collapse_sum_to(x, ()), GRID)
    assert isinstance(total, np.ndarray)
    assert total.tolist() == 21
    assert computed(op.collapse_sum_like, of([[100, 100]], "int8"), of([0], "float32")).tolist() == [-56]


def test_collapse_sum_over_no_elements_is_zero() -> None:
    assert computed(lambda x: op.collapse_sum_to(x, (3,)), GRID[:0]).tolist() == [0, 0, 0]
