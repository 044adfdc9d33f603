"""Shapes changed and elements kept: axes from either side, scalars, empty tensors, shapes as values."""

from __future__ import annotations

import numpy as np
import pytest
from one_operator import computed, module_of
from tvm import relax, tirx

from relaxkit.interpreter import Interpreter, Undefined
from relaxkit.runtime.values import ShapeValue

op = relax.op
GRID = np.arange(6, dtype="int32").reshape(2, 3)


def test_permute_dims() -> None:
    assert computed(op.permute_dims, GRID).tolist() == [[0, 3], [1, 4], [2, 5]]
    turned = computed(lambda x: op.permute_dims(x, [-1, 0, 1]), GRID.reshape(1, 2, 3))
    assert turned.shape == (3, 1, 2)
    assert turned[:, 0, 1].tolist() == [3, 4, 5]


def test_reshape_resolves_its_target() -> None:
    assert computed(lambda x: op.reshape(x, (3, -1)), GRID).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert computed(lambda x: op.reshape(x, (0, 3, 1)), GRID).shape == (2, 3, 1)
    assert computed(lambda x: op.reshape(x, (-1,)), np.zeros((0, 3), "int8")).shape == (0,)


def test_flatten_and_batch_flatten() -> None:
    assert computed(op.flatten, np.array(7)).tolist() == [7]
    assert computed(op.nn.batch_flatten, GRID.reshape(1, 2, 3)).tolist() == [[0, 1, 2, 3, 4, 5]]
    assert computed(op.nn.batch_flatten, np.zeros((0, 2, 3), "int8")).shape == (0, 6)


def test_expand_dims_counts_in_the_result() -> None:
    assert computed(lambda x: op.expand_dims(x, [-1, 0]), GRID).shape == (1, 2, 3, 1)
    assert computed(lambda x: op.expand_dims(x, [3, -4]), GRID).shape == (1, 2, 3, 1)


def test_squeeze() -> None:
    ones = GRID.reshape(1, 2, 1, 3)
    assert computed(op.squeeze, ones).shape == (2, 3)
    assert computed(lambda x: op.squeeze(x, [-2]), ones).shape == (1, 2, 3)


def test_squeeze_of_a_dim_that_turns_out_longer() -> None:
    dim = tirx.Var("n", "int64")
    module = module_of(lambda x: op.squeeze(x, [0]), relax.TensorType((dim, 2), "int32"))
    assert Interpreter(module).call("main", [GRID[:1, :2]]).tolist() == [0, 1]
    with pytest.raises(Undefined):
        Interpreter(module).call("main", [GRID[:, :2]])


def test_broadcast_to_stretches_and_leads() -> None:
    stretched = computed(lambda x: op.broadcast_to(x, (2, 2, 3)), GRID[:, :1])
    assert stretched.tolist() == [[[0, 0, 0], [3, 3, 3]]] * 2


def test_broadcast_of_a_symbolic_dim_that_is_one() -> None:
    dim = tirx.Var("n", "int64")
    module = module_of(lambda x: op.broadcast_to(x, (3, 2)), relax.TensorType((dim, 2), "int32"))
    assert Interpreter(module).call("main", [GRID[:1, :2]]).tolist() == [[0, 1]] * 3
    with pytest.raises(Undefined):
        Interpreter(module).call("main", [GRID[:, :2]])


def test_shapes_as_values() -> None:
    assert computed(op.shape_of, GRID) == ShapeValue((2, 3))
    assert computed(op.tensor_to_shape, np.array([4, 0])) == ShapeValue((4, 0))
    dims = computed(lambda x: op.shape_to_tensor(op.shape_of(x)), GRID)
    assert dims.dtype == "int64"
    assert dims.tolist() == [2, 3]
    size = computed(op.size, np.zeros((2, 0), "int8"))
    assert size.dtype == "int64"
    assert size.shape == ()
    assert int(size) == 0
