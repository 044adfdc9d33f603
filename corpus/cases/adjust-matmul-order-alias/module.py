# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), x1: R.Tensor((2, 2), dtype="float32"), x2: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 2), dtype="float32") = R.matmul(x, x1, out_dtype=None)
            lv1: R.Tensor((2, 2), dtype="float32") = R.matmul(lv, x2, out_dtype=None)
            lv2: R.Tensor((2, 2), dtype="float32") = lv1
            R.output(lv2)
        return lv2
