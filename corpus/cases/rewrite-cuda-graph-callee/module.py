# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        lv: R.Tensor((4,), dtype="float32") = R.negative(x)
        gv: R.Tensor((4,), dtype="float32") = R.abs(lv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        lv: R.Tensor((4,), dtype="float32") = R.add(x, R.const(3.0, "float32"))
        lv1: R.Tensor((4,), dtype="float32") = cls.helper(x)
        gv: R.Tensor((4,), dtype="float32") = R.subtract(lv, lv1)
        return gv
