"""Scalars where Relax takes them, in the words of the newest release, on whichever is installed."""

from __future__ import annotations

from typing import Any

import pytest
from tvm import relax, tirx

from relaxkit.compat import shims as prims


def built(call: Any) -> Any:
    return relax.BlockBuilder().normalize(call).ty


@pytest.mark.parametrize("name", prims._BINARY)
def test_an_operand_may_be_a_scalar_by_place_or_by_name(name: str) -> None:
    operator = getattr(relax.op, name)
    dtype = "bool" if name.startswith("logical") else "int8"
    x, scalar = relax.Var("x", relax.TensorType([2], dtype)), tirx.IntImm(dtype, 1)
    for call in (operator(x, scalar), operator(scalar, x), operator(x1=x, x2=scalar)):
        assert [int(dim) for dim in built(call).shape] == [2]


def test_every_operator_of_two_operands_is_named() -> None:
    from tvm.relax.op import binary

    there = {name for name, value in vars(binary).items() if getattr(value, "__module__", "") == binary.__name__}
    assert there - {name for name in there if name.startswith("_")} == set(prims._BINARY)


@pytest.mark.parametrize(
    ("on", "off", "dtype"),
    [
        (1, 0, "int64"),
        (1.0, 0.0, "float64"),
        (True, False, "bool"),
        (tirx.IntImm("int8", 1), tirx.IntImm("int8", -1), "int8"),
    ],
)
def test_one_hot_takes_numbers(on: Any, off: Any, dtype: str) -> None:
    indices = relax.Var("i", relax.TensorType([3], "int32"))
    for call in (
        relax.op.one_hot(indices, on, off, 4),
        relax.op.one_hot(indices=indices, on_value=on, off_value=off, depth=4, axis=-1),
    ):
        assert built(call).dtype == dtype
        assert [int(dim) for dim in built(call).shape] == [3, 4]


def test_numbers_become_scalars_as_in_the_newest_release() -> None:
    one_hot = prims._numbered(lambda indices, on, off, depth, axis: (on, off), tirx)
    scalars = [each for pair in ((True, 2), (0.5, False)) for each in one_hot(None, *pair, 3)]
    assert [str(each.ty.dtype) for each in scalars] == ["bool", "int64", "float64", "bool"]
    assert [each.value for each in scalars] == [1, 2, 0.5, 0]
