"""Operands that do not fit: undefined where types cannot say so, an error of ours where they can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm

from relaxkit.interpreter import Interpreter, Undefined, machine

X = np.array([1, 2, 3], "float32")
SUM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        return R.add(x, y)
"""


def added(body: str, *arguments: Any) -> Any:
    return Interpreter(tvm.script.from_source(body)).call("main", list(arguments))


def test_operands_that_do_not_fit_are_undefined_where_types_cannot_say_so() -> None:
    """Type inference takes other dims for what may be equal."""
    assert added(SUM, X, X).tolist() == [2, 4, 6]
    with pytest.raises(Undefined, match="do not fit together"):
        added(SUM, X, X[:2])


def test_with_numbers_for_dims_the_error_is_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_request: Any) -> Any:
        raise ValueError("ours")

    monkeypatch.setattr(machine, "implementation", lambda _name: wrong)
    with pytest.raises(ValueError, match="ours"):
        added(SUM.replace('("n",)', "(3,)").replace('("m",)', "(3,)"), X, X)
    with pytest.raises(Undefined):
        added(SUM, X, X)


LESS = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.zeros(R.shape([n - 2]), "float32")
"""


def test_a_tensor_of_a_negative_extent_is_undefined() -> None:
    """Convolutions and slices have such results of nothing, and whoever asks for their memory dies of it."""
    assert added(LESS, X).tolist() == [0]
    with pytest.raises(Undefined):
        added(LESS, X[:0])
