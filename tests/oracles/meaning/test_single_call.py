"""A call of a program becomes a module of its own that means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from oracles.semantics.single import NotAlone, SingleCall, lowered_by, single_call
from relaxkit.interpreter import Interpreter, Request


def requests(module: Any, *arguments: Any) -> list[tuple[Request, Any]]:
    made: list[tuple[Request, Any]] = []
    Interpreter(module, observer=lambda request, value: made.append((request, value))).call("main", arguments)
    return made


def alone(module: Any, name: str, *arguments: Any) -> tuple[SingleCall, Any]:
    request, value = next(each for each in requests(module, *arguments) if each[0].name == name)
    return single_call(request), value


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * m + 1",), "float32"):
        n, m = T.int64(), T.int64()
        lv = R.exp(x)
        lv1 = R.reshape(lv, (n * m,))
        return R.concat((lv1, R.const([1.0], "float32")))


@I.ir_module
class Shared:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        z = R.multiply(y, y)
        return R.add(z, R.const(2.0, "float32"))


@pytest.mark.parametrize("name", ["relax.exp", "relax.reshape", "relax.concat"])
def test_gives_on_its_operands_what_it_gave_in_its_program(name: str) -> None:
    call, value = alone(Symbolic, name, np.ones((2, 3), "float32"))
    assert call.operator == name
    assert np.array_equal(Interpreter(call.module).call("main", call.arguments), value)


def test_symbolic_dims_stay_symbolic() -> None:
    call, _ = alone(Symbolic, "relax.reshape", np.ones((2, 3), "float32"))
    assert len(call.arguments) == 1
    assert not any(isinstance(dim, tvm.tirx.IntImm) for dim in call.module["main"].params[0].ty.shape.values)


def test_dims_that_no_operand_tells_are_given_behind_the_operands() -> None:
    call, _ = alone(Symbolic, "relax.concat", np.ones((2, 3), "float32"))
    assert [type(each) for each in call.arguments] == [np.ndarray, tvm.runtime.ShapeTuple]
    assert sorted(call.arguments[1]) == [2, 3]


def test_a_tensor_passed_twice_stays_one() -> None:
    call, _ = alone(Shared, "relax.multiply", np.ones(2, "float32"))
    assert len(call.module["main"].params) == len(call.arguments) == 1


def test_a_constant_of_one_element_stays_in_the_call() -> None:
    call, _ = alone(Shared, "relax.add", np.ones(2, "float32"))
    assert len(call.arguments) == 1
    assert "R.const(2.0" in call.module.script()


def test_what_lowers_an_operator() -> None:
    assert lowered_by("relax.add") == "LegalizeOps"
    assert lowered_by("relax.sort") == "DispatchSortScan"
    assert not lowered_by("relax.call_tir")


def test_a_call_that_is_not_lowered_is_not_for_us() -> None:
    @I.ir_module
    class Prints:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            _ = R.print(x, format="{}")
            return x

    with pytest.raises(NotAlone):
        alone(Prints, "relax.print", np.ones(2, "float32"))


def test_modules_are_well_formed() -> None:
    for name in ("relax.exp", "relax.reshape", "relax.concat"):
        call, _ = alone(Symbolic, name, np.ones((2, 3), "float32"))
        assert relax.analysis.well_formed(call.module) is not False
