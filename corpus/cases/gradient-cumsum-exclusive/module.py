# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype="float32"), w: R.Tensor((3,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((3,), dtype="float32") = R.cumsum(x, axis=0, dtype=None, exclusive=True)
            lv1: R.Tensor((3,), dtype="float32") = R.multiply(lv, w)
            gv: R.Tensor((), dtype="float32") = R.sum(lv1, axis=None, keepdims=False)
            R.output(gv)
        return gv
