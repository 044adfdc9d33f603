# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((2,), dtype="float32"):
        if c:
            gv: R.Tensor((2,), dtype="float32") = x
        else:
            gv: R.Tensor((2,), dtype="float32") = x
        gv1: R.Tensor((2,), dtype="float32") = R.exp(gv)
        gv2: R.Tensor((2,), dtype="float32") = R.tanh(gv1)
        return gv2
