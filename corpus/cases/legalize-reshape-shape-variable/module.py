# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), x1: R.Shape([2, 2])) -> R.Tensor((2, 2), dtype="float32"):
        lv: R.Tensor((2, 2), dtype="float32") = R.reshape(x, x1)
        return lv
