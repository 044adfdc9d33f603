"""Calls are left with the attributes that their operators have by default, and with as few elements as show it."""

from __future__ import annotations

from typing import Any

import pytest
from reduced import candidates
from tvm import relax

from fuzzer.minimizer.reductions.attributes import op_attributes
from fuzzer.minimizer.reductions.dims import single_dims
from relaxkit.ir.retype import fields_of

op = relax.op


def module_of(build: Any, *shapes: tuple[int, ...]) -> Any:
    """A module whose ``main`` returns one call."""
    params = [relax.Var(f"x{at}", relax.TensorType(shape, "float32")) for at, shape in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(build(*params)))
    return builder.finalize()


def attributes_of(module: Any) -> dict[str, Any]:
    """The attributes of the call, as text."""
    (binding,) = module["main"].body.blocks[0].bindings
    return {name: str(value) for name, value in fields_of(binding.value.attrs).items()}


@pytest.mark.parametrize(
    ("build", "shapes", "plain"),
    [
        (lambda x: op.nn.softmax(x, axis=0), [(2, 3)], {"axis": "-1"}),
        (lambda x: op.argsort(x, axis=0, descending=True), [(2, 3)], {"axis": "-1", "descending": "False"}),
        (lambda x: op.nn.avg_pool2d(x, [1, 1], count_include_pad=True, ceil_mode=True), [(1, 1, 2, 2)],
         {"ceil_mode": "False", "count_include_pad": "False"}),
        (lambda x, w: op.nn.conv2d(x, w, strides=2, padding=1, dilation=2), [(1, 1, 4, 4), (1, 1, 1, 1)],
         {"strides": "(1, 1)", "padding": "(0, 0, 0, 0)", "dilation": "(1, 1)"}),
        (lambda x: op.nn.batch_norm(x, x, x, x, x, axis=0, epsilon=0.5), [(2,)], {"epsilon": "1e-05"}),
    ],
)  # fmt: skip
def test_attributes_become_the_defaults(build: Any, shapes: list[tuple[int, ...]], plain: dict[str, str]) -> None:
    found = [attributes_of(each) for each in candidates(op_attributes, module_of(build, *shapes))]
    for name, value in plain.items():
        assert any(each[name] == value for each in found), (name, found)


@pytest.mark.parametrize("build", [op.nn.softmax, op.argsort, lambda x: op.nn.conv2d(x, x)])
def test_defaults_stay(build: Any) -> None:
    shape = (1, 1, 2, 2)
    assert list(candidates(op_attributes, module_of(build, shape))) == []


def test_extents_become_one_at_last() -> None:
    assert single_dims.final
    found = candidates(single_dims, module_of(op.tanh, (2, 3)))
    shapes = [[int(dim) for dim in each["main"].params[0].ty.shape] for each in found]
    assert shapes == [[2, 1], [1, 3]]
    assert list(candidates(single_dims, module_of(op.tanh, (1, 1)))) == []
