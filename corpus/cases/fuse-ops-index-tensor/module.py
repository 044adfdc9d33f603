# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="int64"), y: R.Tensor((2, 1), dtype="float32")) -> R.Tensor((2, 1), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="int64") = R.abs(x)
            gv: R.Tensor((2, 1), dtype="float32") = R.index_tensor(y, (lv,))
            R.output(gv)
        return gv
