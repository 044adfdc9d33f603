# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def other(p0: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((2, 2), dtype="float32") = R.grad.start_checkpoint(p0)
            R.output(gv)
        return gv
