# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), y: R.Tensor((3, 2), dtype="float32")) -> R.Tensor((), dtype="float64"):
        with R.dataflow():
            lv: R.Tensor((2, 2), dtype="float64") = R.matmul(x, y, out_dtype="float64")
            gv: R.Tensor((), dtype="float64") = R.sum(lv, axis=None, keepdims=False)
            R.output(gv)
        return gv
