"""Concatenations, sections of unequal length, repetitions, grids, padding from within and from less than nothing."""

from __future__ import annotations

import numpy as np
import pytest
from one_operator import computed, listed, module_of
from tvm import relax, tirx

from relaxkit.interpreter import Interpreter, Undefined

op = relax.op
GRID = np.arange(1, 7, dtype="int32").reshape(2, 3)
ROW = np.array([1, 2, 3, 4, 5], dtype="float32")


def test_concat() -> None:
    assert computed(lambda x, y: op.concat([x, y], -1), GRID, GRID[:, :1]).tolist() == [[1, 2, 3, 1], [4, 5, 6, 4]]
    assert computed(lambda x, y: op.concat([x, y], 1), GRID, GRID[:, :0]).tolist() == GRID.tolist()
    assert computed(lambda x, y: op.concat([x, y], None), ROW, ROW[:1]).tolist() == [1, 2, 3, 4, 5, 1]


def test_stack() -> None:
    assert computed(lambda x, y: op.stack([x, y], -1), GRID[0], GRID[1]).tolist() == [[1, 4], [2, 5], [3, 6]]


def test_split_into_sections() -> None:
    parts = computed(lambda x: op.split(x, 3), ROW)
    assert [part.tolist() for part in parts] == [[1, 2], [3, 4], [5]]
    parts = computed(lambda x: op.split(x, 2, -1), GRID)
    assert [part.tolist() for part in parts] == [[[1, 2], [4, 5]], [[3], [6]]]
    whole = computed(lambda x: op.split(x, 1), ROW)
    assert (whole if isinstance(whole, np.ndarray) else whole[0]).tolist() == ROW.tolist()


def test_split_at_indices() -> None:
    parts = computed(lambda x: op.split(x, [1, 4]), ROW)
    assert [part.tolist() for part in parts] == [[1], [2, 3, 4], [5]]
    for cuts in ([3, 1], [7]):
        with pytest.raises(Undefined):
            computed(lambda x, cuts=cuts: op.split(x, cuts), ROW)


def test_repeat_and_tile() -> None:
    assert computed(lambda x: op.repeat(x, 2), GRID[:, :2]).tolist() == [1, 1, 2, 2, 4, 4, 5, 5]
    assert computed(lambda x: op.repeat(x, 2, -1), GRID[:, :2]).tolist() == [[1, 1, 2, 2], [4, 4, 5, 5]]
    assert computed(lambda x: op.tile(x, (2, 1, 2)), GRID[:1, :2]).tolist() == [[[1, 2, 1, 2]]] * 2
    assert computed(lambda x: op.tile(x, 2), GRID[:, :1]).tolist() == [[1, 1], [4, 4]]
    assert computed(lambda x: op.tile(x, (0, 1)), GRID).shape == (0, 3)


def test_flip() -> None:
    assert computed(lambda x: op.flip(x, -2), GRID).tolist() == [[4, 5, 6], [1, 2, 3]]
    assert computed(lambda x: op.flip(x, 1), GRID).tolist() == [[3, 2, 1], [6, 5, 4]]


def test_meshgrid() -> None:
    left, right = computed(lambda x, y: op.meshgrid([x, y], "ij"), ROW[:2], ROW[:3])
    assert left.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert right.tolist() == [[1, 2, 3], [1, 2, 3]]


def padded(widths: list[int], mode: str = "constant", value: float = 0.0, data: np.ndarray = ROW) -> list[float]:
    return listed(computed(lambda x: op.nn.pad(x, widths, mode, value), data))


def test_pad_by_a_constant() -> None:
    assert padded([1, 2], value=7.0) == [7, 1, 2, 3, 4, 5, 7, 7]
    assert padded([-1, 1], value=7.0) == [2, 3, 4, 5, 7]
    assert padded([-2, -3]) == []
    assert padded([2, 0], value=9.0, data=GRID[0, :0]) == [9, 9]
    with pytest.raises(Undefined):
        padded([-3, -3])
    with pytest.raises(Undefined):
        padded([1, 1], value=0.5, data=GRID[0])


def test_pad_from_within() -> None:
    assert padded([2, 1], "reflect") == [3, 2, 1, 2, 3, 4, 5, 4]
    assert padded([2, 1], "replicate") == [1, 1, 1, 2, 3, 4, 5, 5]
    assert padded([2, 1], "circular") == [4, 5, 1, 2, 3, 4, 5, 1]
    assert padded([7, 0], "replicate") == [1] * 7 + [1, 2, 3, 4, 5]
    for mode, most in (("reflect", 4), ("circular", 5)):
        assert len(padded([most, 0], mode)) == 5 + most
        with pytest.raises(Undefined):
            padded([most + 1, 0], mode)


def test_concat_along_dims_that_turn_out_different() -> None:
    dims = [tirx.Var(name, "int64") for name in ("n", "m")]
    types = [relax.TensorType((2, dim), "int32") for dim in dims]
    module = module_of(lambda x, y: op.concat([x, y], 0), *types)
    assert Interpreter(module).call("main", [GRID, GRID]).shape == (4, 3)
    with pytest.raises(Undefined):
        Interpreter(module).call("main", [GRID, GRID[:, :2]])
