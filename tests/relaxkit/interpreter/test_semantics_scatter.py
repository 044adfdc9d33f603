"""Scatters: reductions, wrap-around, places that are written twice, negative indices, slices from the back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_operator import computed, listed
from tvm import relax

from relaxkit.interpreter import Undefined

op = relax.op
ROW = np.array([1, 2, 3, 4], dtype="float32")


def elements(way: str, indices: list[int], updates: list[float], dtype: str = "float32") -> list[Any]:
    arrays = [ROW.astype(dtype), np.array(indices), np.array(updates, dtype)]
    return listed(computed(lambda x, i, u: op.scatter_elements(x, i, u, 0, way), *arrays))


@pytest.mark.parametrize(
    ("way", "wanted"),
    [
        ("update", [1, 8, 3, 2]),
        ("add", [1, 10, 3, 6]),
        ("mul", [1, 16, 3, 8]),
        ("mean", [1, 5, 3, 3]),
        ("max", [1, 8, 3, 4]),
        ("min", [1, 2, 3, 2]),
    ],
)
def test_reductions(way: str, wanted: list[float]) -> None:
    assert elements(way, [1, -1], [8, 2]) == wanted


def test_one_place_written_twice() -> None:
    assert elements("add", [0, 0, 0], [1, 1, 1]) == [4, 2, 3, 4]
    assert elements("mul", [0, 0], [3, 3]) == [9, 2, 3, 4]
    assert elements("min", [3, 3], [2, 1]) == [1, 2, 3, 1]
    assert elements("update", [0, 0], [7, 7]) == [7, 2, 3, 4]
    for way in ("update", "mean"):
        with pytest.raises(Undefined):
            elements(way, [0, 0], [7, 8])


def test_integers_wrap_around() -> None:
    assert elements("add", [0], [127], "int8") == [-128, 2, 3, 4]
    assert elements("mul", [3], [100], "uint8") == [1, 2, 3, 144]


def test_extreme_of_a_number_and_nan() -> None:
    assert math.isnan(elements("add", [0], [math.nan])[0])
    with pytest.raises(Undefined):
        elements("max", [0], [math.nan])


def test_scatter_elements_in_a_part_of_the_data() -> None:
    data, index, update = np.zeros((2, 3), "int32"), np.array([[1, 0], [0, 1]]), np.array([[1, 2], [3, 4]], "int32")
    rows = computed(lambda x, i, u: op.scatter_elements(x, i, u, 0), data, index, update)
    assert rows.tolist() == [[3, 2, 0], [1, 4, 0]]
    columns = computed(lambda x, i, u: op.scatter_elements(x, i, u, -1), data, index, update)
    assert columns.tolist() == [[2, 1, 0], [3, 4, 0]]
    with pytest.raises(Undefined):
        computed(lambda x, i, u: op.scatter_elements(x, i, u, 0), data, index * 2, update)


def test_scatter_nd() -> None:
    data, index = np.zeros((2, 2), "int32"), np.array([[1, 0], [0, 1]])
    assert computed(op.scatter_nd, data, index, np.array([5, 6], "int32")).tolist() == [[0, 6], [5, 0]]
    rows = computed(lambda x, i, u: op.scatter_nd(x, i, u, "add"), data, np.array([[1], [1]]), data + 1)
    assert rows.tolist() == [[0, 0], [2, 2]]


SLICES = [
    (1, 4, 2, [1, -1, 3, -2], 2),
    (0, 4, 1, [-1, -2, -3, -4], 4),
    (-3, -1, 1, [1, -1, -2, 4], 2),
    (2, 2, 1, [1, 2, 3, 4], 0),
]


@pytest.mark.parametrize(("start", "end", "step", "wanted", "count"), SLICES)
def test_slice_scatter(start: int, end: int, step: int, wanted: list[float], count: int) -> None:
    source = -np.arange(1, count + 1, dtype="float32")
    assert computed(lambda x, y: op.slice_scatter(x, y, start, end, step, -1), ROW, source).tolist() == wanted
    assert ROW.tolist() == [1, 2, 3, 4]


def test_index_put() -> None:
    data = np.zeros((3, 3), "float32")
    places = [np.array([0, 2]), np.array([1, -1])]
    put = computed(lambda x, i, j, v: op.index_put(x, (i, j), v), data, *places, np.array([1, 2], "float32"))
    assert put.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 2]]
    places = [np.array([[0], [2]]), np.array([0, 1])]
    values = np.array([[1, 2], [3, 4]], "float32")
    added = computed(lambda x, i, j, v: op.index_put(x, (i, j), v, True), data + 1, *places, values)
    assert added.tolist() == [[2, 3, 1], [1, 1, 1], [4, 5, 1]]
    spread = computed(lambda x, i, j, v: op.index_put(x, (i, j), v), data, *places, values[0])
    assert spread.tolist() == [[1, 2, 0], [0, 0, 0], [1, 2, 0]]


def test_index_put_that_adds_twice() -> None:
    assert computed(lambda x, i, v: op.index_put(x, i, v, True), ROW, np.array([0, 0]), ROW[:2]).tolist() == [
        4,
        2,
        3,
        4,
    ]
    with pytest.raises(Undefined):
        computed(lambda x, i, v: op.index_put(x, i, v), ROW, np.array([0, 0]), ROW[:2])
