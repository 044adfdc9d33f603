# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def f1(p0: R.Tensor((2,), dtype="float32"), p1: R.Tensor((1, 2, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        return p1

    @R.function
    def main(p1: R.Tensor((2,), dtype="float32"), lv9: R.Tensor((1, 2, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        cls = Module
        lv14: R.Tensor((1, 2, 2, 2), dtype="float32") = cls.f1(p1, lv9)
        return lv14
