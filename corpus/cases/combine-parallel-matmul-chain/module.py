# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1), dtype="float32"), x1: R.Tensor((1, 2), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2), dtype="float32") = R.matmul(x, x1, out_dtype=None)
            lv1: R.Tensor((1, 2), dtype="float32") = R.abs(lv)
            lv2: R.Tensor((1, 2), dtype="float32") = R.matmul(x, lv1, out_dtype=None)
            R.output(lv, lv1, lv2)
        return lv2
