"""Gathers and slices: modes of ``take``, batches, negative indices where they mean something, ends out of range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from older_releases import needs_reverse_sequence
from one_operator import computed, listed
from tvm import relax

from relaxkit.interpreter import Precision, Undefined

op = relax.op
GRID = np.arange(1, 7, dtype="float32").reshape(2, 3)
ROW = np.array([10, 20, 30, 40, 50], dtype="float32")


def integers(*values: int, dtype: str = "int64") -> np.ndarray:
    return np.array(values, dtype)


def taken(mode: str, *indices: int, dtype: str = "int64", data: np.ndarray = ROW) -> list[float]:
    return listed(computed(lambda x, i: op.take(x, i, 0, mode), data, integers(*indices, dtype=dtype)))


def test_take_has_the_shape_of_its_indices() -> None:
    index = np.array([[2, 0], [1, 1]])
    assert computed(lambda x, i: op.take(x, i, -1), GRID, index).tolist() == [[[3, 1], [2, 2]], [[6, 4], [5, 5]]]
    scalar = computed(lambda x, i: op.take(x, i, 0), ROW, np.array(3))
    assert isinstance(scalar, np.ndarray)
    assert scalar.shape == ()
    assert computed(lambda x, i: op.take(x, i, 0), GRID, integers()).shape == (0, 3)


def test_take_out_of_range() -> None:
    assert taken("clip", -7, 9, 4) == [10, 50, 50]
    assert taken("wrap", -1, 5, 12, -6) == [50, 10, 30, 50]
    assert taken("clip", 2**64 - 1, dtype="uint64") == [50]
    assert taken("wrap", 2**64 - 1, dtype="uint64") == [10]  # 2**64 - 1 is a multiple of 5
    found = taken("nan", 4, 5, -6)
    assert found[0] == 50
    assert all(math.isnan(each) for each in found[1:])
    for index in (-1, 5):
        with pytest.raises(Undefined):
            taken("fast", index)
    with pytest.raises(Undefined):
        taken("nan", -1)  # NumPy's last element, or out of range
    with pytest.raises(Undefined):
        taken("nan", 5, data=ROW.astype("int32"))
    with pytest.raises(Undefined):
        taken("clip", 0, data=ROW[:0])


def test_take_nan_along_an_inner_axis() -> None:
    found = computed(lambda x, i: op.take(x, i, 1, "nan"), GRID, integers(2, 3))
    assert found[:, 0].tolist() == [3, 6]
    assert np.isnan(found[:, 1]).all()


def test_gather_elements_may_be_shorter_off_the_axis() -> None:
    def gather(x: Any, i: Any) -> Any:
        return op.gather_elements(x, i, -1)

    assert computed(gather, GRID, np.array([[0, 0], [2, 0]])).tolist() == [[1, 1], [6, 4]]
    assert computed(gather, GRID, np.array([[2, 1, 0, 0]])).tolist() == [[3, 2, 1, 1]]
    with pytest.raises(Undefined):
        computed(gather, GRID, np.array([[-1]]))


def test_gather_nd() -> None:
    assert computed(op.gather_nd, GRID, np.array([[1, 2], [0, 0]])).tolist() == [6, 1]
    assert computed(op.gather_nd, GRID, np.array([[1], [0]])).tolist() == [[4, 5, 6], [1, 2, 3]]
    one = computed(op.gather_nd, GRID, integers(1, 1))
    assert isinstance(one, np.ndarray)
    assert one.tolist() == 5
    cube = np.arange(8, dtype="int32").reshape(2, 2, 2)
    batched = computed(lambda x, i: op.gather_nd(x, i, 1), cube, np.array([[1], [0]]))
    assert batched.tolist() == [[2, 3], [4, 5]]


def test_index_tensor_is_numpy_indexing() -> None:
    square = np.arange(9, dtype="int32").reshape(3, 3)
    picked = computed(lambda x, i, j: op.index_tensor(x, [i, j]), square, integers(0, 2), integers(1, 0))
    assert picked.tolist() == [1, 6]
    grid = computed(lambda x, i, j: op.index_tensor(x, [i, j]), square, np.array([[0], [1]]), np.array([[0, 1, 2]]))
    assert grid.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert computed(lambda x, i: op.index_tensor(x, [i]), square, integers(-1, -3)).tolist() == [[6, 7, 8], [0, 1, 2]]
    with pytest.raises(Undefined):
        computed(lambda x, i: op.index_tensor(x, [i]), square, integers(-4))


SLICES = [
    (1, 4, 1, [20, 30, 40]),
    (-3, -1, 1, [30, 40]),
    (-9, 9, 2, [10, 30, 50]),
    (7, 9, 1, []),
    (2, 2, 1, []),
    (4, 0, -1, [50, 40, 30, 20]),
    (-1, -6, -3, [50, 20]),
    (9, -9, -2, [50, 30, 10]),
    (0, 5, 100, [10]),
]


@pytest.mark.parametrize(("begin", "end", "stride", "wanted"), SLICES)
def test_strided_slice_has_pythons_ends(begin: int, end: int, stride: int, wanted: list[float]) -> None:
    assert computed(lambda x: op.strided_slice(x, [0], [begin], [end], [stride]), ROW).tolist() == wanted
    ends = [relax.const(np.array([each]), "int64") for each in (begin, end, stride)]
    assert computed(lambda x: op.dynamic_strided_slice(x, *ends), ROW).tolist() == wanted


def test_strided_slice_of_some_axes() -> None:
    assert computed(lambda x: op.strided_slice(x, [-1], [1], [3]), GRID).tolist() == [[2, 3], [5, 6]]
    with pytest.raises(Undefined):
        computed(lambda x: op.strided_slice(x, [0], [1], [9], assume_inbound=True), ROW)


@needs_reverse_sequence
def test_reverse_sequence() -> None:
    found = computed(lambda x, n: op.reverse_sequence(x, n, -1, 0), GRID, integers(2, 3, dtype="int32"))
    assert found.tolist() == [[2, 1, 3], [6, 5, 4]]
    found = computed(lambda x, n: op.reverse_sequence(x, n, 0, 1), GRID, integers(0, 1, 2))
    assert found.tolist() == [[1, 2, 6], [4, 5, 3]]
    with pytest.raises(Undefined):
        computed(lambda x, n: op.reverse_sequence(x, n, 1, 0), GRID, integers(4, 0))


def test_moves_keep_what_float64_holds() -> None:
    exact = computed(lambda x: op.flip(x, 0), ROW.astype("float16"), precision=Precision.FLOAT64)
    assert exact.dtype == "float64"
    assert exact.tolist() == [50, 40, 30, 20, 10]
