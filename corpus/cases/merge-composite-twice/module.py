# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def f1(x: R.Tensor((2, 1), dtype="float32"), x1: R.Tensor((2, 1), dtype="float32")) -> R.Tensor((2, 1), dtype="float32"):
        R.func_attr({"Composite": "pyext.multiply_relu", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((2, 1), dtype="float32") = R.abs(x1)
            R.output(lv)
        return lv

    @R.function
    def main(x: R.Tensor((2, 1), dtype="float32")) -> R.Tensor((2, 1), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv: R.Tensor((2, 1), dtype="float32") = cls.f1(x, x)
            lv1: R.Tensor((2, 1), dtype="float32") = cls.f1(lv, x)
            R.output(lv1)
        return lv1
