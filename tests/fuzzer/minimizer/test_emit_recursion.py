"""Functions that call each other survive being taken apart and put together."""

from __future__ import annotations

import pytest
import tvm
from recursive_sample import Mutual
from tvm.script import ir as I
from tvm.script import relax as R

from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take


@I.ir_module
class Looping:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 1})

        @R.function
        def loop(left: R.Tensor((), "int32"), state: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            more: R.Tensor((), "bool") = R.greater(left, R.const(0, "int32"))
            if more:
                less: R.Tensor((), "int32") = R.subtract(left, R.const(1, "int32"))
                twice: R.Tensor((4,), "float32") = R.add(state, state)
                again: R.Tensor((4,), "float32") = loop(less, twice)
                result: R.Tensor((4,), "float32") = again
            else:
                result: R.Tensor((4,), "float32") = state
            return result

        out: R.Tensor((4,), "float32") = loop(R.const(2, "int32"), x)
        wave: R.Tensor((4,), "float32") = R.sigmoid(out)
        return wave


def test_functions_that_call_each_other_survive_the_sketch():
    tvm.ir.assert_structural_equal(emit(take(Mutual)), Mutual)


def test_a_local_function_that_calls_itself_survives_the_sketch():
    tvm.ir.assert_structural_equal(emit(take(Looping)), Looping)


def test_a_local_function_that_calls_itself_takes_other_dims():
    sketch = take(Looping)
    sketch.retype.dims = {4: 2}
    assert "(2,)" in str(emit(sketch)["main"].body.blocks[0].bindings[0].value.ret_ty)


def test_the_type_of_a_local_function_that_calls_itself_stays():
    sketch = take(Looping)
    loop = sketch.functions["main"].body.bindings()[0].value
    loop.body.result = loop.params[0]
    with pytest.raises(Invalid, match="the type of the recursive loop changed"):
        emit(sketch)
