# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), y: R.Tensor((2,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.permute_dims(y, axes=None)
            gv: R.Tensor((), dtype="float32") = R.matmul(x, lv, out_dtype=None)
            R.output(gv)
        return gv
