# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor((2, 3), dtype="float32"), unused: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((2, 3), dtype="float32") = R.tanh(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.abs(x)
            gv: R.Tensor((2, 3), dtype="float32") = R.exp(x)
            unused: R.Tensor((2, 3), dtype="float32") = R.negative(lv)
            R.output(gv, unused)
        return gv
