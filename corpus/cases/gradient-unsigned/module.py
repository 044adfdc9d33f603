# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="uint8")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="uint8") = R.abs(x)
            lv1: R.Tensor((2, 3), dtype="float32") = R.astype(lv, dtype="float32")
            gv: R.Tensor((), dtype="float32") = R.sum(lv1, axis=None, keepdims=False)
            R.output(gv)
        return gv
