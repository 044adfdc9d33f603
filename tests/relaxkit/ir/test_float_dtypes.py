"""Which float dtypes a module, or a function with what it calls, computes in."""

from __future__ import annotations

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxkit.ir.types import floats_in, floats_of


@I.ir_module
class Several:
    @R.function(private=True)
    def doubled(x: R.Tensor((2,), "float64")) -> R.Tensor((2,), "float64"):
        y: R.Tensor((2,), "float64") = R.add(x, x)
        return y

    @R.function
    def main(x: R.Tensor((2,), "float64")) -> R.Tensor((2,), "float32"):
        cls = Several
        y: R.Tensor((2,), "float64") = cls.doubled(x)
        z: R.Tensor((2,), "float32") = R.astype(y, "float32")
        return z

    @R.function
    def other(x: R.Tensor((2,), "bfloat16")) -> R.Tensor((2,), "bfloat16"):
        return x


def test_a_module_computes_in_what_its_functions_do() -> None:
    assert set(floats_in(tvm.ir.save_json(Several))) == {"bfloat16", "float32", "float64"}


def test_a_function_computes_in_what_it_reaches() -> None:
    assert set(floats_of(Several, "main")) == {"float32", "float64"}
    assert floats_of(Several, "other") == ("bfloat16",)
