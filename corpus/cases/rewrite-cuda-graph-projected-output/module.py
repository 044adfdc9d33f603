# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        lv: R.Tensor((2,), dtype="float32") = R.abs(x)
        lv1: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = lv, lv
        lv2: R.Tensor((2,), dtype="float32") = lv1[0]
        return lv2
