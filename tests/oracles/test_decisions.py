from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numeric_samples as samples
import pytest
from tvm import relax, topi

from oracles.measure.decisions import decides_on_floats

op = relax.op


def unary(make: Callable[[Any], Any], dtype: str = "float32") -> Any:
    x = samples.var("x", (2, 3), dtype)
    return samples.function([x], lambda bb: bb.emit(make(x)))


def kernel(make: Callable[[Any], Any], dtype: str = "float32") -> Any:
    bb, x = relax.BlockBuilder(), samples.var("x", (2, 3), dtype)
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(bb.call_te(make, x)))
    return bb.finalize()


DECIDING: dict[str, Callable[[Any], Any]] = {
    "greater": lambda x: op.greater(x, x),
    "argmax": lambda x: op.argmax(x, 1),
    "floor": op.floor,
    "sort": lambda x: op.sort(x, 1),
    "sign": op.sign,
    "astype": lambda x: op.astype(x, "int32"),
    "floor_divide": lambda x: op.floor_divide(x, x),
}
CONTINUOUS: dict[str, Callable[[Any], Any]] = {
    "maximum": lambda x: op.maximum(x, x),
    "clip": lambda x: op.clip(x, 0, 1),
    "relu": op.nn.relu,
    "softmax": op.nn.softmax,
    "astype": lambda x: op.astype(x, "float16"),
    "sum": op.sum,
}


@pytest.mark.parametrize("name", DECIDING)
def test_decisions_on_floats(name: str) -> None:
    assert decides_on_floats(unary(DECIDING[name]))
    assert not decides_on_floats(unary(DECIDING[name], "int32"))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_choices_are_no_decisions(name: str) -> None:
    assert not decides_on_floats(unary(CONTINUOUS[name]))


@pytest.mark.parametrize("make", [topi.floor, topi.sign, lambda a: topi.cast(a, "int32"), lambda a: topi.argmax(a, 1)])
def test_kernels_decide(make: Callable[[Any], Any]) -> None:
    assert decides_on_floats(kernel(make))


@pytest.mark.parametrize("make", [topi.exp, topi.nn.relu, topi.sum])
def test_kernels_without_decisions(make: Callable[[Any], Any]) -> None:
    assert not decides_on_floats(kernel(make))


def test_integer_comparisons_in_kernels_are_no_decisions() -> None:
    assert not decides_on_floats(kernel(lambda a: topi.greater(a, a), "int32"))
